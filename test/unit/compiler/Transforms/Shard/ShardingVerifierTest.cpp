//===- ShardingVerifierTest.cpp - What the verifier refuses, and why ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/ShardingVerifier.h"

#include "compiler/Transforms/Shard/Attributes.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace ptlc;
using testing::HasSubstr;

namespace {

/// Both programs take x [batch 4 by dp, embed 4 by tp], u [seq 5 by dp], t [vocab 6 by dp, embed
/// 4], ids [seq 5 by dp] and w [embed 4, ffn 4].
constexpr const char *kModule = R"(
!x = tensor<4x4xf32, #ptl.dims<[batch, embed]>>
!lx = tensor<2x2xf32, #ptl.dims<[batch, embed]>>
!d = tensor<12xi64, #ptl.dims<[digits]>>
!b = tensor<4xf32, #ptl.dims<[batch]>>
!lb = tensor<2xf32, #ptl.dims<[batch]>>
!u = tensor<5xf32, #ptl.dims<[seq]>>
!lu = tensor<3xf32, #ptl.dims<[seq]>>
!t = tensor<6x4xf32, #ptl.dims<[vocab, embed]>>
!lt = tensor<3x4xf32, #ptl.dims<[vocab, embed]>>
!i = tensor<5xi32, #ptl.dims<[seq]>>
!li = tensor<3xi32, #ptl.dims<[seq]>>
!w = tensor<4x4xf32, #ptl.dims<[embed, ffn]>>
!s = tensor<f32>
spmd.mesh @mesh [dp = 2, tp = 2]
func.func @global(%x: !x {spmd.sharding = #spmd.sharding<[[dp], [tp]]>}, %u: !u {spmd.sharding = #spmd.sharding<[[dp]]>},
    %t: !t {spmd.sharding = #spmd.sharding<[[dp], []]>}, %ids: !i {spmd.sharding = #spmd.sharding<[[]]>}, %w: !w) -> GLOBALRESULT {
  GLOBALOPS
}
func.func @local(%x: !lx {spmd.sharding = #spmd.sharding<[[dp], [tp]]>}, %u: !lu {spmd.sharding = #spmd.sharding<[[dp]]>},
    %t: !lt {spmd.sharding = #spmd.sharding<[[dp], []]>}, %ids: !i {spmd.sharding = #spmd.sharding<[[]]>}, %w: !w) -> LOCALRESULT {
  LOCALOPS
}
)";

std::string replaced(std::string text, llvm::StringRef from, llvm::StringRef to) {
  size_t at = text.find(from.str());
  return text.replace(at, from.size(), to.str());
}

/// The first message about `text`, which holds @global and @local; "" if all is right.
std::string messageOf(const std::string &text) {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, ptl::PtlDialect, spmd::SpmdDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "can't parse: " + message;
  sharding::Mesh mesh = shard::readMesh(*module);
  LogicalResult right = shard::ShardingVerifier(mesh).run(
      module->lookupSymbol<func::FuncOp>("global"), module->lookupSymbol<func::FuncOp>("local"));
  EXPECT_EQ(succeeded(right), message.empty());
  return message;
}

/// `body` is "RESULT; OPS" with the return.
std::string verdict(llvm::StringRef global, llvm::StringRef local) {
  auto [globalResult, globalOps] = global.split(';');
  auto [localResult, localOps] = local.split(';');
  std::string text = kModule;
  text = replaced(text, "GLOBALRESULT", globalResult);
  text = replaced(text, "GLOBALOPS", globalOps);
  text = replaced(text, "LOCALRESULT", localResult);
  return messageOf(replaced(text, "LOCALOPS", localOps));
}

constexpr const char *kSumOfBatch = R"(!s; %0 = ptl.reduce sum %x over [batch, embed] : !x -> !s
  return %0 : !s)";

std::string sumOfBatch(llvm::StringRef rest) {
  return verdict(kSumOfBatch,
                 ("!s; %0 = ptl.reduce sum %x over [batch, embed] : !lx -> !s\n" + rest).str());
}

std::string reduce(llvm::StringRef kind, llvm::StringRef from, llvm::StringRef to,
                   llvm::StringRef axes) {
  return llvm::formatv("%{0} = spmd.all_reduce {1} %{2} over @mesh [{3}] : !s -> !s\n", to, kind,
                       from, axes);
}

TEST(ShardingVerifier, AcceptsWhatIsRight) {
  EXPECT_EQ(sumOfBatch(reduce("sum", "0", "1", "dp, tp") + "return %1 : !s"), "");
  // One axis after the other, in any order.
  EXPECT_EQ(
      sumOfBatch(reduce("sum", "0", "1", "tp") + reduce("sum", "1", "2", "dp") + "return %2 : !s"),
      "");
}

TEST(ShardingVerifier, RefusesWrongReductions) {
  EXPECT_THAT(
      sumOfBatch("return %0 : !s"),
      HasSubstr("should give [] as result 0, which is declared as []; found [] sum{dp,tp}"));
  EXPECT_THAT(sumOfBatch(reduce("sum", "0", "1", "dp") + "return %1 : !s"),
              HasSubstr("found [] sum{tp}"));
  EXPECT_THAT(sumOfBatch(reduce("sum", "0", "1", "dp, tp") + reduce("sum", "1", "2", "dp") +
                         "return %2 : !s"),
              HasSubstr("'spmd.all_reduce' over [dp] needs a value that waits for their sum; this "
                        "one is []"));
  EXPECT_THAT(sumOfBatch(reduce("max", "0", "1", "dp, tp") + "return %1 : !s"),
              HasSubstr("needs a value that waits for their max; this one is [] sum{dp,tp}"));
}

TEST(ShardingVerifier, RefusesOtherPrograms) {
  EXPECT_THAT(verdict(kSumOfBatch, "!s; %0 = ptl.constant 1 : !s\n return %0 : !s"),
              HasSubstr("internal error: partitioned program is wrong: 'ptl.constant' stands where "
                        "the global program has 'ptl.reduce'"));
  EXPECT_THAT(verdict(kSumOfBatch, "!s; %0 = ptl.reduce max %x over [batch, embed] : !lx -> !s\n"
                                   "return %0 : !s"),
              HasSubstr("should have the attributes"));
  EXPECT_THAT(verdict("!u; %0 = ptl.elementwise exp %u : (!u) -> !u\n"
                      "%1 = ptl.elementwise add %0, %u : (!u, !u) -> !u\n return %1 : !u",
                      "!lu; %0 = ptl.elementwise exp %u : (!lu) -> !lu\n"
                      "%1 = ptl.elementwise add %u, %u : (!lu, !lu) -> !lu\n return %1 : !lu"),
              HasSubstr("has another operand 0 than in the global program"));
  EXPECT_THAT(messageOf(replaced(
                  replaced(replaced(replaced(kModule, "GLOBALRESULT", "!s"), "LOCALRESULT", "!s"),
                           "GLOBALOPS", "%0 = ptl.constant 1 : !s\n return %0 : !s"),
                  "LOCALOPS", "%0 = ptl.constant 1 : !s\n return %0 : !s")),
              "");
}

TEST(ShardingVerifier, RefusesOtherDeclarations) {
  std::string text = replaced(replaced(kModule, "GLOBALRESULT", "!s"), "LOCALRESULT", "!s");
  for (const char *ops : {"GLOBALOPS", "LOCALOPS"})
    text = replaced(text, ops, "%0 = ptl.constant 1 : !s\n return %0 : !s");
  EXPECT_THAT(messageOf(replaced(text, "%u: !lu", "%u: !u")),
              HasSubstr("argument 1 of 'local' should be 'tensor<3xf32"));
  EXPECT_THAT(messageOf(replaced(text, "%u: !lu {spmd.sharding = #spmd.sharding<[[dp]]>",
                                 "%u: !lu {spmd.sharding = #spmd.sharding<[[tp]]>")),
              HasSubstr("'local' declares argument 1 otherwise than the global program"));
}

/// One operation on u, whose type stays.
std::string onSeq(llvm::StringRef globalOps, llvm::StringRef localOps) {
  return verdict(
      ("!u; " + globalOps + "\n return %0 : !u").str(),
      ("(!u {spmd.sharding = #spmd.sharding<[[]]>}); " + localOps +
       "\n %9 = spmd.all_gather %0 along seq over @mesh [dp] : !lu -> !u\n return %9 : !u")
          .str());
}

TEST(ShardingVerifier, RefusesWrongMoves) {
  llvm::StringRef exp = "%0 = ptl.elementwise exp %u : (!u) -> !u";
  EXPECT_EQ(onSeq(exp, "%0 = ptl.elementwise exp %u : (!lu) -> !lu"), "");
  EXPECT_THAT(verdict("!u; return %u : !u",
                      "!u; %0 = spmd.all_gather %u along seq over @mesh [tp] : !lu -> !u\n"
                      "return %0 : !u"),
              HasSubstr("'spmd.all_gather' over [tp] needs a value whose 'seq' they cut last; this "
                        "one is [dp]"));
  EXPECT_THAT(verdict("!w; return %w : !w",
                      "!w; %0 = spmd.keep %w over @mesh [tp] : !w -> !w\n"
                      "%1 = spmd.keep %0 over @mesh [tp] : !w -> !w\n return %1 : !w"),
              HasSubstr("needs a value without them; this one is [-, -] sum{tp}"));
  EXPECT_THAT(verdict("!s; %0 = ptl.reduce max %x over [batch, embed] : !x -> !s\n return %0 : !s",
                      "!s; %0 = ptl.reduce max %x over [batch, embed] : !lx -> !s\n"
                      "%1 = spmd.all_reduce max %0 over @mesh [tp] : !s -> !s\n"
                      "%2 = spmd.keep %1 over @mesh [tp] : !s -> !s\n return %2 : !s"),
              HasSubstr("needs a value that waits for no other fold than a sum"));
}

TEST(ShardingVerifier, RefusesWrongRoutes) {
  auto route = [](llvm::StringRef from, llvm::StringRef to, llvm::StringRef rest) {
    return verdict("!u; return %u : !u",
                   llvm::formatv("!u; %0 = spmd.permute %u from <[[{0}]]> to <[[{1}]]> over @mesh "
                                 "[dp, tp] : !lu -> !lu\n{2}",
                                 from, to, rest)
                       .str());
  };
  llvm::StringRef gather = "%1 = spmd.all_gather %0 along seq over @mesh [tp] : !lu -> !u\n"
                           "return %1 : !u";
  EXPECT_EQ(route("dp", "tp", gather), "");
  EXPECT_THAT(route("tp", "dp", gather),
              HasSubstr("'spmd.permute' over [dp, tp] needs a value that is cut as [tp]; this one "
                        "is [dp]"));
  EXPECT_THAT(
      verdict("!u; return %u : !u",
              ("!u; %p = spmd.keep %u over @mesh [tp] : !lu -> !lu\n%0 = spmd.permute %p from "
               "<[[dp]]> to <[[tp]]> over @mesh [dp, tp] : !lu -> !lu\n" +
               gather)
                  .str()),
      HasSubstr("needs a value that waits for no axis of [tp]"));
}

TEST(ShardingVerifier, RefusesWrongPadding) {
  auto total = [](llvm::StringRef mask) {
    return verdict("!s; %0 = ptl.reduce sum %u over [seq] : !u -> !s\n return %0 : !s",
                   ("!s; " + mask + "%0 = ptl.reduce sum %m over [seq] : !lu -> !s\n" +
                    reduce("sum", "0", "1", "dp") + "return %1 : !s")
                       .str());
  };
  auto mask = [](llvm::StringRef x, llvm::StringRef fill, llvm::StringRef cut) {
    return llvm::formatv("%m = spmd.mask %{0} fill {1} cuts <[seq {2}]> on @mesh : !lu -> !lu\n", x,
                         fill, cut)
        .str();
  };
  EXPECT_EQ(total(mask("u", "0", "global 5 axes [dp]")), "");
  EXPECT_THAT(total(mask("u", "1", "global 5 axes [dp]")),
              HasSubstr("'ptl.reduce' folds 'seq', whose padding in operand 0 should be what the "
                        "fold ignores, and is 1"));
  EXPECT_THAT(total("%k = spmd.keep %u over @mesh [tp] : !lu -> !lu\n"
                    "%m = spmd.all_reduce sum %k over @mesh [tp] : !lu -> !lu\n"),
              HasSubstr("and is anything"));
  EXPECT_THAT(
      total(mask("u", "0", "global 5 axes [tp]")),
      HasSubstr("'spmd.mask' is made for #spmd.cut<seq global 5 axes [tp]>, the value is "));
  EXPECT_THAT(total(mask("u", "0", "global 6 axes [dp]")), HasSubstr("is made for"));
}

TEST(ShardingVerifier, RefusesWrongOffsets) {
  auto lookUp = [](llvm::StringRef axes) {
    return verdict("tensor<5x4xf32, #ptl.dims<[seq, embed]>>; %0 = ptl.gather %t[vocab : %ids] : "
                   "(!t, !i) -> tensor<5x4xf32, #ptl.dims<[seq, embed]>>\n"
                   "return %0 : tensor<5x4xf32, #ptl.dims<[seq, embed]>>",
                   ("tensor<5x4xf32, #ptl.dims<[seq, embed]>>; %0 = ptl.gather %t[vocab : %ids] " +
                    axes +
                    " : (!lt, !i) -> tensor<5x4xf32, #ptl.dims<[seq, embed]>>\n"
                    "%1 = spmd.all_reduce sum %0 over @mesh [dp] : tensor<5x4xf32, #ptl.dims<[seq, "
                    "embed]>> -> tensor<5x4xf32, #ptl.dims<[seq, embed]>>\n"
                    "return %1 : tensor<5x4xf32, #ptl.dims<[seq, embed]>>")
                       .str());
  };
  EXPECT_EQ(lookUp("{cut = #spmd.cuts<[vocab global 6 axes [dp]]>}"), "");
  EXPECT_THAT(lookUp("{cut = #spmd.cuts<[vocab global 6 axes [tp]]>}"),
              HasSubstr("'ptl.gather' should be compiled for the part <[ #spmd.cut<vocab global 6 "
                        "axes [dp]> ]>, is for #spmd.cuts<[vocab global 6 axes [tp]]>"));
  EXPECT_THAT(lookUp(""), HasSubstr("should be compiled for the part"));
}

TEST(ShardingVerifier, RefusesCutsThatTheRuleForbids) {
  EXPECT_THAT(
      onSeq("%0 = ptl.softmax %u over seq : !u -> !u", "%0 = ptl.softmax %u over seq : !lu -> !lu"),
      HasSubstr("'ptl.softmax' needs all of 'seq', which is cut by [dp] in operand 0"));
  EXPECT_THAT(verdict("!s; %c = ptl.constant 1 : !u\n %0 = ptl.dot %u, %c over [seq] : (!u, !u) -> "
                      "!s\n return %0 : !s",
                      "!s; %c = ptl.constant 1 {spmd.shardings = [#spmd.sharding<[[tp]]>]} : !lu\n"
                      "%0 = ptl.dot %u, %c over [seq] : (!lu, !lu) -> !s\n return %0 : !s"),
              HasSubstr("has 'seq' cut by [dp] in one operand and by [tp] in operand 1"));
  EXPECT_THAT(
      verdict("tensor<4x5xf32, #ptl.dims<[batch, seq]>>; %r = ptl.reduce sum %x over [embed] : !x "
              "-> !b\n %0 = ptl.dot %r, %u over [] : (!b, !u) -> tensor<4x5xf32, "
              "#ptl.dims<[batch, seq]>>\n return %0 : tensor<4x5xf32, #ptl.dims<[batch, seq]>>",
              "tensor<2x3xf32, #ptl.dims<[batch, seq]>>; %r = ptl.reduce sum %x over [embed] : !lx "
              "-> !lb\n %0 = ptl.dot %r, %u over [] : (!lb, !lu) -> tensor<2x3xf32, "
              "#ptl.dims<[batch, seq]>>\n return %0 : tensor<2x3xf32, #ptl.dims<[batch, seq]>>"),
      HasSubstr("has both 'batch' and 'seq' cut by 'dp'"));
  EXPECT_THAT(verdict("!t; %0 = ptl.constant 1 : !t\n return %0 : !t",
                      "!lt; %0 = ptl.constant 1 {spmd.shardings = [#spmd.sharding<[[dp], "
                      "[dp]]>]} : !lt\n return %0 : !lt"),
              HasSubstr("axis 'dp' occurs twice"));
}

TEST(ShardingVerifier, RefusesReadingsOfWhatMustBeWhole) {
  // Half of the slice, on both ranks the same half.
  EXPECT_THAT(
      verdict(
          "tensor<2x4xf32, #ptl.dims<[a, ffn]>>; %0 = ptl.slice %w embed -> a from 0 : !w -> "
          "tensor<2x4xf32, #ptl.dims<[a, ffn]>>\n return %0 : tensor<2x4xf32, #ptl.dims<[a, ffn]>>",
          "tensor<1x4xf32, #ptl.dims<[a, ffn]>>; %0 = ptl.slice %w embed -> a from 0 "
          "{spmd.shardings = [#spmd.sharding<[[dp], []]>]} : !w -> tensor<1x4xf32, #ptl.dims<[a, "
          "ffn]>>\n return %0 : tensor<1x4xf32, #ptl.dims<[a, ffn]>>"),
      HasSubstr("can't cut 'a' by [dp]: it must be whole"));
}

TEST(ShardingVerifier, RefusesFunctionsOfPendingValues) {
  EXPECT_THAT(sumOfBatch("%1 = ptl.elementwise exp %0 : (!s) -> !s\n return %1 : !s"),
              HasSubstr("'ptl.elementwise' stands where"));
  llvm::StringRef global = "!s; %0 = ptl.reduce sum %x over [batch, embed] : !x -> !s\n"
                           "%1 = ptl.elementwise exp %0 : (!s) -> !s\n return %1 : !s";
  EXPECT_THAT(verdict(global, "!s; %0 = ptl.reduce sum %x over [batch, embed] : !lx -> !s\n"
                              "%1 = ptl.elementwise exp %0 : (!s) -> !s\n"
                              "%2 = spmd.all_reduce sum %1 over @mesh [dp, tp] : !s -> !s\n"
                              "return %2 : !s"),
              HasSubstr("'ptl.elementwise' isn't linear in what is pending over 'dp'"));
  EXPECT_THAT(
      verdict("!u; %0 = ptl.reduce sum %x over [batch, embed] : !x -> !s\n"
              "%1 = ptl.broadcast %0 : !s -> !u\n return %1 : !u",
              "!lu; %0 = ptl.reduce sum %x over [batch, embed] : !lx -> !s\n %1 = ptl.broadcast %0 "
              "{spmd.shardings = [#spmd.sharding<[[dp]]>]} : !s -> !lu\n return %1 : !lu"),
      HasSubstr("can't cut 'seq' by [dp]: it must be whole, or some of these are in use"));
  EXPECT_THAT(verdict("!u; %0 = ptl.reduce sum %x over [batch, embed] : !x -> !s\n"
                      "%1 = ptl.dot %0, %u over [] : (!s, !u) -> !u\n return %1 : !u",
                      "!lu; %0 = ptl.reduce sum %x over [batch, embed] : !lx -> !s\n"
                      "%1 = ptl.dot %0, %u over [] : (!s, !lu) -> !lu\n return %1 : !lu"),
              HasSubstr("has an operand that is pending over 'dp', which cuts 'seq' in another"));
}

TEST(ShardingVerifier, RefusesReshapesThatArentLocal) {
  // 4 x 4 rows cut along both can't be merged: a rank's rows aren't neighbours.
  EXPECT_THAT(
      verdict(
          "tensor<16xf32, #ptl.dims<[all]>>; %0 = ptl.reshape %x [[batch, embed] -> [all]] : !x "
          "-> tensor<16xf32, #ptl.dims<[all]>>\n return %0 : tensor<16xf32, #ptl.dims<[all]>>",
          "tensor<4xf32, #ptl.dims<[all]>>; %0 = ptl.reshape %x [[batch, embed] -> [all]] : !lx "
          "-> tensor<4xf32, #ptl.dims<[all]>>\n return %0 : tensor<4xf32, #ptl.dims<[all]>>"),
      HasSubstr("can't make 'all' of parts: 'embed' is cut by [tp]"));
  EXPECT_THAT(
      verdict(
          "tensor<3x2x4xf32, #ptl.dims<[a, b, embed]>>; %0 = ptl.reshape %t [[vocab] -> [a, b]] "
          ": !t -> tensor<3x2x4xf32, #ptl.dims<[a, b, embed]>>\n return %0 : tensor<3x2x4xf32, "
          "#ptl.dims<[a, b, embed]>>",
          "tensor<3x1x4xf32, #ptl.dims<[a, b, embed]>>; %0 = ptl.reshape %t [[vocab] -> [a, b]] "
          ": !lt -> tensor<3x1x4xf32, #ptl.dims<[a, b, embed]>>\n return %0 : tensor<3x1x4xf32, "
          "#ptl.dims<[a, b, embed]>>"),
      HasSubstr("can't be done on parts of operand 0, whose 'vocab' is cut by [dp]"));
}

TEST(ShardingVerifier, RefusesWrongNorms) {
  auto norm = [](llvm::StringRef ops) {
    return verdict("!s; %0 = ptl.global_norm %x, %w : (!x, !w) -> !s\n return %0 : !s",
                   ("!s; " + ops + "\n return %0 : !s").str());
  };
  llvm::StringRef square = "%b = spmd.square_sum %x members [[]] : (!lx) -> !d\n";
  llvm::StringRef other = "%e = spmd.square_sum %w members [[]] : (!w) -> !d\n";
  llvm::StringRef end = "%0 = spmd.root %c, %e : (!d, !d) -> !s";
  llvm::StringRef both = "%c = spmd.all_reduce sum %b over @mesh [dp, tp] : !d -> !d\n";
  EXPECT_EQ(norm((square + both + other + end).str()), "");
  llvm::StringRef one = "%c = spmd.all_reduce sum %b over @mesh [dp] : !d -> !d\n";
  EXPECT_THAT(norm((square + one + other + end).str()),
              HasSubstr("'spmd.root' isn't a step to the norm of all values"));
  llvm::StringRef twice = "%d = spmd.all_reduce sum %b over @mesh [dp, tp] : !d -> !d\n"
                          "%c = spmd.all_reduce sum %d over @mesh [tp] : !d -> !d\n";
  EXPECT_THAT(norm((square + twice + "%0 = spmd.root %c : (!d) -> !s").str()),
              HasSubstr("'spmd.all_reduce' isn't a step to the norm of all values"));
  EXPECT_THAT(norm("%0 = ptl.global_norm %x, %w : (!lx, !w) -> !s"),
              HasSubstr("needs finished values that the same axes cut; operand 1 is [-, -]"));
  // A value less: its norm isn't yet that of the global program, which uses it.
  EXPECT_THAT(norm((square + both + "%0 = spmd.root %c : (!d) -> !s").str()),
              HasSubstr("isn't a step to the norm of all values"));
  EXPECT_THAT(
      norm((square + both + "%e = spmd.square_sum %w members [[!w]] : (!w) -> !d\n" + end).str()),
      HasSubstr("takes operand 0 for a part of a bucket"));
  EXPECT_THAT(verdict("!s; %0 = ptl.global_norm %u : (!u) -> !s\n return %0 : !s",
                      "!s; %0 = ptl.global_norm %u : (!lu) -> !s\n return %0 : !s"),
              HasSubstr("squares 'seq', whose padding in operand 0 isn't 0"));
}

TEST(ShardingVerifier, RefusesWrongMicroBatches) {
  std::string text = R"(
!x = tensor<4xf32, #ptl.dims<[batch]>>
!p = tensor<2xf32, #ptl.dims<[batch]>>
!lp = tensor<1xf32, #ptl.dims<[batch]>>
!s = tensor<f32>
spmd.mesh @mesh [dp = 2]
func.func @global(%x: !x {spmd.sharding = #spmd.sharding<[[dp]]>}) -> !s {
  %0 = ptl.accumulate pieces 2 (%k) -> !s {
    %1 = ptl.microbatch %x[%k] of 2 along batch : !x -> !p
    %2 = ptl.reduce sum %1 over [batch] : !p -> !s
    ptl.yield %2 : !s
  }
  return %0 : !s
}
func.func @local(%x: !p {spmd.sharding = #spmd.sharding<[[dp]]>, spmd.pieces = 2 : i64}) -> !s {
  %0 = ptl.accumulate pieces 2 (%k) -> !s {
    %1 = ptl.microbatch %x[%k] of 2 along batch : !p -> !lp
    %2 = ptl.reduce sum %1 over [batch] : !lp -> !s
    ptl.yield %2 : !s
  }
  %3 = spmd.all_reduce sum %0 over @mesh [dp] : !s -> !s
  return %3 : !s
}
)";
  EXPECT_EQ(messageOf(text), "");
  EXPECT_THAT(messageOf(replaced(text, ", spmd.pieces = 2 : i64", "")),
              HasSubstr("'ptl.microbatch' takes a piece of 2, the field lies in 1"));
  size_t local = text.find("@local");
  std::string gathered = text;
  gathered.replace(gathered.find("%1 = ptl.microbatch", local), 0,
                   "%m = spmd.all_gather %x along batch over @mesh [dp] : !p -> !x\n");
  EXPECT_THAT(messageOf(gathered), HasSubstr("moves a field that is divided into micro-batches"));
  std::string largest = text;
  for (size_t at = 0; (at = largest.find("ptl.reduce sum", at)) != std::string::npos; ++at)
    largest.replace(at, 14, "ptl.reduce max");
  EXPECT_THAT(messageOf(largest), HasSubstr("adds up value 0 over micro-batches, which is [] max"));
}

TEST(ShardingVerifier, RefusesUpdatesByUnfinishedGradients) {
  std::string text = R"(
!w = tensor<4xf32, #ptl.dims<[embed]>>
!s = tensor<f32>
spmd.mesh @mesh [dp = 2]
func.func @global(%w: !w {ptl.role = "weight", ptl.path = "w"}, %g: !w {spmd.sharding = #spmd.sharding<[[]]>}, %h: !s,
    %step: tensor<i64>) -> (!w {ptl.role = "weight", ptl.path = "w"}) {
  %0 = ptl.optimize sgd weights(%w : !w) grads(%g : !w) hypers(%h, %h, %h, %h, %h : !s, !s, !s, !s, !s) step %step
    : tensor<i64> names ["w"] -> (!w)
  return %0 : !w
}
)";
  std::string local = replaced(text.substr(text.find("func.func")), "@global", "@local");
  EXPECT_EQ(messageOf(text + local), "");
  std::string pending = replaced(replaced(local, "grads(%g", "grads(%p"), "%0 = ptl.opt",
                                 "%p = spmd.keep %g over @mesh [dp] : !w -> !w\n %0 = ptl.opt");
  EXPECT_THAT(
      messageOf(text + pending),
      HasSubstr("'ptl.optimize' needs operand 1 finished and under [-]; found [-] sum{dp}"));
}

} // namespace
