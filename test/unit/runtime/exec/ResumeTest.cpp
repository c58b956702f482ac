//===- ResumeTest.cpp - Checkpoints of whole runs -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A run that is cut in two ends with the same bits as one that isn't, however it
// was cut: at a checkpoint, or by Ctrl-C.
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/exec/TrainingFixture.h"
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

using namespace ptlrt;
using nlohmann::json;
using ::testing::HasSubstr;

namespace {

class Resume : public test::TrainingFixture {
protected:
  /// The log without what depends on time.
  std::vector<json> numbers(const std::string &name) {
    std::vector<json> lines = log(name);
    for (json &line : lines) {
      line.erase("ms");
      line.erase("tokens_s");
    }
    return lines;
  }
};

TEST_F(Resume, BitForBit) {
  options.shuffle = true;
  for (int64_t dp : {1, 3}) {
    options.dp = dp;
    std::filesystem::remove_all(path("c"));
    ASSERT_EQ(run({"--log", path("all"), "--save", path("straight"), "--seed", "9"}), 0) << errors;
    ASSERT_EQ(
        run({"--steps", "4", "--log", path("parts"), "--checkpoint-dir", path("c"), "--seed", "9"}),
        0)
        << errors;
    EXPECT_THAT(output, HasSubstr("checkpoint '" + path("c/step-000004")));
    ASSERT_EQ(run({"--resume", path("c"), "--log", path("parts"), "--save", path("two")}), 0)
        << errors;
    EXPECT_THAT(output, HasSubstr("at step 4"));
    EXPECT_EQ(read("straight"), read("two"));
    EXPECT_EQ(numbers("all"), numbers("parts"));
  }
}

// Files hold logical tensors, so another mesh takes the same samples in the same order.
TEST_F(Resume, OnAnotherMesh) {
  ASSERT_EQ(run({"--log", path("all")}), 0);
  options.dp = 2;
  ASSERT_EQ(run({"--steps", "3", "--checkpoint-dir", path("c")}), 0);
  options.dp = 4;
  ASSERT_EQ(run({"--resume", path("c"), "--log", path("rest")}), 0) << errors;
  for (int64_t step = 3; step < 6; ++step)
    EXPECT_NEAR(log("rest")[step - 3]["loss"], log("all")[step]["loss"], 1e-5);
}

TEST_F(Resume, EveryAndKeep) {
  auto every = [this](json &metadata) {
    metadata["checkpoint"] = {{"dir", path("c")}, {"every", 2}};
  };
  ASSERT_EQ(run({"--keep", "2", "--steps", "7"}, every), 0);
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(path("c")))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("step-000006", "step-000007"));
  // A chosen checkpoint, and one that is written again.
  ASSERT_EQ(run({"--resume", path("c/step-000006"), "--steps", "7"}, every), 0);
  EXPECT_THAT(output, HasSubstr("at step 6"));
}

TEST_F(Resume, Refused) {
  EXPECT_EQ(run({"--resume"}), 1);
  EXPECT_THAT(errors, HasSubstr("'--resume' needs a folder"));
  EXPECT_EQ(run({"--resume", path("none")}), 1);
  EXPECT_THAT(errors, HasSubstr("there is no checkpoint folder"));
  ASSERT_EQ(run({"--steps", "1", "--checkpoint-dir", path("c")}), 0);
  EXPECT_EQ(run({"--resume", path("c"), "--seed", "77"}), 1);
  EXPECT_THAT(errors, HasSubstr("was written with seed 5, not 77"));
  options.batch = 4;
  EXPECT_EQ(run({"--resume", path("c")}), 1);
  EXPECT_THAT(errors, HasSubstr("was written with batch 8, the program has batch 4"));
  options.batch = 8;
  write("c/step-000001/run.json", "{}");
  EXPECT_EQ(run({"--resume", path("c")}), 1);
  EXPECT_THAT(errors, HasSubstr("run.json"));
  std::filesystem::remove(path("c/step-000001/state.safetensors"));
  EXPECT_EQ(run({"--resume", path("c/step-000001")}), 1);
}

// Ctrl-C: the step is finished, a checkpoint is written, and the run goes on from it as if nothing
// had happened.
TEST_F(Resume, Interrupt) {
  for (int64_t dp : {1, 3}) {
    options.dp = dp;
    std::filesystem::remove_all(path("c"));
    std::filesystem::remove(path("log"));
    pid_t child = ::fork();
    if (child == 0) {
      int status = run({"--steps", "1000000000", "--checkpoint-dir", path("c"), "--log",
                        path("log"), "--set", "lr=0.01"});
      ::_exit(status);
    }
    while (!std::filesystem::exists(path("log")) || std::filesystem::file_size(path("log")) == 0)
      ::usleep(1000);
    ::kill(child, SIGINT);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    int64_t steps = static_cast<int64_t>(log("log").size());
    std::string total = std::to_string(steps + 3);
    ASSERT_EQ(run({"--resume", path("c"), "--steps", total, "--save", path("two"), "--set",
                   "lr=0.01", "--quiet"}),
              0)
        << errors;
    ASSERT_EQ(run({"--steps", total, "--save", path("straight"), "--set", "lr=0.01", "--quiet"}),
              0);
    EXPECT_EQ(read("straight"), read("two"));
  }
}

} // namespace
