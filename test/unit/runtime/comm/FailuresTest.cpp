//===- FailuresTest.cpp - Ranks that fail, disagree or stay away ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever one rank does, no other one may hang, and messages name the culprit.
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/comm/LocalRanks.h"
#include <gmock/gmock.h>

using namespace ptlrt;
using test::Floats;
using test::onRanks;
using test::randomFloats;
using ::testing::HasSubstr;

namespace {

// A rank that ends the job: nobody hangs, everybody hears of it.
TEST(Failures, AbortEndsAll) {
  Mesh mesh({{"dp", 4}});
  Collective collective;
  collective.axes = {0};
  collective.segments = {{{0, 1, 8, 8}, {}}};
  std::vector<Floats> arenas = randomFloats(4, 8);
  onRanks(mesh, {&collective, 1}, arenas, [&](Communicator &end) {
    for (int turn = 0; turn < 3; ++turn)
      EXPECT_TRUE(end.run(0).isOk());
    if (end.rank() == 2)
      return end.abort();
    EXPECT_EQ(end.run(0).message(), "another rank failed");
    EXPECT_EQ(end.barrier().message(), "another rank failed");
  });
}

// Ranks that disagree about what to run, and a rank that never comes, are named.
TEST(Failures, DisagreementAndAbsence) {
  Mesh mesh({{"dp", 2}});
  std::vector<Collective> collectives(2);
  for (Collective &collective : collectives) {
    collective.axes = {0};
    collective.segments = {{{0, 1, 8, 8}, {}}};
  }
  collectives[1].reduce = ReduceKind::Max;
  collectives[1].line = "m.ptl:3:1";
  std::vector<Floats> arenas = randomFloats(2, 8);
  onRanks(mesh, collectives, arenas, [&](Communicator &end) {
    EXPECT_THAT(end.run(end.rank()).message(),
                HasSubstr(end.rank() == 0
                              ? "runs all_reduce sum over dp, rank 1 runs all_reduce max over dp "
                                "(m.ptl:3:1)"
                              : "rank 0 runs all_reduce sum over dp"));
  });
  onRanks(
      mesh, collectives, arenas,
      [&](Communicator &end) {
        if (end.rank() == 0)
          EXPECT_THAT(
              end.run(0).message(),
              HasSubstr("waited 0 s in all_reduce sum over dp; rank 1 is in no collective"));
      },
      /*timeoutMs=*/100);
}

// The same of collectives that are started: whoever waits hears of it.
TEST(Failures, StartedCollectives) {
  Mesh mesh({{"dp", 2}});
  std::vector<Collective> collectives(3);
  for (Collective &collective : collectives) {
    collective.axes = {0};
    collective.segments = {{{0, 1, 8, 8}, {}}};
    collective.overlaps = true;
  }
  collectives[1].reduce = ReduceKind::Max;
  collectives[2].overlaps = false;
  std::vector<Floats> arenas = randomFloats(2, 8);
  onRanks(mesh, collectives, arenas, [&](Communicator &end) {
    EXPECT_EQ(end.start(2).message(), "all_reduce sum over dp can't be started");
    EXPECT_EQ(end.wait(0).message(), "all_reduce sum over dp wasn't started");
    EXPECT_TRUE(end.start(end.rank()).isOk());
    EXPECT_THAT(end.start(end.rank()).message(), HasSubstr("can't be started"));
    // The first to wait finds it; the other one hears that it failed.
    Status status = end.wait(end.rank());
    EXPECT_TRUE(status.isError());
    if (status.message() != "another rank failed") {
      EXPECT_THAT(status.message(),
                  HasSubstr(end.rank() == 0
                                ? "runs all_reduce sum over dp, rank 1 runs all_reduce max over dp"
                                : "runs all_reduce max over dp, rank 0 runs all_reduce sum"));
      end.abort();
    }
  });
  onRanks(
      mesh, collectives, arenas,
      [&](Communicator &end) {
        if (end.rank() == 1) {
          EXPECT_THAT(end.run(2).message(), HasSubstr("; rank 0 is in all_reduce sum over dp"));
          return;
        }
        EXPECT_TRUE(end.start(0).isOk());
        EXPECT_THAT(end.wait(0).message(),
                    HasSubstr("waited 0 s in all_reduce sum over dp; rank 1 is in all_reduce"));
      },
      /*timeoutMs=*/200);
  onRanks(mesh, collectives, arenas, [&](Communicator &end) {
    EXPECT_TRUE(end.start(0).isOk());
    EXPECT_TRUE(end.wait(0).isOk());
    if (end.rank() == 1)
      return end.abort();
    EXPECT_TRUE(end.start(0).isOk());
    EXPECT_EQ(end.wait(0).message(), "another rank failed");
  });
}

} // namespace
