//===- CollectivesTest.cpp - All collectives on ranks as threads ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each collective, sizes from nothing to 1 MiB, on groups of meshes of one to six
// ranks: every rank's result must equal, bit for bit, a plain loop in ascending
// order of ranks; padding must not be touched; bytes must be those of the theory.
//===----------------------------------------------------------------------===//
#include "runtime/comm/stub/StubCommunicator.h"
#include "test/unit/runtime/comm/LocalRanks.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace ptlrt;

namespace {

using test::Floats;
using test::onRanks;
using test::randomFloats;

struct World {
  Mesh mesh;
  std::vector<int> axes;
};
std::vector<World> worlds() {
  return {{Mesh({{"dp", 1}}), {0}},
          {Mesh({{"dp", 2}}), {0}},
          {Mesh({{"dp", 3}}), {0}},
          {Mesh({{"dp", 4}}), {0}},
          {Mesh({{"dp", 2}, {"tp", 2}}), {1}},
          {Mesh({{"dp", 2}, {"tp", 2}}), {0}},
          {Mesh({{"dp", 2}, {"tp", 3}}), {1, 0}}};
}

float combine(ReduceKind kind, float a, float b) {
  return kind == ReduceKind::Sum   ? a + b
         : kind == ReduceKind::Max ? std::max(a, b)
                                   : std::min(a, b);
}

void expectAllReduce(const World &world, ReduceKind kind, std::vector<CommSegment> segments,
                     int64_t size) {
  Collective collective;
  collective.reduce = kind;
  collective.axes = world.axes;
  collective.segments = std::move(segments);
  std::vector<Floats> arenas = randomFloats(world.mesh.ranks(), size), expected = arenas;
  int64_t elements = 0;
  for (const CommSegment &segment : collective.segments)
    forEachPart(segment.in, 4, 0, segment.in.rows * segment.in.cols,
                [&](int64_t offset, int64_t count) {
                  elements += count;
                  for (int rank = 0; rank < world.mesh.ranks(); ++rank) {
                    std::vector<int> group = world.mesh.group(rank, world.axes);
                    std::sort(group.begin(), group.end());
                    for (int64_t i = offset / 4; i < offset / 4 + count; ++i) {
                      float sum = arenas[group[0]][i];
                      for (size_t m = 1; m < group.size(); ++m)
                        sum = combine(kind, sum, arenas[group[m]][i]);
                      expected[rank][i] = sum;
                    }
                  }
                });
  std::atomic<int64_t> bytes{0};
  onRanks(world.mesh, {&collective, 1}, arenas, [&](Communicator &end) {
    Status status = end.run(0);
    EXPECT_TRUE(status.isOk()) << status.message();
    bytes += end.traffic()[0].read + end.traffic()[0].written;
  });
  EXPECT_EQ(arenas, expected);
  auto group = static_cast<int64_t>(world.mesh.group(0, world.axes).size());
  EXPECT_EQ(bytes, 2 * 4 * elements * (group - 1) * world.mesh.ranks() / group);
}

TEST(Collectives, AllReduceSizes) {
  for (const World &world : worlds())
    for (int64_t size : {0, 1, 5, 17, 1000, 4099})
      expectAllReduce(world, ReduceKind::Sum,
                      {{{0, size > 0, std::max<int64_t>(size, 1), std::max<int64_t>(size, 1)}, {}}},
                      std::max<int64_t>(size, 1));
  for (const World &world : {worlds()[1], worlds()[3]})
    expectAllReduce(world, ReduceKind::Sum, {{{0, 1, 262144, 262144}, {}}}, 262144);
}

// Several tensors, rows with padding, all in one collective.
TEST(Collectives, AllReduceSegments) {
  for (const World &world : worlds())
    for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
      expectAllReduce(
          world, kind,
          {{{64, 7, 13, 16}, {}}, {{4 * 200, 1, 1, 1}, {}}, {{4 * 300, 40, 70, 80}, {}}}, 4000);
}

TEST(Collectives, AllGatherAndReduceScatter) {
  for (const World &world : worlds())
    for (int64_t length : {1, 5, 6, 7}) {
      auto n = static_cast<int64_t>(world.mesh.group(0, world.axes).size());
      int64_t piece = ceilDivide(length, n), outer = 3, inner = 4;
      Layout small{0, outer * piece, inner, 8}, large{4096, outer * length, inner, 5};
      std::vector<Collective> collectives(2);
      collectives[0].kind = CollectiveKind::AllGather;
      collectives[0].segments = {{small, large, outer, length, inner}};
      collectives[1].kind = CollectiveKind::ReduceScatter;
      collectives[1].segments = {{large, small, outer, length, inner}};
      for (Collective &collective : collectives)
        collective.axes = world.axes;
      std::vector<Floats> arenas = randomFloats(world.mesh.ranks(), 2048), before = arenas;
      auto at = [&](Floats &arena, const Layout &layout, int64_t i) -> float & {
        return arena[layout.offset / 4 + i / inner * layout.stride + i % inner];
      };
      onRanks(world.mesh, collectives, arenas, [&](Communicator &end) {
        EXPECT_TRUE(end.run(0).isOk());
        EXPECT_TRUE(end.run(1).isOk());
      });
      for (int rank = 0; rank < world.mesh.ranks(); ++rank) {
        std::vector<int> group = world.mesh.group(rank, world.axes), sorted = group;
        std::sort(sorted.begin(), sorted.end());
        int64_t place = std::find(group.begin(), group.end(), rank) - group.begin();
        for (int64_t i = 0; i < outer * length * inner; ++i) {
          int64_t o = i / (length * inner), l = i / inner % length, e = i % inner;
          int64_t from = ((o * piece) + l % piece) * inner + e;
          float value = at(before[group[l / piece]], small, from);
          EXPECT_EQ(at(arenas[rank], large, i), value);
          if (l / piece != place)
            continue;
          // After the gather all members hold the same whole, so the sum is of n equal values.
          float sum = value;
          for (int64_t m = 1; m < n; ++m)
            sum += value;
          EXPECT_EQ(at(arenas[rank], small, from), sum);
        }
      }
    }
}

TEST(Collectives, Broadcast) {
  for (const World &world : worlds()) {
    Collective collective;
    collective.kind = CollectiveKind::Broadcast;
    collective.axes = world.axes;
    collective.root = static_cast<int>(world.mesh.group(0, world.axes).size()) - 1;
    collective.segments = {{{0, 2, 3, 4}, {}}};
    std::vector<Floats> arenas = randomFloats(world.mesh.ranks(), 16), before = arenas;
    onRanks(world.mesh, {&collective, 1}, arenas,
            [&](Communicator &end) { EXPECT_TRUE(end.run(0).isOk()); });
    for (int rank = 0; rank < world.mesh.ranks(); ++rank) {
      const Floats &root = before[world.mesh.group(rank, world.axes)[collective.root]];
      for (int i : {0, 1, 2, 4, 5, 6})
        EXPECT_EQ(arenas[rank][i], root[i]);
      EXPECT_EQ(arenas[rank][3], before[rank][3]) << "padding";
    }
  }
}

// NaN must survive a maximum: a loss that isn't finite may not be hidden by another rank.
TEST(Collectives, MaximumKeepsNan) {
  Mesh mesh({{"dp", 2}});
  Collective collective;
  collective.reduce = ReduceKind::Max;
  collective.axes = {0};
  collective.segments = {{{0, 1, 2, 2}, {}}};
  std::vector<Floats> arenas{{NAN, 1}, {1, NAN}};
  onRanks(mesh, {&collective, 1}, arenas,
          [&](Communicator &end) { EXPECT_TRUE(end.run(0).isOk()); });
  for (const Floats &arena : arenas)
    EXPECT_TRUE(std::isnan(arena[0]) && std::isnan(arena[1]));
}

TEST(Collectives, IntegersAndAgreement) {
  Mesh mesh({{"dp", 4}});
  Collective collective;
  collective.element = Element::I32;
  collective.axes = {0};
  collective.segments = {{{0, 1, 2, 2}, {}}};
  std::vector<Floats> arenas(4, Floats(2));
  for (int rank = 0; rank < 4; ++rank) {
    int32_t values[] = {16'777'217, rank};
    std::memcpy(arenas[rank].data(), values, 8);
  }
  onRanks(mesh, {&collective, 1}, arenas, [&](Communicator &end) {
    EXPECT_TRUE(end.run(0).isOk());
    for (int64_t turn = 0; turn < 100; ++turn)
      EXPECT_EQ(*end.agree(end.rank() == 0 ? turn : -1), turn);
  });
  int32_t values[2];
  std::memcpy(values, arenas[3].data(), 8);
  EXPECT_EQ(values[0], 67'108'868);
  EXPECT_EQ(values[1], 6);
}

TEST(Stub, CountsWithoutPartners) {
  Mesh mesh({{"dp", 1024}});
  std::vector<Collective> collectives(2);
  for (Collective &collective : collectives) {
    collective.axes = {0};
    collective.segments = {{{0, 1, 1024, 1024}, {}, 1, 1024, 1}};
  }
  collectives[1].kind = CollectiveKind::AllGather;
  StubCommunicator stub(mesh, collectives, 5);
  EXPECT_TRUE(stub.run(0).isOk());
  EXPECT_TRUE(stub.run(1).isOk());
  EXPECT_EQ(stub.traffic()[0].read + stub.traffic()[0].written, 2 * 4096 / 1024 * 1023);
  EXPECT_EQ(stub.traffic()[1].read, 4096 / 1024 * 1023);
  stub.abort();
  EXPECT_TRUE(stub.run(0).isError());
}

} // namespace
