//===- AllocationTest.cpp - Steps don't allocate --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// operator new is replaced by one that counts. Between the third step and the
// last one no rank may call it, whatever the data's order, with a log.
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/exec/TrainingFixture.h"
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> allocations{0};

void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

using namespace ptlrt;

namespace {

class Allocations : public test::TrainingFixture {};

TEST_F(Allocations, NoneInSteps) {
  for (int64_t dp : {1, 3})
    for (const char *tail : {"drop", "short", "wrap"}) {
      std::atomic<int64_t> early{-1}, late{-1};
      options.dp = dp;
      options.microbatches = 2;
      options.shuffle = true;
      options.tail = tail;
      options.overlap = *tail == 's';
      options.steps = 20;
      options.onStep = [&](const ptlrt_rank &rank) {
        if (rank.rank == 0 && rank.step == 3)
          early = allocations.load();
        if (rank.rank == 0 && rank.step == 18)
          late = allocations.load();
      };
      ASSERT_EQ(run({"--quiet", "--log", path("log")}), 0) << errors;
      EXPECT_EQ(late - early, 0) << "dp " << dp << ", tail " << tail;
      EXPECT_GE(early, 0);
    }
}

} // namespace
