//===- ConformanceTest.cpp - What every back end must do ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One suite for all communicators. Started as it is, it tests ranks as threads
// and the stub; started by a launcher, ranks as processes. Each rank compares all
// bytes of its arena, padding included, with those of Reference.h.
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/LocalWorld.h"
#include "runtime/comm/mpi/MpiWorld.h"
#include "runtime/comm/stub/StubCommunicator.h"
#include "test/unit/runtime/comm/Reference.h"
#include <gtest/gtest.h>
#include <thread>

using namespace ptlrt;
using test::Bytes;
using test::fill;
using test::Reference;

namespace {

/// Elements from which on fewer cases are tested.
constexpr int64_t kLarge = 100'000;

/// Both directions of an all-to-all of rows and columns of about `length` elements together.
void addExchanges(Collective &collective, int64_t length, std::span<const int64_t> sizes,
                  int64_t &bytes) {
  int64_t size = elementSize(collective.element), end = 0;
  int64_t rows = std::min<int64_t>(length, 7), middle = 2, inner = 3;
  int64_t columns = ceilDivide(length, length > kLarge ? 84 : 7);
  for (bool joinsSecond : {false, true}) {
    Layout cutRows{0, 2 * pieceLength(rows, sizes) * middle * columns, inner, 4};
    Layout cutColumns{0, 2 * rows * middle * pieceLength(columns, sizes), inner, 5};
    CommSegment segment{cutRows, cutColumns, 2, rows, inner, middle, columns, joinsSecond};
    if (joinsSecond)
      std::swap(segment.in, segment.out);
    for (Layout *layout : {&segment.in, &segment.out}) {
      layout->offset = end;
      end = ceilDivide(end + layout->rows * layout->stride * size, 64) * 64;
    }
    collective.segments.push_back(segment);
  }
  bytes = std::max(bytes, end);
}

/// A segment behind `before` whose pieces of `piece` elements lie in their places in the whole.
void addBucket(Collective &collective, int64_t piece, int64_t members, const Layout &before) {
  int64_t size = elementSize(collective.element);
  int64_t begin = ceilDivide(before.offset + before.rows * before.stride * size, 64) * 64;
  Layout whole{begin, 1, piece * members, piece * members}, part{begin, 1, piece, piece};
  bool gathers = collective.kind == CollectiveKind::AllGather;
  CommSegment segment{gathers ? part : whole, gathers ? whole : part, 1, piece * members, 1};
  segment.step = piece * size;
  collective.segments.push_back(segment);
}

/// All collectives over `axes` with `length` elements, and one of several padded segments each.
std::vector<Collective> collectivesOf(const Mesh &mesh, const std::vector<int> &axes,
                                      int64_t length, int64_t &bytes) {
  std::vector<Collective> list;
  auto members = static_cast<int64_t>(mesh.group(0, axes).size());
  std::vector<int64_t> sizes;
  for (int axis : axes)
    sizes.push_back(mesh.size(axis));
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll, CollectiveKind::Permute, CollectiveKind::Broadcast})
    for (ReduceKind reduce : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
      for (Element element :
           {Element::F32, Element::I32, Element::I64, Element::Byte, Element::BF16}) {
        bool reduces = kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
        bool isLarge = length > kLarge;
        if (reduce != ReduceKind::Sum && (!reduces || isLarge))
          continue;
        if (isLarge && element != Element::F32)
          continue;
        Collective collective{kind, reduce, element, axes, {}, 0, {}, 0, 1, false, "", ""};
        collective.root = static_cast<int>(members) - 1;
        int64_t size = elementSize(element);
        if (kind == CollectiveKind::AllReduce || kind == CollectiveKind::Broadcast) {
          int64_t end = ceilDivide(length * size, 64) * 64;
          collective.segments = {{{0, length > 0, std::max<int64_t>(length, 1), length}, {}},
                                 {{end, 3, 5, 8}, {}}};
          bytes = std::max(bytes, end + 3 * 8 * size);
        } else if (kind == CollectiveKind::Permute) {
          int64_t rows = length > 0 ? 3 : 0, cols = std::max<int64_t>(ceilDivide(length, 3), 1);
          Layout in{0, rows, cols, cols + 1};
          Layout out{ceilDivide(rows * in.stride * size, 64) * 64, rows, cols, cols + 2};
          collective.segments = {{in, out}};
          // All but the last, which keeps its own, in a circle.
          for (int64_t m = 0; m < members; ++m)
            collective.sources.push_back(
                static_cast<int>(m + 1 < members ? (m + 1) % (members - 1) : m));
          bytes = std::max(bytes, out.offset + rows * out.stride * size);
        } else if (kind == CollectiveKind::AllToAll) {
          addExchanges(collective, length, sizes, bytes);
        } else {
          int64_t outer = isLarge ? 1 : 3, inner = 3, cut = isLarge ? length / inner : length;
          int64_t piece = pieceLength(cut, sizes);
          Layout whole{0, outer * cut, inner, 5};
          Layout part{ceilDivide(outer * cut * 5 * size, 64) * 64, outer * piece, inner, 4};
          bool gathers = kind == CollectiveKind::AllGather;
          collective.segments = {
              {gathers ? part : whole, gathers ? whole : part, outer, cut, inner}};
          addBucket(collective, std::max<int64_t>(cut, 1), members, part);
          const CommSegment &last = collective.segments.back();
          bytes = std::max(
              {bytes, part.offset + outer * piece * 4 * size, last.in.offset + last.length * size});
        }
        list.push_back(std::move(collective));
      }
  return list;
}

