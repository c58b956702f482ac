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

/// Element `i` of a rank's group, along the last axis of the mesh first.
float foldOf(const World &world, int rank, ReduceKind kind, const std::vector<Floats> &arenas,
             int64_t i) {
  std::vector<int> axes = world.axes, group;
  std::sort(axes.begin(), axes.end());
  group = world.mesh.group(rank, axes);
  std::vector<float> values;
  for (int member : group)
    values.push_back(arenas[member][i]);
  for (size_t axis = axes.size(); axis-- > 0;) {
    auto size = static_cast<size_t>(world.mesh.size(axes[axis]));
    std::vector<float> folds;
    for (size_t first = 0; first < values.size(); first += size) {
      folds.push_back(values[first]);
      for (size_t m = 1; m < size; ++m)
        folds.back() = combine(kind, folds.back(), values[first + m]);
    }
    values = folds;
  }
  return values[0];
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
                    for (int64_t i = offset / 4; i < offset / 4 + count; ++i)
                      expected[rank][i] = foldOf(world, rank, kind, arenas, i);
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

/// The sizes of the axes of a group, and what its members hold of `length` elements.
std::vector<int64_t> sizesOf(const World &world) {
  std::vector<int64_t> sizes;
  for (int axis : world.axes)
    sizes.push_back(world.mesh.size(axis));
  return sizes;
}
Extent pieceAt(const World &world, int rank, int64_t length) {
  std::vector<int64_t> coordinates;
  for (int axis : world.axes)
    coordinates.push_back(world.mesh.coordinate(rank, axis));
  return pieceExtent(length, sizesOf(world), coordinates);
}
/// The place in its group of the rank that holds element `index`, and its number there.
std::pair<int64_t, int64_t> placeOf(const World &world, int64_t length, int64_t index) {
  std::vector<int> group = world.mesh.group(0, world.axes);
  for (size_t place = 0; place < group.size(); ++place) {
    Extent extent = pieceAt(world, group[place], length);
    if (extent.start <= index && index < extent.start + extent.valid)
      return {place, index - extent.start};
  }
  return {-1, 0};
}

TEST(Collectives, AllGatherAndReduceScatter) {
  for (const World &world : worlds())
    for (int64_t length : {1, 5, 6, 7}) {
      auto n = static_cast<int64_t>(world.mesh.group(0, world.axes).size());
      int64_t piece = pieceLength(length, sizesOf(world)), outer = 3, inner = 4;
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
          auto [owner, local] = placeOf(world, length, l);
          int64_t from = (o * piece + local) * inner + e;
          float value = at(before[group[owner]], small, from);
          EXPECT_EQ(at(arenas[rank], large, i), value);
          if (owner != place)
            continue;
          // After the gather all members hold the same whole, so the sum is of n equal values.
          float sum = value;
          std::vector<int64_t> sizes = sizesOf(world);
          for (size_t axis = sizes.size(); axis-- > 0;) {
            float one = sum;
            for (int64_t m = 1; m < sizes[axis]; ++m)
              sum += one;
          }
          EXPECT_EQ(at(arenas[rank], small, from), sum);
        }
      }
    }
}

/// A tensor of three dimensions, of which each rank of a group holds a part of one.
struct Box {
  int64_t rows, middle, columns;
  int64_t at(int64_t r, int64_t m, int64_t c) const { return (r * middle + m) * columns + c; }
};

// 5 elements over 2 x 2 ranks lie 2, 1, 2, 0: the second axis divides the blocks of the first.
TEST(Collectives, GatherJoinsNestedPieces) {
  World world{Mesh({{"a", 2}, {"b", 2}}), {0, 1}};
  for (int64_t length : {5, 6, 7, 8}) {
    int64_t piece = pieceLength(length, sizesOf(world));
    Collective collective;
    collective.kind = CollectiveKind::AllGather;
    collective.axes = world.axes;
    collective.segments = {{{0, 1, piece, piece}, {64, 1, length, length}, 1, length, 1}};
    std::vector<Floats> arenas(4, Floats(64));
    for (int rank = 0; rank < 4; ++rank) {
      Extent extent = pieceAt(world, rank, length);
      for (int64_t i = 0; i < extent.valid; ++i)
        arenas[rank][i] = static_cast<float>(extent.start + i + 1);
    }
    onRanks(world.mesh, {&collective, 1}, arenas,
            [&](Communicator &end) { EXPECT_TRUE(end.run(0).isOk()); });
    for (const Floats &arena : arenas)
      for (int64_t i = 0; i < length; ++i)
        EXPECT_EQ(arena[16 + i], static_cast<float>(i + 1)) << length;
  }
}

