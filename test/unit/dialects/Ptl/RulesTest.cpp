//===- RulesTest.cpp - Sharding rules and costs of ptl --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Ptl.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace ptlc;

namespace {
/// A module whose first operation with a rule is the one under test.
class Rules : public ::testing::Test {
protected:
  Rules() { context.loadDialect<func::FuncDialect, ptl::PtlDialect, spmd::SpmdDialect>(); }

  Operation *parse(const std::string &arguments, const std::string &operation) {
    std::string text = "func.func @f(" + arguments + ") {\n" + operation + "\nreturn\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    Operation *found = nullptr;
    if (module)
      module->walk([&](ShardingRuleInterface op) { found = found ? found : op.getOperation(); });
    return found;
  }

  /// "heads:2, hdim:4 sum | [heads hdim] -> [heads] [hdim] | all 0": factors, values, linearity.
  std::string ruleOf(const std::string &arguments, const std::string &operation) {
    Operation *op = parse(arguments, operation);
    if (!op)
      return "doesn't parse";
    ShardingRule rule = cast<ShardingRuleInterface>(op).getShardingRule();
    std::string text;
    llvm::raw_string_ostream os(text);
    static const char *kinds[] = {"", " sum", " max", " min", " whole"};
    llvm::interleaveComma(rule.factors, os, [&](const Factor &factor) {
      os << factor.name.getValue() << ":" << factor.size << kinds[int(factor.kind)];
    });
    auto print = [&](const ValueFactors &value) {
      os << " (";
      llvm::interleaveComma(value, os, [&](const DimFactors &dim) {
        llvm::interleave(dim, os, [&](unsigned f) { os << rule.factors[f].name.getValue(); }, "*");
      });
      os << ")";
    };
    os << " |";
    llvm::for_each(rule.operands, print);
    os << " ->";
    llvm::for_each(rule.results, print);
    static const char *linearities[] = {"none", "one", "all"};
    os << " | " << linearities[int(rule.linearity)];
    for (unsigned operand : rule.linearOperands)
      os << " " << operand;
    for (unsigned factor : rule.positional)
      os << " @" << rule.factors[factor].name.getValue();
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

std::string type(const std::string &shape, const std::string &dims,
                 const std::string &element = "f32") {
  return "tensor<" + shape + "x" + element + ", #ptl.dims<[" + dims + "]>>";
}
} // namespace

TEST_F(Rules, DotSumsWhatTheResultLacks) {
  std::string x = type("4x8", "batch, embed"), w = type("8x2", "embed, ffn");
  EXPECT_EQ(ruleOf("%x: " + x + ", %w: " + w, "%y = ptl.dot %x, %w over [embed] : (" + x + ", " +
                                                  w + ") -> " + type("4x2", "batch, ffn")),
            "batch:4, ffn:2, embed:8 sum | (batch, embed) (embed, ffn) -> (batch, ffn) | one 0 1");
}

TEST_F(Rules, ReshapeHasCompoundDimensions) {
  std::string x = type("4x8", "batch, embed");
  EXPECT_EQ(
      ruleOf("%x: " + x, "%y = ptl.reshape %x [[embed] -> [heads, hdim], [batch] -> [key]] : " + x +
                             " -> " + type("4x2x4", "key, heads, hdim")),
      "heads:2, hdim:4, key:4 | (key, heads*hdim) -> (key, heads, hdim) | all 0");
  std::string y = type("2x4x3", "heads, hdim, seq");
  EXPECT_EQ(ruleOf("%x: " + y, "%y = ptl.reshape %x [[heads, hdim] -> [embed]] : " + y + " -> " +
                                   type("8x3", "embed, seq")),
            "heads:2, hdim:4, seq:3 | (heads, hdim, seq) -> (heads*hdim, seq) | all 0");
}

TEST_F(Rules, ReshapeThatCutsThroughStaysWhole) {
  std::string x = type("4x3", "a, b");
  EXPECT_EQ(ruleOf("%x: " + x,
                   "%y = ptl.reshape %x [[a, b] -> [c, d]] : " + x + " -> " + type("6x2", "c, d")),
            "a:4 whole | (, ) -> (, ) | all 0");
}

TEST_F(Rules, GatherAndScatterSumOverOwners) {
  std::string table = type("50x8", "vocab, embed"), ids = type("4", "batch", "i32"),
              rows = type("4x8", "batch, embed");
  EXPECT_EQ(
      ruleOf("%t: " + table + ", %i: " + ids,
             "%y = ptl.gather %t[vocab : %i] : (" + table + ", " + ids + ") -> " + rows),
      "batch:4, embed:8, vocab:50 sum | (vocab, embed) (batch) -> (batch, embed) | all 0 @vocab");
  EXPECT_EQ(
      ruleOf("%i: " + ids + ", %u: " + rows,
             "%y = ptl.scatter_add %i, %u over vocab : (" + ids + ", " + rows + ") -> " + table),
      "vocab:50, embed:8, batch:4 sum | (batch) (batch, embed) -> (vocab, embed) | all 1 @vocab");
}

TEST_F(Rules, CompositesKeepTheirDimensionWhole) {
  std::string x = type("4x8", "batch, embed");
  EXPECT_EQ(ruleOf("%x: " + x, "%y = ptl.softmax %x over embed : " + x + " -> " + x),
            "batch:4, embed:8 whole | (batch, embed) -> (batch, embed) | none");
}

// One value may be query, key and value: roles go by position. Keys have a factor of their own.
TEST_F(Rules, SelfAttentionSeparatesKeysFromQueries) {
  std::string x = type("6x2x8", "seq, heads, hdim");
  EXPECT_EQ(
      ruleOf("%x: " + x, "%y:2 = ptl.attention %x, %x, %x over seq depth hdim -> hdim scale 1 : (" +
                             x + ", " + x + ", " + x + ") -> (" + x + ", " +
                             type("6x2", "seq, heads") + ")"),
      "seq:6, heads:2, hdim:8 whole, seq.key:6 whole | (seq, heads, hdim) (seq.key, heads, hdim) "
      "(seq.key, heads, hdim) -> (seq, heads, hdim) (seq, heads) | none @seq");
}

TEST_F(Rules, SharedKeyHeadsAreTheMajorPartOfHeads) {
  std::string q = type("6x4x8", "seq, heads, hdim"), k = type("6x2x8", "seq, kv, hdim");
  EXPECT_EQ(
      ruleOf("%q: " + q + ", %k: " + k, "%y:2 = ptl.attention %q, %k, %k over seq depth hdim -> "
                                        "hdim scale 1 group [heads] -> [kv] : (" +
                                            q + ", " + k + ", " + k + ") -> (" + q + ", " +
                                            type("6x4", "seq, heads") + ")"),
      "seq:6, kv:2, heads.group:2, hdim:8 whole, seq.key:6 whole | (seq, kv*heads.group, hdim) "
      "(seq.key, kv, hdim) (seq.key, kv, hdim) -> (seq, kv*heads.group, hdim) (seq, "
      "kv*heads.group) | none @seq");
}

// A norm of shards, added up, would be wrong.
TEST_F(Rules, NormNeedsWholeOperands) {
  std::string a = type("4x8", "batch, embed"), b = type("8", "embed");
  EXPECT_EQ(ruleOf("%a: " + a + ", %b: " + b,
                   "%n = ptl.global_norm %a, %b : (" + a + ", " + b + ") -> tensor<f32>"),
            "batch#0:4 whole, embed#0:8 whole, embed#1:8 whole | (batch#0, embed#0) (embed#1) -> "
            "() | none");
}

TEST_F(Rules, MasksArePositionalAlongTheirCuts) {
  std::string x = type("3x4", "batch, seq");
  EXPECT_EQ(ruleOf("%x: " + x,
                   "%y = spmd.mask %x fill 0 cuts <[batch global 7 micro 3]> on @mesh : " + x +
                       " -> " + x),
            "batch:3, seq:4 | (batch, seq) -> (batch, seq) | all 0 @batch");
}

TEST_F(Rules, CostCountsMultiplyAddAsTwo) {
  std::string x = type("4x8", "batch, embed"), w = type("8x2", "embed, ffn");
  Operation *dot =
      parse("%x: " + x + ", %w: " + w, "%y = ptl.dot %x, %w over [embed] : (" + x + ", " + w +
                                           ") -> " + type("4x2", "batch, ffn"));
  ASSERT_TRUE(dot);
  EXPECT_EQ(cast<CostInterface>(dot).getFlops(), 2 * 4 * 8 * 2);
  EXPECT_EQ(cast<CostInterface>(dot).getBytes(), 4 * (4 * 8 + 8 * 2 + 4 * 2));
}

// 5 over (2, 2): shards of 2, 1, 2 and 0, short in the middle.
TEST(Layout, NestedCeilIsShortInTheMiddle) {
  EXPECT_EQ(spmd::nestedCeil(5, {2, 2}), 2);
  int64_t starts[] = {0, 2, 3, 5}, valid[] = {2, 1, 2, 0};
  for (int64_t rank = 0; rank < 4; ++rank) {
    spmd::Extent extent = spmd::shardExtent(5, {2, 2}, {rank / 2, rank % 2});
    EXPECT_EQ(extent.start, starts[rank]) << rank;
    EXPECT_EQ(extent.valid, valid[rank]) << rank;
  }
}
