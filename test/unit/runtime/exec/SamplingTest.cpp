//===- SamplingTest.cpp - Drawing tokens, and a run that prints text ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The toy model's likeliest next byte is the last one plus one, so greedy text is
// known; ids beyond the window and padding would show at once.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Sampling.h"
#include "runtime/main/RunMain.h"
#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace ptlrt;
using nlohmann::json;
using ::testing::HasSubstr;

namespace {

constexpr int64_t kSeq = 8, kVocab = 256, kLogits = 128, kLoss = 0;

void nextByte(ptlrt_rank *rank, void *arena, int64_t) {
  auto *bytes = static_cast<uint8_t *>(arena);
  const auto *ids = reinterpret_cast<const int32_t *>(bytes + 64);
  auto *logits = reinterpret_cast<float *>(bytes + kLogits);
  for (int64_t p = 0; p < kSeq; ++p)
    for (int64_t v = 0; v < kVocab; ++v)
      // Only the rank that holds the one sample may be asked.
      logits[p * kVocab + v] = rank->rank == 0 && v == (ids[p] + 1) % kVocab ? 20.0f : 0.0f;
}
constexpr ptlrt_stage_fn kStages[] = {nextByte};

struct SampleRun {
  int status;
  std::string output, errors;
};

SampleRun sample(std::vector<const char *> arguments, int64_t dp = 1,
                 const std::function<void(json &)> &change = {}) {
  auto layout = [](int64_t offset, int64_t cols) {
    return json{{"offset", offset}, {"rows", 1}, {"cols", cols}, {"stride", cols}};
  };
  json cut = {json::array({"dp"}), json::array()}, cut3 = cut;
  cut3.push_back(json::array());
  json metadata = {
      {"mesh", {{{"name", "dp"}, {"size", dp}}}},
      {"arena", {{"bytes", kLogits + 4 * kSeq * kVocab}}},
      {"outputs", {{"loss", kLoss}}},
      {"sample",
       {{"function", 0},
        {"vocab", kVocab},
        {"seq", kSeq},
        {"field",
         {{"type", "i32"}, {"shape", {1, kSeq}}, {"sharding", cut}, {"layout", layout(64, kSeq)}}},
        {"logits",
         {{"shape", {1, kSeq, kVocab}},
          {"sharding", cut3},
          {"layout", layout(kLogits, kSeq * kVocab)}}}}}};
  if (change)
    change(metadata);
  std::string text = metadata.dump();
  ptlrt_program_t program{PTLRT_MAGIC, PTLRT_ABI_VERSION, 0, text.data(), text.size(), nullptr,
                          0,           kStages,           1};
  arguments.insert(arguments.begin(), {"model", "sample"});
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  int status = runMain(program, nullptr, static_cast<int>(arguments.size()), arguments.data());
  std::string output = ::testing::internal::GetCapturedStdout();
  return {status, output, ::testing::internal::GetCapturedStderr()};
}

TEST(Sampling, GreedyText) {
  for (int64_t dp : {1, 2}) {
    SampleRun run = sample({"--prompt", "xab", "--tokens", "12", "--temperature", "0"}, dp);
    EXPECT_EQ(run.status, 0) << run.errors;
    EXPECT_EQ(run.output, "xabcdefghijklmn\n"); // longer than the window of eight
  }
}

TEST(Sampling, SeedDecides) {
  std::vector<const char *> warm{"--prompt", "a", "--tokens", "40", "--temperature", "9"};
  auto with = [&](const char *seed) {
    std::vector<const char *> arguments = warm;
    arguments.insert(arguments.end(), {"--seed", seed});
    return sample(arguments).output;
  };
  EXPECT_EQ(with("1"), with("1"));
  EXPECT_NE(with("1"), with("2"));
}

TEST(Sampling, IdsWhereTokensArentBytes) {
  auto larger = [](json &metadata) {
    metadata["sample"]["vocab"] = 128;
    metadata["sample"]["logits"]["shape"] = {1, 16, 128};
  };
  EXPECT_THAT(sample({"--prompt", "hello"}, 1, larger).errors,
              HasSubstr("'hello' isn't a token id"));
  EXPECT_THAT(sample({"--prompt", "5, 200"}, 1, larger).errors,
              HasSubstr("token 200 is outside [0, 128)"));
}

TEST(Sampling, WithoutLogits) {
  SampleRun run = sample({}, 1, [](json &metadata) { metadata.erase("sample"); });
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("no 'fn logits(tokens)'"));
}

TEST(Drawing, FollowsTheDistribution) {
  std::vector<float> logits{0, std::log(3.0f), -1000, std::log(4.0f)};
  EXPECT_EQ(drawToken(logits, 0, 0, 0.0), 3u);
  // Shares 1/8, 3/8, 0, 4/8 in the order of ids.
  EXPECT_EQ(drawToken(logits, 1, 0, 0.12), 0u);
  EXPECT_EQ(drawToken(logits, 1, 0, 0.13), 1u);
  EXPECT_EQ(drawToken(logits, 1, 0, 0.49), 1u);
  EXPECT_EQ(drawToken(logits, 1, 0, 0.51), 3u);
  // Two likeliest: 4/7 and 3/7.
  EXPECT_EQ(drawToken(logits, 1, 2, 0.57), 3u);
  EXPECT_EQ(drawToken(logits, 1, 2, 0.58), 1u);
  EXPECT_EQ(drawToken(logits, 1, 1, 0.99), 3u);
}

} // namespace