void expectAllToAll(const World &world, Box whole, bool joinsSecond) {
  std::vector<int64_t> sizes = sizesOf(world);
  Box first = whole, second = whole; // cut along the rows, along the columns
  first.rows = pieceLength(whole.rows, sizes);
  second.columns = pieceLength(whole.columns, sizes);
  Box in = joinsSecond ? second : first, out = joinsSecond ? first : second;
  Layout inPlace{0, in.rows * in.middle, in.columns, in.columns + 3};
  Layout outPlace{8192, out.rows * out.middle, out.columns, out.columns + 1};
  Collective collective;
  collective.kind = CollectiveKind::AllToAll;
  collective.axes = world.axes;
  collective.segments = {
      {inPlace, outPlace, 1, whole.rows, 1, whole.middle, whole.columns, joinsSecond}};
  auto place = [](const Layout &layout, const Box &box, int64_t r, int64_t m, int64_t c) {
    return layout.offset / 4 + (r * box.middle + m) * layout.stride + c;
  };
  // Element (r, m, c) of a group is its number plus a thousand times the group's first rank.
  auto value = [&](int rank, int64_t r, int64_t m, int64_t c) {
    auto group = world.mesh.group(rank, world.axes);
    return static_cast<float>(whole.at(r, m, c) +
                              1000 * *std::min_element(group.begin(), group.end()));
  };
  auto each = [&](int rank, bool columns, auto visit) {
    Extent rows = columns ? Extent{0, whole.rows} : pieceAt(world, rank, whole.rows);
    Extent cols = columns ? pieceAt(world, rank, whole.columns) : Extent{0, whole.columns};
    for (int64_t r = 0; r < rows.valid; ++r)
      for (int64_t m = 0; m < whole.middle; ++m)
        for (int64_t c = 0; c < cols.valid; ++c)
          visit(r, m, c, value(rank, rows.start + r, m, cols.start + c));
  };
  std::vector<Floats> arenas(world.mesh.ranks(), Floats(4096));
  for (int rank = 0; rank < world.mesh.ranks(); ++rank)
    each(rank, joinsSecond, [&](int64_t r, int64_t m, int64_t c, float x) {
      arenas[rank][place(inPlace, in, r, m, c)] = x;
    });
  onRanks(world.mesh, {&collective, 1}, arenas,
          [&](Communicator &end) { EXPECT_TRUE(end.run(0).isOk()); });
  for (int rank = 0; rank < world.mesh.ranks(); ++rank)
    each(rank, !joinsSecond, [&](int64_t r, int64_t m, int64_t c, float x) {
      EXPECT_EQ(arenas[rank][place(outPlace, out, r, m, c)], x);
    });
}

TEST(Collectives, AllToAll) {
  for (const World &world : worlds())
    for (bool joinsSecond : {false, true})
      for (Box whole : {Box{6, 1, 12}, Box{5, 3, 7}, Box{1, 2, 9}})
        expectAllToAll(world, whole, joinsSecond);
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
  std::vector<Collective> collectives(3);
  for (Collective &collective : collectives) {
    collective.axes = {0};
    collective.segments = {{{0, 1, 1024, 1024}, {}, 1, 1024, 1}};
  }
  collectives[1].kind = CollectiveKind::AllGather;
  collectives[2].kind = CollectiveKind::AllToAll;
  collectives[2].segments[0].other = 1024;
  StubCommunicator stub(mesh, collectives, 5);
  EXPECT_TRUE(stub.run(0).isOk());
  EXPECT_TRUE(stub.run(1).isOk());
  EXPECT_EQ(stub.traffic()[0].read + stub.traffic()[0].written, 2 * 4096 / 1024 * 1023);
  EXPECT_EQ(stub.traffic()[1].read, 4096 / 1024 * 1023);
  EXPECT_TRUE(stub.run(2).isOk());
  EXPECT_EQ(stub.traffic()[2].read, 4 * 1023);
  stub.abort();
  EXPECT_TRUE(stub.run(0).isError());
}

} // namespace
