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

} // namespace
