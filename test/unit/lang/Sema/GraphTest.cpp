//===- GraphTest.cpp - The expanded functions -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Sema/BatchLinearity.h"
#include "test/unit/lang/Sema/Analyzed.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::test;

namespace {

sema::Program programOf(const std::string &name, std::vector<std::string> defines = {}) {
  auto analyzed =
      Analyzed::file(std::string(PTLC_LANG_TESTS "/Parse/Inputs/programs/") + name, defines);
  EXPECT_TRUE(analyzed->program) << analyzed->messages();
  return std::move(*analyzed->program);
}

sema::Program programOfLoss(const std::string &statements) {
  auto analyzed = Analyzed::text(withLoss(statements));
  EXPECT_TRUE(analyzed->program) << analyzed->messages();
  return std::move(*analyzed->program);
}

std::vector<std::string> opsOf(const sema::Graph &graph) {
  std::vector<std::string> names;
  for (const sema::Node &node : graph.nodes)
    names.push_back(sema::opName(node.op).str());
  return names;
}

/// Every use comes after its definition, and results know their node.
void checkOrder(const sema::Graph &graph, size_t weights) {
  size_t known = weights + graph.parameters.size();
  for (auto [id, node] : llvm::enumerate(graph.nodes)) {
    for (sema::ValueId operand : node.operands)
      EXPECT_LT(operand, known);
    for (auto [place, result] : llvm::enumerate(node.results)) {
      EXPECT_EQ(result, known++);
      EXPECT_EQ(graph.values[result].node, id);
      EXPECT_EQ(graph.values[result].result, place);
    }
    EXPECT_LT(node.call, graph.calls.size());
  }
  EXPECT_EQ(known, graph.values.size());
}

TEST(Graph, IsInOrder) {
  for (const std::string &path : filesIn("Parse/Inputs/programs")) {
    auto analyzed = Analyzed::file(path);
    ASSERT_TRUE(analyzed->program) << path;
    if (analyzed->program->trains)
      checkOrder(analyzed->program->loss, analyzed->program->weights.size());
    if (analyzed->program->logits)
      checkOrder(*analyzed->program->logits, analyzed->program->weights.size());
  }
}

TEST(Graph, CastsAreNodes) {
  sema::Program program = programOfLoss("return mean(x * n) + sum(n == 2)");
  EXPECT_EQ(opsOf(program.loss), (std::vector<std::string>{"float", "mul", "mean", "constant", "eq",
                                                           "float", "sum", "add"}));
}

TEST(Graph, ADeclaredTypeOrders) {
  sema::Program program = programOfLoss("let t: [a, batch] = x\nreturn mean(t * x)");
  EXPECT_EQ(opsOf(program.loss), (std::vector<std::string>{"reorder", "mul", "mean"}));
  const sema::Node &product = program.loss.nodes[1];
  EXPECT_EQ(program.typeName(program.loss.type(product.results[0])), "[a, batch]");
}

TEST(Graph, ArrowsThatBuildOnEachOtherAreSeparate) {
  sema::Program both = programOfLoss("return mean(reshape(u, a -> a, a2 -> a2))");
  EXPECT_EQ(opsOf(both.loss), (std::vector<std::string>{"reshape", "mean"}));
  sema::Program chain = programOfLoss("return mean(reshape(expand(n, (c, c2)), (c, c2) -> a, a -> "
                                      "a2))\n}\ndim c2 = 2\nfn f() {\nreturn 1");
  EXPECT_EQ(opsOf(chain.loss),
            (std::vector<std::string>{"expand", "reshape", "reshape", "float", "mean"}));
}

TEST(Graph, CallsKnowTheirPartAndPlace) {
  sema::Program program = programOf("01-gpt.ptl", {"layers=2"});
  const sema::Graph &graph = program.loss;
  auto attention = llvm::find_if(
      graph.nodes, [](const sema::Node &node) { return node.op == sema::Op::Attention; });
  ASSERT_NE(attention, graph.nodes.end());
  const sema::Call &call = graph.calls[attention->call];
  EXPECT_EQ(call.function, "forward");
  EXPECT_EQ(call.module, "Attention");
  EXPECT_EQ(program.parts[call.part].path, "blocks.0.attn");
  EXPECT_EQ(call.arguments.size(), 1u);
  EXPECT_EQ(call.results.size(), 1u);
  EXPECT_EQ(graph.calls[call.parent].module, "Block");
  EXPECT_EQ(graph.calls[0].parent, sema::kNone);
  EXPECT_EQ(graph.calls[0].function, "loss");
  const auto &attrs = std::get<sema::AttentionAttrs>(attention->attrs);
  EXPECT_TRUE(attrs.causal);
  EXPECT_DOUBLE_EQ(attrs.scale, 0.125);
  // What the library wrote belongs to the line that called it.
  auto norm = llvm::find_if(graph.nodes,
                            [](const sema::Node &node) { return node.op == sema::Op::LayerNorm; });
  EXPECT_EQ(norm->range.begin.line, 13u);
  EXPECT_EQ(program.userPlace(graph, *norm).begin.line, 40u);
  ASSERT_TRUE(program.logits);
  EXPECT_EQ(program.typeName(program.logits->type(program.logits->results[0])),
            "[batch, seq, vocab]");
}

TEST(Graph, NamesOfValues) {
  sema::Program program = programOf("01-gpt.ptl", {"layers=2"});
  std::vector<std::string> found;
  for (const sema::NamedValue &value : program.loss.names)
    if (value.name == "h")
      found.push_back(program.parts[value.part].path + ".h");
  EXPECT_EQ(found, (std::vector<std::string>{"blocks.0.h", "blocks.1.h", ".h"}));
}

TEST(Graph, RandomPlaces) {
  sema::Program program = programOf("13-gpt-dropout.ptl");
  std::vector<std::string> places;
  for (const sema::Node &node : program.loss.nodes)
    if (node.op == sema::Op::Dropout)
      places.push_back(std::get<sema::RandomAttrs>(node.attrs).place);
  // The first block's rate is 0, which leaves its values alone.
  EXPECT_EQ(places, (std::vector<std::string>{"#0", "blocks.1#0", "blocks.1#1", "blocks.2#0",
                                              "blocks.2#1", "blocks.3#0", "blocks.3#1"}));
}

TEST(Graph, Metrics) {
  sema::Program program = programOf("15-forms.ptl");
  ASSERT_EQ(program.loss.metrics.size(), 2u);
  EXPECT_EQ(program.loss.metrics[0].name, "good");
  EXPECT_EQ(program.loss.parameters.size(), 3u);
}

TEST(BatchLinearity, RefusesExactlyTheseModels) {
  std::vector<std::string> refused;
  for (const std::string &path : filesIn("Parse/Inputs/programs")) {
    auto analyzed = Analyzed::file(path);
    ASSERT_TRUE(analyzed->program) << path;
    if (analyzed->program->trains &&
        sema::analyzeBatch(*analyzed->program, analyzed->program->loss).violation)
      refused.push_back(llvm::sys::path::filename(path).str());
  }
  EXPECT_EQ(refused, (std::vector<std::string>{"03-moe.ptl", "08-two-tower.ptl", "12-shared.ptl",
                                               "26-batch-norm.ptl"}));
}

/// The messages for a loss with four micro-batches of two.
std::string inPieces(const std::string &statements, const std::string &more = "") {
  return inLoss(statements, more, "plan p on mesh() { microbatches 4 }");
}

TEST(BatchLinearity, KnowsWhatPiecesReproduce) {
  EXPECT_EQ(inPieces("return mean(x) + 2 * sum(y) - mean(u)"), "");
  EXPECT_EQ(inPieces("return sum(x * u[a2: 0], where: n > 0) / sum(n > 0)"), "");
  EXPECT_EQ(inPieces("return mean(dot(x @ w, y, over: batch))"), "");
  EXPECT_EQ(inPieces("return mean(reshape(max(x @ w, over: b), batch -> (g, c)))", "dim g = 4\n"),
            "");
  EXPECT_EQ(inPieces("return exp(mean(x @ w))"),
            "7:8: error: 'exp' of a total over the batch is not linear, so the batch can't be cut "
            "into micro-batches | note: 'microbatches' on line 11");
  EXPECT_EQ(inPieces("return mean(x @ w - mean(x @ w, over: batch))"),
            "7:13: error: '-' uses a total over the batch for each example, so the batch can't be "
            "cut into micro-batches | note: 'microbatches' on line 11");
  EXPECT_EQ(inPieces("return mean(max(x @ w, over: batch))"),
            "7:13: error: 'max' over the batch mixes its examples, so the batch can't be cut into "
            "micro-batches | note: 'microbatches' on line 11");
  EXPECT_EQ(inPieces("return mean(x @ w) / mean(abs(w)) / mean(abs(x @ w))"),
            "7:8: error: '/' by a total over the batch that depends on weights, so the batch can't "
            "be cut into micro-batches | note: 'microbatches' on line 11");
  EXPECT_EQ(inPieces("return mean(reshape(max(x @ w, over: b), batch -> (c, g)))", "dim g = 4\n"),
            "12:20: error: micro-batches of 2 examples cut through groups of 4");
}

TEST(BatchLinearity, AShortBatchCanOnlyBePadded) {
  auto messages = [](const std::string &statements) {
    std::string text = withLoss(statements, "dim g = 4\n");
    text.replace(text.find("; batch 8"), 0, ", tail: short");
    return Analyzed::text(text)->messages();
  };
  EXPECT_EQ(messages("return mean(x @ w)"), "");
  EXPECT_EQ(messages("return mean(reshape(x @ w, batch -> (g, c)))"),
            "8:13: error: 'reshape' changes the batch, so a short batch can't be padded | note: "
            "'tail: short' on line 11");
  EXPECT_EQ(messages("return exp(mean(x @ w))"),
            "8:8: error: 'exp' of a total over the batch is not linear, so a short batch can't be "
            "padded | note: 'tail: short' on line 11");
}

} // namespace
