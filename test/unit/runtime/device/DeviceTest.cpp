//===- DeviceTest.cpp - Threads, launches and options of a device ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Device.h"

#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace ptlrt;
using namespace ptlrt::cpu;

// Each piece runs once, on the thread that its place decides.
TEST(Pool, RunsEachPieceOnce) {
  for (int threads : {1, 2, 4, 7})
    for (int64_t pieces : {0, 1, 3, 7, 100}) {
      Pool pool(threads);
      EXPECT_EQ(pool.threads(), threads);
      struct Record {
        std::vector<std::atomic<int>> runs, thread;
      } record{std::vector<std::atomic<int>>(static_cast<size_t>(pieces)),
               std::vector<std::atomic<int>>(static_cast<size_t>(pieces))};
      auto task = [](void *context, int64_t index, int thread) {
        auto &r = *static_cast<Record *>(context);
        ++r.runs[static_cast<size_t>(index)];
        r.thread[static_cast<size_t>(index)] = thread;
      };
      for (int round = 1; round <= 50; ++round) {
        pool.run(pieces, task, &record);
        for (int64_t i = 0; i < pieces; ++i) {
          ASSERT_EQ(record.runs[static_cast<size_t>(i)], round);
          ASSERT_GE(record.thread[static_cast<size_t>(i)].load(), 0);
          ASSERT_LT(record.thread[static_cast<size_t>(i)].load(), threads);
        }
      }
    }
}

static void countRows(int64_t begin, int64_t end, void *const *buffers, const int64_t *scalars) {
  auto *rows = static_cast<std::atomic<int> *>(buffers[0]);
  auto *calls = static_cast<std::atomic<int> *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    rows[i] += static_cast<int>(scalars[0]);
  ++*calls;
}

TEST(Launch, CoversEachRowOnceInPiecesOfTheGrain) {
  for (int threads : {1, 3})
    for (int64_t rows : {0, 1, 10, 97})
      for (int64_t grain : {1, 8, 50, 1000}) {
        Device device({threads, bestIsa(), GemmPolicy::Auto, nullptr});
        RankContext context{&device};
        ptlrt_rank rank = {};
        rank.runtime = &context;
        std::vector<std::atomic<int>> seen(static_cast<size_t>(rows));
        std::atomic<int> calls = 0;
        void *buffers[] = {seen.data(), &calls};
        int64_t scalars[] = {3};
        ptlrt_launch(&rank, countRows, rows, grain, buffers, scalars);
        for (std::atomic<int> &row : seen)
          EXPECT_EQ(row, 3);
        if (rows > 0 && grain >= rows)
          EXPECT_EQ(calls, 1);
        EXPECT_LE(calls, std::max<int64_t>(1, rows / grain));
        EXPECT_LE(calls, threads);
      }
}

TEST(Launch, WorksWithoutADevice) {
  ptlrt_rank rank = {};
  std::atomic<int> rows[4] = {}, calls = 0;
  void *buffers[] = {rows, &calls};
  int64_t scalars[] = {1};
  ptlrt_launch(&rank, countRows, 4, 1, buffers, scalars);
  EXPECT_EQ(rows[3], 1);
}

TEST(DeviceOptions, ReadsTheEnvironment) {
  DeviceOptions options;
  std::string error;
  setenv("PTL_CPU_ISA", "avx2", 1);
  setenv("PTL_CPU_GEMM", "own", 1);
  EXPECT_TRUE(readEnvironment(options, error));
  EXPECT_EQ(options.isa, Isa::Avx2);
  EXPECT_EQ(options.gemm, GemmPolicy::Own);
  setenv("PTL_CPU_GEMM", "mkl", 1);
  EXPECT_FALSE(readEnvironment(options, error));
  EXPECT_EQ(error, "PTL_CPU_GEMM must be 'auto', 'own', 'onednn' or 'probe', is 'mkl'");
  setenv("PTL_CPU_ISA", "sse", 1);
  EXPECT_FALSE(readEnvironment(options, error));
  unsetenv("PTL_CPU_ISA");
  unsetenv("PTL_CPU_GEMM");
  EXPECT_TRUE(readEnvironment(options, error));
  EXPECT_EQ(options.gemm, GemmPolicy::Auto);
}

TEST(Device, DescribesItself) {
  Device device({2, Isa::Avx2, GemmPolicy::Auto, nullptr});
  EXPECT_EQ(describe(device).rfind("cpu: avx2 kernels, 2 thread(s) a rank, ", 0), 0u)
      << describe(device);
}
