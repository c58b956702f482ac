//===- TrainingTest.cpp - Whole runs of a program written by hand ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// One to four ranks, micro-batches, uneven batches and short tails against a
// plain loop over the global batch; logs, gradients, checkpoints, failures.
//===----------------------------------------------------------------------===//
#include "runtime/core/Mesh.h"
#include "runtime/exec/Schedule.h"
#include "test/unit/runtime/exec/TrainingFixture.h"
#include <gmock/gmock.h>

using namespace ptlrt;
using nlohmann::json;
using test::kSamples;
using ::testing::HasSubstr;

namespace {

class TrainingRun : public test::TrainingFixture {
protected:
  void expectReference();
};

/// Trains in f64 on the global batch and compares with log.jsonl, grad.safetensors,
/// end.safetensors, from the weights in start.safetensors.
void TrainingRun::expectReference() {
  std::vector<float> start = tensor("start.safetensors", "w", {3});
  start.push_back(tensor("start.safetensors", "b", {})[0]);
  std::vector<double> w(start.begin(), start.end()), m(4);
  Schedule schedule{ScheduleKind::WarmupLinear, 2, 6, 0.01, {}, 1};
  std::vector<json> lines = log();
  ASSERT_EQ(lines.size(), static_cast<size_t>(options.steps));
  int64_t batches =
      options.tail == "short" ? ceilDivide(kSamples, options.batch) : kSamples / options.batch;
  for (int64_t step = 0; step < options.steps; ++step) {
    int64_t first = step % batches * options.batch;
    int64_t valid = std::min(options.batch, kSamples - first);
    double loss = 0, mae = 0, norm = 0, grad[4] = {};
    for (int64_t i = first; i < first + valid; ++i) {
      double error = w[3] - y[i];
      for (int d = 0; d < 3; ++d)
        error += w[d] * x[3 * i + d];
      loss += error * error / valid;
      mae += std::abs(error) / valid;
      for (int d = 0; d < 4; ++d)
        grad[d] += 2 * error * (d < 3 ? x[3 * i + d] : 1) / valid;
    }
    for (int d = 0; d < 4; ++d) {
      norm += grad[d] * grad[d];
      m[d] = 0.9 * m[d] + grad[d];
      w[d] -= schedule.rate(0.05, step) * m[d];
      if (step == 0)
        EXPECT_NEAR(d < 3 ? tensor("grad.safetensors", "w", {3})[d]
                          : tensor("grad.safetensors", "b", {})[0],
                    grad[d], 1e-5);
    }
    EXPECT_EQ(lines[step]["step"], step);
    EXPECT_NEAR(lines[step]["loss"], loss, 1e-5);
    EXPECT_NEAR(lines[step]["mae"], mae, 1e-5);
    EXPECT_NEAR(lines[step]["grad_norm"], std::sqrt(norm), 1e-5);
    EXPECT_NEAR(lines[step]["lr"], schedule.rate(0.05, step), 1e-8);
  }
  for (int d = 0; d < 4; ++d)
    EXPECT_NEAR(d < 3 ? tensor("end.safetensors", "w", {3})[d]
                      : tensor("end.safetensors", "b", {})[0],
                w[d], 1e-5);
}

TEST_F(TrainingRun, EqualsPlainLoopOnEveryMesh) {
  ASSERT_EQ(run({"--steps", "0", "--save", path("start.safetensors")}), 0) << errors;
  for (int64_t dp : {1, 2, 3, 4})
    for (int64_t microbatches : {1, 2, 3})
      for (const char *tail : {"drop", "short"}) {
        SCOPED_TRACE(fmt::format("dp {} micro-batches {} {}", dp, microbatches, tail));
        options.dp = dp;
        options.microbatches = microbatches;
        options.batch = 7;
        options.tail = tail;
        options.overlap = microbatches == 2;
        ASSERT_EQ(
            run({"--log", path("log.jsonl"), "--save-grads", path("grad.safetensors"), "--save",
                 path("end.safetensors"), "--check-replicas", "--init", path("start.safetensors")}),
            0)
            << errors;
        expectReference();
      }
}

TEST_F(TrainingRun, InitialWeightsDontDependOnTheMesh) {
  ASSERT_EQ(run({"--steps", "0", "--save", path("a")}), 0);
  options.dp = 3;
  ASSERT_EQ(run({"--steps", "0", "--save", path("b")}), 0);
  EXPECT_EQ(read("a"), read("b"));
  ASSERT_EQ(run({"--steps", "0", "--seed", "6", "--save", path("c")}), 0);
  EXPECT_NE(read("a"), read("c"));
}

// What a run says where nobody looks at a terminal.
TEST_F(TrainingRun, PlainOutput) {
  ASSERT_EQ(run({"--counters"}), 0);
  EXPECT_THAT(output, HasSubstr("Line: 4 parameters, dp = 1"));
  EXPECT_THAT(output, HasSubstr("data: 30 samples, 3 batches a pass; each pass leaves out 6"));
  EXPECT_THAT(output, HasSubstr("step 6/6  loss "));
  ASSERT_EQ(run({"--quiet"}), 0);
  EXPECT_EQ(output, "");
}

TEST_F(TrainingRun, CountersEqualPrediction) {
  for (int64_t dp : {2, 3}) {
    options.dp = dp;
    options.overlap = dp == 3;
    ASSERT_EQ(run({"--report", path("report.json")}), 0) << errors;
    json report = json::parse(read("report.json"));
    EXPECT_EQ(report["collectives"][0]["calls"], 6);
    EXPECT_EQ(report["collectives"][0]["bytes"], 6 * 2 * 24 * (dp - 1));
    EXPECT_EQ(report["collectives"][0]["predicted_bytes"], 6 * 2 * 24 * (dp - 1));
    EXPECT_EQ(report["bytes_per_axes"]["dp"], 6 * 2 * 24 * (dp - 1));
  }
}

TEST_F(TrainingRun, Trace) {
  options.dp = 2;
  ASSERT_EQ(run({"--steps", "2", "--trace", path("t.json")}), 0);
  json events = json::parse(read("t.json"))["traceEvents"];
  int collectives = 0, updates = 0;
  for (const json &event : events) {
    collectives += event["name"] == "all_reduce sum over dp (line.ptl:5:7)";
    updates += event["name"] == "opt 0";
  }
  EXPECT_EQ(collectives, 4);
  EXPECT_EQ(updates, 4);
  options.overlap = true;
  ASSERT_EQ(run({"--steps", "1", "--trace", path("t.json")}), 0);
  std::string text = read("t.json");
  EXPECT_THAT(text, HasSubstr("\"start all_reduce sum over dp (line.ptl:5:7)\""));
  EXPECT_THAT(text, HasSubstr("\"wait for all_reduce sum over dp (line.ptl:5:7)\""));
}

TEST_F(TrainingRun, Evaluation) {
  auto addEval = [](json &metadata) {
    metadata["schedule"]["kind"] = "constant";
    metadata["eval"] = metadata["data"];
    metadata["eval"].update({{"tail", "short"},
                             {"every", 3},
                             {"function", 5},
                             {"outputs", {{"loss", metadata["outputs"]["loss"]}}}});
  };
  for (int64_t dp : {1, 3}) {
    options.dp = dp;
    ASSERT_EQ(run({"--set", "lr=0", "--log", path("log.jsonl")}, addEval), 0) << errors;
    std::vector<json> lines = log();
    EXPECT_FALSE(lines[1].contains("eval_loss"));
    // Weights stay, so it is the mean over all samples of the data at these weights.
    ASSERT_EQ(run({"--steps", "0", "--save", path("w")}), 0);
    std::vector<float> w = tensor("w", "w", {3});
    double b = tensor("w", "b", {})[0], sum = 0;
    for (int64_t i = 0; i < kSamples; ++i)
      sum += std::pow(w[0] * x[3 * i] + w[1] * x[3 * i + 1] + w[2] * x[3 * i + 2] + b - y[i], 2);
    EXPECT_NEAR(lines[2]["eval_loss"], sum / kSamples, 1e-5);
    EXPECT_NEAR(lines[5]["eval_loss"], sum / kSamples, 1e-5);
  }
}

TEST_F(TrainingRun, NonfiniteStopsOrSkips) {
  x[3 * 8] = std::numeric_limits<float>::quiet_NaN(); // in the second batch of three
  write("x.npy", test::npyBytes("<f4", "30, 3", test::bytesOf(x)));
  options.dp = 2;
  EXPECT_EQ(run({}), 1);
  EXPECT_THAT(errors, HasSubstr("error: step 1: loss nan, gradient norm nan: not finite"));
  auto skip = [](json &metadata) { metadata["on_nonfinite"] = "skip"; };
  EXPECT_EQ(run({"--log", path("log.jsonl")}, skip), 0) << errors;
  std::vector<json> lines = log();
  EXPECT_TRUE(lines[1]["loss"].is_null());
  EXPECT_EQ(lines[1]["skipped"], true);
  EXPECT_TRUE(lines[2]["loss"].is_number());
}

// One rank meets an id out of range: the job ends, and the message names rank, step, file, place.
TEST_F(TrainingRun, OneRankFails) {
  k[8 + 6] = 12; // second batch of 8, rank 3 of four
  write("k.npy", test::npyBytes("<i8", "30,", test::bytesOf(k)));
  options.dp = 4;
  EXPECT_EQ(run({"--quiet"}), 1);
  EXPECT_EQ(errors, "error: rank 3, step 1: '" + path("k.npy") +
                        "': 12 at position 14 is outside [0, 10)\n");
}

TEST_F(TrainingRun, ReplicasThatDiffer) {
  options.dp = 2;
  // Without the all-reduce each rank goes its own way.
  auto drop = [](json &metadata) { metadata["collectives"][0]["segments"] = json::array(); };
  EXPECT_EQ(run({"--check-replicas", "--quiet"}, drop), 1);
  EXPECT_THAT(errors, HasSubstr("error: rank 1, step 0: replicas differ: element [0] of 'w' is"));
}

TEST_F(TrainingRun, WrongOptionsAndFiles) {
  EXPECT_EQ(run({"--stepz", "1"}), 2);
  EXPECT_EQ(run({"--set", "rl=1"}), 1);
  EXPECT_EQ(errors, "error: the program has no number 'rl'; did you mean 'lr'?\n");
  EXPECT_EQ(run({"--ranks", "4"}), 1);
  EXPECT_THAT(errors, HasSubstr("compiled for 1 ranks (dp = 1), not 4"));
  EXPECT_EQ(run({"--data", "z=a.npy"}), 1);
  EXPECT_THAT(errors, HasSubstr("the program has no field 'z'"));
  EXPECT_EQ(run({"--data", "x=" + path("none.npy")}), 1);
  EXPECT_EQ(errors, "error: can't open '" + path("none.npy") +
                        "': No such file or directory (the data of --data)\n");
  EXPECT_EQ(run({"--init", path("none")}), 1);
  EXPECT_THAT(errors, HasSubstr("can't open '" + path("none")));
  EXPECT_EQ(run({"--log", path("no/log")}), 1);
  EXPECT_THAT(errors, HasSubstr("can't write '" + path("no/log")));
  EXPECT_EQ(run({"--save", "/dev/full/x"}), 1);
  EXPECT_EQ(run({"--set", "lr=5", "--steps", "1", "--log", path("log.jsonl")}), 0);
  EXPECT_NEAR(log()[0]["lr"], 2.5, 1e-6);
  options.batch = 40;
  EXPECT_EQ(run({}), 1);
  EXPECT_THAT(errors, HasSubstr("line.ptl:9:3 has 30 samples, a batch takes 40"));
}

TEST_F(TrainingRun, WeightFilesMustFit) {
  ASSERT_EQ(run({"--steps", "0", "--save", path("w")}), 0);
  std::string bytes = read("w");
  bytes.replace(bytes.find("\"b\""), 3, "\"c\"");
  write("renamed", bytes);
  EXPECT_EQ(run({"--init", path("renamed")}), 1);
  EXPECT_EQ(errors, "error: '" + path("renamed") + "' has a tensor 'c', the model doesn't\n");
  write("cut", read("w").substr(0, read("w").size() - 4));
  EXPECT_EQ(run({"--init", path("cut")}), 1);
  EXPECT_THAT(errors, HasSubstr("truncated"));
}

} // namespace
