//===- PlanTest.cpp - Plans, meshes and -D --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/lang/Sema/Analyzed.h"

using namespace ptlc;
using namespace ptlc::test;

namespace {

/// A small program with these plans.
std::unique_ptr<Analyzed> withPlans(const std::string &plans,
                                    std::vector<std::string> defines = {}) {
  return Analyzed::text(withLoss("    return mse(x @ w, y)", "const scale = 1\n", plans), defines);
}

struct Selected {
  std::optional<sema::PlanSpec> plan;
  std::string messages;
  bool supported = false;
};

Selected select(const std::string &plans, const std::string &name,
                std::vector<sema::MeshOverride> mesh) {
  auto analyzed = withPlans(plans);
  EXPECT_EQ(analyzed->messages(), "");
  Selected result;
  result.plan = sema::selectPlan(*analyzed->program, name, mesh, analyzed->diagnostics);
  if (result.plan)
    result.supported = sema::refuseUnsupported(*result.plan, analyzed->diagnostics);
  result.messages = analyzed->messages();
  return result;
}

const char *kTwo = "plan p on mesh(dp = 2, tp = 1) { shard batch: dp, a: tp }\n";

TEST(SelectPlan, WithoutAnythingIsOneDevice) {
  Selected one = select(kTwo, "", {});
  ASSERT_TRUE(one.plan);
  EXPECT_EQ(one.plan->ranks(), 1);
  EXPECT_TRUE(one.plan->shards.empty());
  EXPECT_TRUE(one.supported);
}

TEST(SelectPlan, MeshAloneSplitsTheBatchOverDp) {
  Selected data = select("", "", {{"dp", 4}});
  ASSERT_TRUE(data.plan);
  EXPECT_EQ(data.plan->ranks(), 4);
  ASSERT_EQ(data.plan->shards.size(), 1u);
  EXPECT_EQ(data.plan->shards[0].dims, sema::DimList{sema::kBatchDim});
  EXPECT_TRUE(data.supported);
  EXPECT_EQ(select("", "", {{"tp", 4}}).messages,
            "error: --mesh without --plan knows only the axis 'dp', not 'tp'");
}

TEST(SelectPlan, MeshReplacesSizesOfThePlan) {
  Selected three = select(kTwo, "p", {{"dp", 3}});
  ASSERT_TRUE(three.plan);
  EXPECT_EQ(three.plan->ranks(), 3);
  EXPECT_TRUE(three.supported); // tp has size 1, so splitting a over it changes nothing
  Selected wide = select(kTwo, "p", {{"tp", 2}});
  EXPECT_TRUE(wide.supported);
}

TEST(SelectPlan, WhatIsMissingIsNamed) {
  EXPECT_EQ(select(kTwo, "q", {}).messages,
            "error: the program has no plan 'q' | note: its plans are p");
  EXPECT_EQ(select(kTwo, "p", {{"pp", 2}}).messages,
            "error: --mesh: plan 'p' has no axis 'pp' | note: its axes are dp, tp");
  EXPECT_EQ(select(kTwo, "p", {{"dp", 0}}).messages,
            "error: --mesh: axis 'dp' must have a size of at least 1, is 0");
}

/// The refusals of `plan p on mesh(dp = 2) { DIRECTIVES }`.
std::string refusals(const std::string &directives) {
  return select("plan p on mesh(dp = 2, pp = 1) { " + directives + " }", "p", {}).messages;
}

TEST(Refusal, LaterFeaturesAreRefusedAtTheirLine) {
  EXPECT_EQ(refusals("shard batch: dp; microbatches 2; reproducible; bucket 25 MB"), "");
  EXPECT_EQ(refusals("zero 0, over: dp; precision f32; overlap false; remat none; place dp, pp"),
            "");
  EXPECT_EQ(refusals("zero 3, over: pp"), "");
  EXPECT_EQ(refusals("shard a: dp, in: w"), "");
  EXPECT_EQ(refusals("precision bf16; precision f32, in: w"), "");
  EXPECT_EQ(refusals("zero 0, over: dp; precision bf16"), "");
  EXPECT_EQ(refusals("zero 1, over: dp; precision f32"), "");
  EXPECT_EQ(refusals("zero 1, over: dp; precision bf16"), "");
  EXPECT_EQ(refusals("precision f16"), "12:34: error: 'precision f16' is not supported yet | "
                                       "note: it needs a loss scale; 'precision bf16' has the "
                                       "range of f32");
  EXPECT_EQ(refusals("remat auto; assert memory <= 1 GB"), "");
  EXPECT_EQ(refusals("overlap; zero 3, over: dp"), "");
  // A promise that nobody would check is refused; without a pipeline there is no bubble to break
  // one.
  EXPECT_EQ(refusals("assert memory <= 3 GB; assert traffic(dp) < 1 MiB"), "");
  EXPECT_EQ(refusals("assert time <= 20 ms"), "12:34: error: 'assert time' is not supported yet");
  EXPECT_EQ(refusals("assert bubble <= 0.5"), "");
}

/// The messages for `plan p on mesh(dp = 2, tp = 2) { DIRECTIVES }`.
std::string checked(const std::string &directives) {
  return withPlans("plan p on mesh(dp = 2, tp = 2) { " + directives + " }")->messages();
}

TEST(Plan, RulesOfEqualStrengthMustAgree) {
  EXPECT_EQ(checked("shard a: tp; shard a: none, in: w"), "");
  EXPECT_EQ(checked("shard a: tp; shard a: tp"), "");
  EXPECT_EQ(checked("shard a: tp; shard a: dp"),
            "12:53: error: 'shard' contradicts a rule of equal strength | note: the other is on "
            "line 12");
  EXPECT_EQ(checked("zero 1, over: dp; zero 2, over: dp"),
            "12:52: error: 'zero' contradicts a rule of equal strength | note: the other is on "
            "line 12");
}

TEST(Plan, AnAxisSplitsAWeightOnce) {
  EXPECT_EQ(checked("shard a: tp, b: tp"),
            "12:47: error: 'a' and 'b' of 'w' are both split over axis 'tp' | note: 'w' is "
            "declared on line 5");
  EXPECT_EQ(checked("shard a: tp, b: dp"), "");
}

TEST(Plan, EntriesAreChecked) {
  EXPECT_EQ(checked("microbatches 0"),
            "12:47: error: 'microbatches' must be a whole number of at least 1, is 0");
  EXPECT_EQ(checked("precision bf16, in: x"), "12:54: error: 'x' is no part and no weight");
  EXPECT_EQ(checked("precision f64"), "12:44: error: 'precision' is f32, bf16 or f16, not 'f64'");
  EXPECT_EQ(checked("shard b: tp, in: u"), "12:51: error: 'u' has no dimension 'b'");
  EXPECT_EQ(checked("pipeline w, over: dp"),
            "12:43: error: 'w' is no stack; stacks are made with 'repeat'");
  EXPECT_EQ(checked("overlap 3"), "12:42: error: 'overlap' must be true or false, is a number");
  EXPECT_EQ(checked("assert time <= 3 GB"),
            "12:49: error: 'time' is given as in 20 ms, not in '3 GB'");
  EXPECT_EQ(checked("assert memory <= 3 GB; assert traffic(dp) < 1 MiB; assert bubble <= 0.5"), "");
  EXPECT_EQ(checked("remat auto"), "12:34: error: 'remat auto' fits the plan's 'assert memory <= "
                                   "…', which is missing");
  EXPECT_EQ(checked("remat full, in: w"), "12:50: error: 'w' is a weight, which is never computed");
  EXPECT_EQ(checked("bucket 3; place dp, dp"),
            "12:41: error: 'bucket' needs a unit, such as 80 GB\n"
            "12:54: error: axis 'dp' is given twice");
}

TEST(Defines, ReplaceValuesBeforeTheirUse) {
  auto analyzed = withPlans("", {"a=7", "batch=3", "steps=9"});
  ASSERT_TRUE(analyzed->program) << analyzed->messages();
  const sema::Program &program = *analyzed->program;
  EXPECT_EQ(program.shape(program.weights[0].type), (llvm::SmallVector<int64_t, 4>{7, 6}));
  EXPECT_EQ(program.shape(program.weights[1].type), (llvm::SmallVector<int64_t, 4>{7, 7}));
  EXPECT_EQ(program.train.batch, 3);
  EXPECT_EQ(program.size(sema::kBatchDim), 3);
  EXPECT_EQ(program.train.steps, 9);
}

TEST(Defines, UnknownOnesAreErrors) {
  EXPECT_EQ(withPlans("", {"scal=2"})->messages(),
            "error: -D scal: the program has no 'dim' or 'const' of that name; did you mean "
            "'scale'?");
  EXPECT_EQ(withPlans("", {"a=x"})->messages(),
            "error: -D a: expected a number, true or false, found 'x'");
  EXPECT_EQ(withPlans("", {"batch=0"})->messages(),
            "error: -D batch: expected a whole number of at least 1, found 0");
}

TEST(Defines, ReachImportedFiles) {
  std::string path = std::string(PTLC_LANG_TESTS "/") + "Parse/Inputs/programs/16-plans.ptl";
  auto analyzed = Analyzed::file(path, {"gpt.layers=3"});
  ASSERT_TRUE(analyzed->program) << analyzed->messages();
  EXPECT_EQ(analyzed->program->weights.size(), 4u + 3 * 16);
  EXPECT_EQ(Analyzed::file(path, {"layers=3"})->messages(),
            "error: -D layers: the program has no 'dim' or 'const' of that name; did you mean "
            "'gpt.layers'?");
}

} // namespace
