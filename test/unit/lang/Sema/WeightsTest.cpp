//===- WeightsTest.cpp - Paths, shapes and initial values of weights ------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/lang/Sema/Analyzed.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace ptlc;
using namespace ptlc::test;

namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

/// The tensors of a safetensors file.
Shapes shapesIn(const std::string &path) {
  std::string bytes = read(path);
  Shapes shapes;
  if (bytes.size() < 8)
    return shapes;
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  auto json = llvm::json::parse(llvm::StringRef(bytes).substr(8, length));
  EXPECT_TRUE(bool(json)) << path;
  for (const auto &entry : *json->getAsObject()) {
    const llvm::json::Object *tensor = entry.second.getAsObject();
    const llvm::json::Array *shape = tensor ? tensor->getArray("shape") : nullptr;
    if (!shape)
      continue;
    std::vector<int64_t> &sizes = shapes[entry.first.str()];
    for (const llvm::json::Value &size : *shape)
      sizes.push_back(*size.getAsInteger());
  }
  return shapes;
}

Shapes shapesOf(const sema::Program &program) {
  Shapes shapes;
  for (const sema::Weight &weight : program.weights) {
    auto shape = program.shape(weight.type);
    shapes[weight.path].assign(shape.begin(), shape.end());
  }
  return shapes;
}

struct Golden {
  const char *name, *program;
  std::vector<std::string> defines;
};

TEST(Weights, AreThoseOfTheGoldenRuns) {
  const Golden cases[] = {
      {"mlp_digits", "04-mlp-digits.ptl", {}},
      {"gpt_tiny", "01-gpt.ptl", {"vocab=256", "seq=64", "embed=64", "heads=4", "layers=4"}},
      {"llama_tiny", "02-llama.ptl", {}},
      {"moe_tiny", "03-moe.ptl", {}},
  };
  for (const Golden &golden : cases) {
    auto analyzed = Analyzed::file(
        std::string(PTLC_LANG_TESTS "/Parse/Inputs/programs/") + golden.program, golden.defines);
    ASSERT_TRUE(analyzed->program) << analyzed->messages();
    Shapes expected = shapesIn(std::string(PTLC_GOLDEN "/") + golden.name + "/init.safetensors");
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(shapesOf(*analyzed->program), expected) << golden.name;
  }
}

TEST(Weights, StandInOrderOfDeclaration) {
  auto analyzed = Analyzed::file(PTLC_LANG_TESTS "/Parse/Inputs/programs/01-gpt.ptl", {"layers=2"});
  ASSERT_TRUE(analyzed->program);
  std::vector<std::string> paths;
  for (const sema::Weight &weight : analyzed->program->weights)
    paths.push_back(weight.path);
  ASSERT_EQ(paths.size(), 2u + 2 * 16 + 2);
  EXPECT_EQ(paths.front(), "wte");
  EXPECT_EQ(paths[2], "blocks.0.ln1.g");
  EXPECT_EQ(paths[4], "blocks.0.attn.wq");
  EXPECT_EQ(paths[18], "blocks.1.ln1.g");
  EXPECT_EQ(paths.back(), "ln_f.b");
}

TEST(Weights, HaveInitialValues) {
  auto analyzed = Analyzed::file(PTLC_LANG_TESTS "/Parse/Inputs/programs/15-forms.ptl");
  ASSERT_TRUE(analyzed->program) << analyzed->messages();
  const sema::Program &program = *analyzed->program;
  auto weight = [&](const std::string &path) {
    auto found =
        llvm::find_if(program.weights, [&](const sema::Weight &one) { return one.path == path; });
    EXPECT_NE(found, program.weights.end()) << path;
    return *found;
  };
  EXPECT_EQ(weight("p.w").init.kind, sema::InitKind::Normal);
  EXPECT_DOUBLE_EQ(weight("p.w").init.a, 0.5); // 1 / sqrt(width)
  EXPECT_TRUE(weight("p.table").frozen);
  EXPECT_EQ(weight("p.table").init.kind, sema::InitKind::Uniform);
  EXPECT_DOUBLE_EQ(weight("p.table").init.a, -1.0);
  EXPECT_DOUBLE_EQ(weight("p.table").init.b, 1.0);
  EXPECT_TRUE(weight("p.one").type.dims.empty());
  EXPECT_EQ(weight("q.2.t").init.kind, sema::InitKind::TruncNormal); // parts count from 0
  EXPECT_FALSE(weight("z").frozen);
}

TEST(Weights, OfAPartUsedTwiceExistOnce) {
  auto analyzed = Analyzed::file(PTLC_LANG_TESTS "/Parse/Inputs/programs/12-shared.ptl");
  ASSERT_TRUE(analyzed->program);
  EXPECT_EQ(analyzed->program->weights.size(), 6u);
}

TEST(Weights, AreSplitAmongOptimizers) {
  auto analyzed = Analyzed::file(PTLC_LANG_TESTS "/Parse/Inputs/programs/15-forms.ptl");
  ASSERT_TRUE(analyzed->program);
  const sema::Program &program = *analyzed->program;
  ASSERT_EQ(program.train.optimizers.size(), 2u);
  std::vector<std::string> sgd;
  for (uint32_t index : program.train.optimizers[1].weights)
    sgd.push_back(program.weights[index].path);
  EXPECT_EQ(sgd, (std::vector<std::string>{"p.w", "q.1.w", "q.1.one", "q.1.t", "q.2.w", "q.2.one",
                                           "q.2.t", "z"}));
  EXPECT_DOUBLE_EQ(program.train.optimizers[0].beta2, 0.95);
  EXPECT_DOUBLE_EQ(program.train.optimizers[0].weightDecay, 0.01);
}

TEST(Weights, OfAFrozenPartAreNotTrained) {
  auto analyzed = Analyzed::file(PTLC_LANG_TESTS "/Parse/Inputs/programs/11-lora.ptl");
  ASSERT_TRUE(analyzed->program);
  const sema::Program &program = *analyzed->program;
  for (const sema::Weight &weight : program.weights)
    EXPECT_EQ(weight.frozen, llvm::StringRef(weight.path).starts_with("base.")) << weight.path;
  EXPECT_EQ(program.train.optimizers[0].weights.size(), 8u);
  ASSERT_EQ(program.train.inits.size(), 1u);
  EXPECT_EQ(program.train.inits[0].prefix, "base");
  EXPECT_EQ(program.train.inits[0].weights.size(), program.weights.size() - 8);
}

} // namespace
