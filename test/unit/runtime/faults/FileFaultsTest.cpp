//===- FileFaultsTest.cpp - Every system call that writes fails once ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The functions of the C library that a checkpoint needs are replaced by ones
// that can fail at a chosen call. Whichever call fails, with whatever error, the
// newest checkpoint must be whole: the old one, or the new one.
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/Checkpoint.h"
#include "test/unit/runtime/TestFiles.h"
#include <cerrno>
#include <cstdio>
#include <dlfcn.h>
#include <gmock/gmock.h>

namespace {

enum Call { Write, Sync, Rename, Exchange, MakeFolder, kCalls };
constexpr const char *kNames[] = {"write", "fsync", "rename", "renameat2", "mkdir"};

/// The calls made so far, and the one that fails. Replaced functions can't be given an object.
struct Plan {
  int made[kCalls] = {};
  int failing = kCalls, at = -1, error = ENOSPC;
};
Plan plan;
bool isWatching = false;

/// Returns whether this call is the one that fails.
bool fails(Call call) {
  if (!isWatching || plan.made[call]++ != plan.at || call != plan.failing)
    return false;
  errno = plan.error;
  return true;
}

template <typename Function> Function next(Call call) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, kNames[call]));
}

} // namespace

extern "C" {
ssize_t write(int file, const void *data, size_t size) {
  return fails(Write) ? -1 : next<ssize_t (*)(int, const void *, size_t)>(Write)(file, data, size);
}
int fsync(int file) { return fails(Sync) ? -1 : next<int (*)(int)>(Sync)(file); }
int rename(const char *from, const char *to) noexcept {
  return fails(Rename) ? -1 : next<int (*)(const char *, const char *)>(Rename)(from, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) noexcept {
  return fails(Exchange) ? -1
                         : next<int (*)(int, const char *, int, const char *, unsigned)>(Exchange)(
                               a, from, b, to, flags);
}
int mkdir(const char *path, mode_t mode) noexcept {
  return fails(MakeFolder) ? -1 : next<int (*)(const char *, mode_t)>(MakeFolder)(path, mode);
}
}

using namespace ptlrt;

namespace {

class FileFaults : public test::FolderTest {
protected:
  Expected<std::string> save(int64_t step, float value) {
    auto source = [value](const char *name) {
      return TensorSource{name, {50}, [value](int64_t, int64_t count, float *to) {
                            std::fill_n(to, count, value);
                            return Status::ok();
                          }};
    };
    std::vector<TensorSource> weights{source("w")}, states{source("w#m")};
    RunState run;
    run.step = step;
    isWatching = true;
    Expected<std::string> result = writeCheckpoint(path("c"), run, weights, states, 1);
    isWatching = false;
    return result;
  }
  /// The value that fills the newest checkpoint, which must be whole.
  float newest() {
    Expected<Checkpoint> opened = openCheckpoint(path("c"));
    EXPECT_TRUE(opened.isOk()) << opened.message();
    if (opened.isError())
      return -1;
    float value = 0, state = 0;
    std::memcpy(&value, *opened->weights.floats("w", {50}), 4);
    std::memcpy(&state, *opened->states.floats("w#m", {50}), 4);
    EXPECT_EQ(value, state);
    return value;
  }
  /// Lets each call fail once while checkpoint `step` of 2 is written over one of 1.
  void failEach(int64_t oldStep, int64_t newStep) {
    plan = {};
    ASSERT_TRUE(save(oldStep, 1).isOk());
    plan = {};
    ASSERT_TRUE(save(newStep, 2).isOk());
    Plan whole = plan;
    for (int call = 0; call < kCalls; ++call)
      for (int at = 0; at < whole.made[call]; ++at)
        for (int error : {ENOSPC, EIO}) {
          SCOPED_TRACE(fmt::format("{} {} fails with {}", kNames[call], at, error));
          std::filesystem::remove_all(path("c"));
          plan = {};
          ASSERT_TRUE(save(oldStep, 1).isOk());
          plan = {};
          plan.failing = call;
          plan.at = at;
          plan.error = error;
          Expected<std::string> result = save(newStep, 2);
          float value = newest();
          EXPECT_TRUE(value == 1 || value == 2) << value;
          if (result.isOk()) // only tidying up may fail in silence
            EXPECT_EQ(value, 2);
          plan = {};
          ASSERT_TRUE(save(newStep + 1, 3).isOk());
          EXPECT_EQ(newest(), 3);
          EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("c")), {}), 1);
        }
    EXPECT_GT(whole.made[Write], 0);
    EXPECT_GT(whole.made[Sync], 0);
    EXPECT_GT(whole.made[Rename], 0);
  }
};

TEST_F(FileFaults, NewStep) { failEach(1, 2); }

TEST_F(FileFaults, SameStepAgain) { failEach(1, 1); }

} // namespace