/// The largest case, in elements times the square of the group.
constexpr int64_t kMostCompared = (int64_t{64} << 20);

enum class Backend : uint8_t { Threads, Stub, Processes };

std::unique_ptr<ptlrt::Processes> processes;

class JoinProcesses : public ::testing::Environment {
  void SetUp() override {
    auto joined = ptlrt::Processes::join();
    ASSERT_TRUE(joined.isOk()) << joined.message();
    processes = std::move(*joined);
  }
  void TearDown() override { processes.reset(); }
};

std::vector<Backend> backends() {
  if (!ptlrt::Processes::areLaunched())
    return {Backend::Threads, Backend::Stub};
  static ::testing::Environment *const kJoin =
      ::testing::AddGlobalTestEnvironment(new JoinProcesses);
  (void)kJoin;
  return {Backend::Processes};
}

class Conformance : public ::testing::TestWithParam<Backend> {
protected:
  using Body = std::function<void(Communicator &, uint8_t *arena)>;
  bool isStub() const { return GetParam() == Backend::Stub; }

  /// Runs `body` on each rank of `mesh` that this process has.
  void onRanks(const Mesh &mesh, std::span<const Collective> collectives, int64_t bytes,
               const Body &body) {
    auto connected = [&](World &world, int rank, Bytes &arena) {
      arena.resize(bytes);
      auto made = world.connect(rank, arena.data());
      EXPECT_TRUE(made.isOk()) << made.message();
      return std::move(*made);
    };
    if (GetParam() == Backend::Processes) {
      Bytes arena;
      MpiWorld world(*processes, mesh, std::vector<RankComm>(mesh.ranks(), {collectives, {}}));
      std::unique_ptr<Communicator> end = connected(world, processes->rank(), arena);
      return body(*end, arena.data());
    }
    if (isStub()) {
      Bytes arena(bytes);
      StubCommunicator end(mesh, collectives, mesh.ranks() - 1);
      return body(end, arena.data());
    }
    std::vector<Bytes> arenas(mesh.ranks());
    LocalWorld world(mesh, collectives, {50, 50, 60'000});
    std::vector<std::unique_ptr<Communicator>> ends;
    for (int rank = 0; rank < mesh.ranks(); ++rank)
      ends.push_back(connected(world, rank, arenas[rank]));
    std::vector<std::thread> threads;
    for (auto &end : ends)
      threads.emplace_back([&] { body(*end, arenas[end->rank()].data()); });
    for (std::thread &thread : threads)
      thread.join();
  }

  struct Group {
    Mesh mesh;
    std::vector<int> axes;
  };
  /// Meshes with as many ranks as there are processes, or of one to six.
  std::vector<Group> groups() const {
    std::vector<Group> all = {{Mesh({{"dp", 1}}), {0}},
                              {Mesh({{"dp", 2}}), {0}},
                              {Mesh({{"dp", 3}}), {0}},
                              {Mesh({{"dp", 4}}), {0}},
                              {Mesh({{"dp", 4}}), {}},
                              {Mesh({{"dp", 2}, {"tp", 2}}), {0}},
                              {Mesh({{"dp", 2}, {"tp", 2}}), {1}},
                              {Mesh({{"dp", 2}, {"tp", 2}}), {0, 1}},
                              {Mesh({{"dp", 2}, {"tp", 2}}), {1, 0}},
                              {Mesh({{"dp", 2}, {"tp", 3}}), {1, 0}}};
    if (GetParam() == Backend::Processes)
      std::erase_if(all, [](const Group &g) { return g.mesh.ranks() != processes->ranks(); });
    return all;
  }

  void expectAll(int64_t length) {
    for (const Group &group : groups()) {
      // What all ranks keep for a comparison grows with the square of the group.
      auto members = static_cast<int64_t>(group.mesh.group(0, group.axes).size());
      bool isTrivial = members == 1 && length > kLarge;
      if (length * members * members > kMostCompared || isTrivial)
        continue;
      int64_t bytes = 0;
      std::vector<Collective> list = collectivesOf(group.mesh, group.axes, length, bytes);
      onRanks(group.mesh, list, bytes, [&](Communicator &end, uint8_t *arena) {
        for (size_t i = 0; i < list.size(); ++i)
          expectOne(group.mesh, list[i], static_cast<int>(i), end, arena, bytes);
      });
    }
  }

  /// All kinds on their way at once, each in memory of its own, while one is run; ranks come at
  /// different times, and wait in the order of the starts or the reverse one.
  void expectStarted(int64_t length) {
    for (const Group &group : groups()) {
      int64_t bytes = 0;
      std::vector<Collective> list = collectivesOf(group.mesh, group.axes, length, bytes);
      std::erase_if(list, [](const Collective &each) {
        return each.element != Element::F32 || each.reduce != ReduceKind::Sum;
      });
      std::vector<Collective> shifted = list;
      for (size_t i = 0; i < list.size(); ++i) {
        shifted[i].overlaps = i + 1 < list.size();
        for (CommSegment &segment : shifted[i].segments)
          for (Layout *layout : {&segment.in, &segment.out})
            layout->offset += static_cast<int64_t>(i) * bytes;
      }
      onRanks(group.mesh, shifted, static_cast<int64_t>(list.size()) * bytes,
              [&](Communicator &end, uint8_t *arena) {
                std::vector<Reference> references;
                for (const Collective &each : list)
                  references.emplace_back(each, group.mesh, end.rank(), bytes);
                for (int turn = 0; turn < 4; ++turn)
                  expectTurn(references, list, turn, end, arena, bytes);
              });
    }
  }

private:
  void expectTurn(const std::vector<Reference> &references, const std::vector<Collective> &list,
                  int turn, Communicator &end, uint8_t *arena, int64_t bytes) {
    auto last = static_cast<int>(list.size()) - 1;
    for (int i = 0; i <= last; ++i) {
      std::memcpy(arena + i * bytes, references[i].input().data(), bytes);
      std::this_thread::sleep_for(std::chrono::microseconds((end.rank() * 7 + i * 3) % 5 * 100));
      Status status = i == last ? end.run(i) : end.start(i);
      EXPECT_TRUE(status.isOk()) << status.message();
      end.progress();
    }
    for (int i = 0; i < last; ++i) {
      Status status = end.wait(turn % 2 == 0 ? i : last - 1 - i);
      ASSERT_TRUE(status.isOk()) << status.message();
    }
    for (int i = 0; i <= last; ++i) {
      const Bytes &expected = isStub() ? references[i].input() : references[i].result();
      EXPECT_EQ(std::memcmp(arena + i * bytes, expected.data(), bytes), 0)
          << collectiveName(list[i].kind) << " on rank " << end.rank();
      if (turn == 0)
        expectTraffic(list[i], references[i], end.traffic()[i]);
    }
  }
  void expectOne(const Mesh &mesh, const Collective &collective, int index, Communicator &end,
                 uint8_t *arena, int64_t bytes) {
    Reference reference(collective, mesh, end.rank(), bytes);
    std::memcpy(arena, reference.input().data(), bytes);
    Status status = end.run(index);
    ASSERT_TRUE(status.isOk()) << status.message();
    const Bytes &expected = isStub() ? reference.input() : reference.result();
    EXPECT_EQ(std::memcmp(arena, expected.data(), bytes), 0)
        << collective.describe(mesh) << " of " << elementName(collective.element) << " on rank "
        << end.rank() << " of " << mesh.describe();
    expectTraffic(collective, reference, end.traffic()[index]);
  }

  /// Bytes as in theory; the shares of an all-reduce may differ by a unit of 16 elements.
  void expectTraffic(const Collective &collective, const Reference &reference,
                     const Traffic &traffic) const {
    EXPECT_EQ(traffic.calls, 1);
    int64_t n = reference.members(), whole = 0, own = 0, exchanged = 0;
    bool isReduce = collective.kind == CollectiveKind::AllReduce;
    for (const CommSegment &s : collective.segments) {
      bool isPlain = isReduce || collective.kind == CollectiveKind::Broadcast ||
                     collective.kind == CollectiveKind::Permute;
      whole += isPlain ? s.in.rows * s.in.cols : s.whole();
      int64_t rows = reference.pieceAt(s.length, reference.place).valid;
      int64_t columns = reference.pieceAt(s.other, reference.place).valid;
      own += s.outer * s.inner * rows;
      exchanged += s.outer * s.middle * s.inner *
                   (s.joinsSecond ? rows * (s.other - columns) : columns * (s.length - rows));
    }
    int64_t size = elementSize(collective.element), moved = traffic.read + traffic.written;
    if (n == 1)
      EXPECT_EQ(moved, 0);
    else if (collective.kind == CollectiveKind::Broadcast)
      EXPECT_EQ(moved, isStub() || reference.place != collective.root ? whole * size : 0);
    else if (collective.kind == CollectiveKind::Permute)
      EXPECT_EQ(moved, isStub() || collective.sources[reference.place] != reference.place
                           ? whole * size
                           : 0);
    else if (collective.kind == CollectiveKind::AllToAll)
      EXPECT_EQ(moved, isStub() ? whole * size / n * (n - 1) / n : exchanged * size);
    else if (isStub())
      EXPECT_EQ(moved, (isReduce ? 2 : 1) * (whole * size * (n - 1) / n));
    else if (isReduce)
      EXPECT_LE(std::abs(moved * n - 2 * whole * size * (n - 1)), 2 * 16 * size * n * (n - 1));
    else
      EXPECT_EQ(moved, size * (collective.kind == CollectiveKind::AllGather ? whole - own
                                                                            : own * (n - 1)));
  }
};

TEST_P(Conformance, Nothing) { expectAll(0); }
TEST_P(Conformance, OneElement) { expectAll(1); }
TEST_P(Conformance, Odd) { expectAll(17); }
TEST_P(Conformance, ManyOdd) { expectAll(1031); }
// Several messages a rank, the last one short.
TEST_P(Conformance, Megabytes) { expectAll(1'200'001); }
TEST_P(Conformance, DISABLED_Large) { expectAll((int64_t{64} << 20) / 4); }

TEST_P(Conformance, Started) { expectStarted(17); }
// Several messages a rank; threads send none.
TEST_P(Conformance, StartedLong) {
  expectStarted(GetParam() == Backend::Processes ? 600'001 : 9'001);
}

TEST_P(Conformance, AgreementAndBarrier) {
  for (const Group &group : groups())
    onRanks(group.mesh, {}, 0, [&](Communicator &end, uint8_t *) {
      for (int64_t turn = 0; turn < 50; ++turn) {
        EXPECT_TRUE(end.barrier().isOk());
        EXPECT_EQ(*end.agree(end.rank() == 0 || isStub() ? turn : -1), turn);
      }
    });
}

// Every rank reads from the next one, more than one message; the stub has no memory to read.
TEST_P(Conformance, Fetch) {
  constexpr int64_t kBytes = 9'000'001;
  for (const Group &group : groups())
    onRanks(group.mesh, {}, kBytes, [&](Communicator &end, uint8_t *arena) {
      Bytes own(kBytes), others(kBytes), read(kBytes - 3);
      fill(own, Element::Byte, end.rank());
      std::memcpy(arena, own.data(), kBytes);
      int next = (end.rank() + 1) % end.ranks();
      fill(others, Element::Byte, next);
      EXPECT_TRUE(end.barrier().isOk());
      Status status = end.fetch(next, 3, kBytes - 3, read.data());
      EXPECT_EQ(status.isError(), isStub()) << status.message();
      EXPECT_TRUE(end.barrier().isOk());
      if (!isStub())
        EXPECT_EQ(std::memcmp(read.data(), others.data() + 3, kBytes - 3), 0);
    });
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, ::testing::ValuesIn(backends()),
                         [](const auto &info) {
                           return info.param == Backend::Threads ? "local"
                                  : info.param == Backend::Stub  ? "stub"
                                                                 : "mpi";
                         });

} // namespace
