//===- CheckpointTest.cpp - Checkpoints are whole or not there ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A disk that fills up at every possible place, remains of a crash, folders that
// can't be written.
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/Checkpoint.h"
#include "test/unit/runtime/TestFiles.h"
#include <csignal>
#include <gmock/gmock.h>
#include <sys/resource.h>

using namespace ptlrt;
using ::testing::HasSubstr;

namespace {

class CheckpointFiles : public test::FolderTest {
protected:
  Expected<std::string> write(int64_t step, float value, int64_t keep = 0) {
    auto source = [value](const char *name) {
      return TensorSource{name, {50}, [value](int64_t, int64_t count, float *to) {
                            std::fill_n(to, count, value);
                            return Status::ok();
                          }};
    };
    std::vector<TensorSource> weights{source("w")}, states{source("w#m")};
    RunState run{step, 3, 8, 100, "M", "dp = 2"};
    return writeCheckpoint(path("c"), run, weights, states, keep);
  }
  float firstWeight(const Checkpoint &checkpoint) {
    Expected<const uint8_t *> data = checkpoint.weights.floats("w", {50});
    EXPECT_TRUE(data.isOk()) << data.message();
    float value = 0;
    std::memcpy(&value, *data, 4);
    return value;
  }
  std::vector<std::string> names() {
    std::vector<std::string> result;
    for (const auto &entry : std::filesystem::directory_iterator(path("c")))
      result.push_back(entry.path().filename());
    std::sort(result.begin(), result.end());
    return result;
  }
};

TEST_F(CheckpointFiles, NewestIsFound) {
  ASSERT_TRUE(write(9, 1).isOk());
  ASSERT_TRUE(write(10, 2).isOk());
  ASSERT_TRUE(write(1'000'000, 3).isOk());
  Expected<Checkpoint> opened = openCheckpoint(path("c"));
  ASSERT_TRUE(opened.isOk()) << opened.message();
  EXPECT_EQ(opened->run.step, 1'000'000);
  EXPECT_EQ(opened->run.seed, 3u);
  EXPECT_EQ(opened->run.dataSamples, 100);
  EXPECT_EQ(firstWeight(*opened), 3);
  opened = openCheckpoint(path("c/step-000009"));
  ASSERT_TRUE(opened.isOk()) << opened.message();
  EXPECT_EQ(firstWeight(*opened), 1);
}

TEST_F(CheckpointFiles, SameStepIsReplaced) {
  ASSERT_TRUE(write(5, 1).isOk());
  ASSERT_TRUE(write(5, 2).isOk());
  EXPECT_EQ(firstWeight(*openCheckpoint(path("c"))), 2);
  EXPECT_EQ(names(), std::vector<std::string>{"step-000005"});
}

TEST_F(CheckpointFiles, OldOnesGo) {
  for (int64_t step : {1, 2, 3, 4})
    ASSERT_TRUE(write(step, 1, 2).isOk());
  EXPECT_EQ(names(), (std::vector<std::string>{"step-000003", "step-000004"}));
}

// Wherever the disk is full, the old checkpoint stays the newest and no remains lie around.
TEST_F(CheckpointFiles, FullDisk) {
  ASSERT_TRUE(write(1, 1).isOk());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  for (rlim_t limit = 0; limit < 280; limit += 20) {
    rlimit small{limit, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    Expected<std::string> written = write(2, 2, 1);
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_TRUE(written.isError()) << limit;
    EXPECT_THAT(written.message(),
                HasSubstr("the checkpoint of step 2 wasn't written, older ones are as they were"));
    EXPECT_EQ(names(), std::vector<std::string>{"step-000001"});
    EXPECT_EQ(firstWeight(*openCheckpoint(path("c"))), 1);
  }
}

// A process that died while it wrote leaves a folder that is never taken for a checkpoint.
TEST_F(CheckpointFiles, RemainsOfACrash) {
  std::filesystem::create_directories(path("c/.writing-step-000007"));
  std::ofstream(path("c/.writing-step-000007/weights.safetensors")) << "half";
  EXPECT_THAT(openCheckpoint(path("c")).message(), HasSubstr("holds no checkpoint"));
  ASSERT_TRUE(write(7, 1).isOk());
  EXPECT_EQ(names(), std::vector<std::string>{"step-000007"});
}

TEST_F(CheckpointFiles, FoldersThatCantBe) {
  std::ofstream(path("c")) << "a file";
  EXPECT_THAT(write(1, 1).message(), HasSubstr("can't make folder '" + path("c")));
  EXPECT_THAT(openCheckpoint(path("c")).message(), HasSubstr("there is no checkpoint folder"));
}

} // namespace
