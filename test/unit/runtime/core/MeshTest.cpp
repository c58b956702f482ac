//===- MeshTest.cpp - Groups, pieces and runs -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Pieces of uneven dimensions against known values and as a partition; groups of
// ranks; the walk over a piece against a plain loop over all elements.
//===----------------------------------------------------------------------===//
#include "runtime/core/Number.h"
#include "runtime/core/Suggest.h"
#include "runtime/core/Tensor.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace ptlrt;

namespace {

std::vector<Extent> allPieces(int64_t length, std::vector<int64_t> sizes) {
  std::vector<Extent> pieces;
  std::vector<int64_t> coordinates(sizes.size());
  while (true) {
    pieces.push_back(pieceExtent(length, sizes, coordinates));
    size_t d = sizes.size();
    while (d > 0 && ++coordinates[d - 1] == sizes[d - 1])
      coordinates[--d] = 0;
    if (d == 0)
      return pieces;
  }
}

// 16 over three: 6, 6, 4; 6 over four: 2, 2, 2, 0; nested cuts restart in each block.
TEST(Pieces, KnownValues) {
  using List = std::vector<Extent>;
  EXPECT_EQ(allPieces(16, {3}), (List{{0, 6}, {6, 6}, {12, 4}}));
  EXPECT_EQ(allPieces(6, {4}), (List{{0, 2}, {2, 2}, {4, 2}, {6, 0}}));
  EXPECT_EQ(allPieces(1, {2, 2}), (List{{0, 1}, {1, 0}, {1, 0}, {2, 0}}));
  EXPECT_EQ(allPieces(2, {2, 3}), (List{{0, 1}, {1, 0}, {2, 0}, {1, 1}, {2, 0}, {3, 0}}));
  EXPECT_EQ(allPieces(3, {2}), (List{{0, 2}, {2, 1}}));
}

// Places count as an odometer does, the last size is the fastest.
TEST(Pieces, AtPlaces) {
  for (const std::vector<int64_t> &sizes : {std::vector<int64_t>{}, {3}, {2, 3}, {3, 2, 2}}) {
    std::vector<Extent> all = allPieces(17, sizes), found;
    for (size_t place = 0; place < all.size(); ++place)
      found.push_back(pieceAt(17, sizes, static_cast<int64_t>(place)));
    EXPECT_EQ(found, all);
  }
}

// Whatever the sizes, each element lies in exactly one piece, and none exceeds the padded length.
TEST(Pieces, Partition) {
  for (int64_t length = 1; length < 40; ++length)
    for (const std::vector<int64_t> &sizes :
         {std::vector<int64_t>{1}, {2}, {3}, {8}, {2, 2}, {2, 3}, {3, 2}, {4, 2}, {2, 2, 2}}) {
      std::vector<int> seen(length);
      for (Extent piece : allPieces(length, sizes)) {
        EXPECT_LE(piece.valid, pieceLength(length, sizes));
        for (int64_t i = 0; i < piece.valid; ++i)
          ++seen.at(piece.start + i);
      }
      EXPECT_EQ(seen, std::vector<int>(length, 1)) << length;
    }
}

TEST(Meshes, RanksAndGroups) {
  Mesh mesh({{"dp", 2}, {"tp", 3}});
  EXPECT_EQ(mesh.ranks(), 6);
  EXPECT_EQ(mesh.coordinate(5, 0), 1);
  EXPECT_EQ(mesh.coordinate(5, 1), 2);
  int dp[] = {0}, tp[] = {1}, both[] = {1, 0};
  EXPECT_EQ(mesh.group(4, tp), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(mesh.group(4, dp), (std::vector<int>{1, 4}));
  // The order is that of the axes as listed: tp is the major one here.
  EXPECT_EQ(mesh.group(4, both), (std::vector<int>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(mesh.group(4, {}), (std::vector<int>{4}));
  EXPECT_EQ(Mesh().ranks(), 1);
}

// The walk must visit each valid element once, at its place in the padded local array.
TEST(Runs, EqualPlainLoops) {
  Mesh mesh({{"a", 2}, {"b", 3}});
  TensorInfo tensor;
  tensor.shape = {5, 4, 7};
  for (const auto &sharding : std::vector<std::vector<std::vector<int>>>{
           {}, {{0}, {}, {}}, {{}, {1}, {}}, {{1}, {}, {0}}, {{}, {}, {1, 0}}}) {
    tensor.sharding = sharding;
    std::map<int64_t, int> covered;
    for (int rank = 0; rank < mesh.ranks(); ++rank) {
      Piece piece = pieceOf(tensor, mesh, rank);
      forEachRun(piece, [&](auto run) {
        for (int64_t i = 0; i < run.count; ++i) {
          int64_t global = run.global + i, local = run.local + i;
          std::array<int64_t, 3> g{global / 28, global / 7 % 4, global % 7};
          for (int d = 2; d >= 0; --d) {
            EXPECT_EQ(g[d] - piece.extent[d].start, local % piece.local[d]);
            local /= piece.local[d];
          }
          ++covered[global];
        }
        return true;
      });
    }
    EXPECT_EQ(covered.size(), 140u);
    std::set<int> counts;
    for (auto [element, count] : covered)
      counts.insert(count);
    EXPECT_EQ(counts.size(), 1u) << "all elements have as many copies";
  }
}

TEST(Runs, ScalarsAndParts) {
  Piece scalar;
  int visits = 0;
  forEachRun(scalar, [&](auto run) {
    visits += static_cast<int>(run.count);
    return true;
  });
  EXPECT_EQ(visits, 1);
  std::vector<std::pair<int64_t, int64_t>> parts;
  forEachPart({128, 3, 4, 8}, 4, 2, 7,
              [&](int64_t offset, int64_t count) { parts.emplace_back(offset, count); });
  EXPECT_EQ(parts, (std::vector<std::pair<int64_t, int64_t>>{{136, 2}, {160, 4}, {192, 1}}));
}

TEST(Numbers, AreReadWhole) {
  EXPECT_EQ(parseInteger("-12"), -12);
  EXPECT_EQ(parseInteger("12x"), std::nullopt);
  EXPECT_EQ(parseInteger(""), std::nullopt);
  EXPECT_EQ(parseInteger("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parseNumber("6e-4"), 6e-4);
  EXPECT_EQ(parseNumber("nan"), std::nullopt);
  EXPECT_EQ(parseNumber("1.5 "), std::nullopt);
  EXPECT_EQ(multiply(int64_t{1} << 40, int64_t{1} << 40), std::nullopt);
}

TEST(Suggestions, NearNamesOnly) {
  std::vector<std::string> names{"blocks.0.w1", "wte", "wpe"};
  EXPECT_EQ(didYouMean("blocks.0.w", names), "; did you mean 'blocks.0.w1'?");
  EXPECT_EQ(didYouMean("something", names), "");
}

/// A tensor of 6 rows of 5, padded to 7, in a bucket of three parts of 16 elements.
Storage threeParts(bool packed) { return {{1000 + 8, 6, 5, 7}, {1000, 64, packed, {0}}}; }

// Each element is held once by the ranks of a group, where the windows say.
TEST(Windows, Partition) {
  Mesh mesh({{"dp", 3}, {"tp", 2}});
  for (bool packed : {false, true}) {
    Storage storage = threeParts(packed);
    std::vector<int> holders(30);
    for (int rank : {0, 2, 4}) {
      Window window = windowOf(storage.split, mesh, rank);
      forEachHeld(storage.layout, window, 4, 0, 30, [&](int64_t offset, int64_t first, int64_t n) {
        for (int64_t i = first; i < first + n; ++i, offset += 4) {
          ++holders[i];
          int64_t place = storage.layout.offset + 4 * (i / 5 * 7 + i % 5);
          EXPECT_EQ((place - 1000) / 64, rank / 2);
          EXPECT_EQ(offset, packed ? 1000 + (place - 1000) % 64 : place);
        }
      });
      ByteRange held = heldBytes(storage, 4, mesh, rank);
      EXPECT_GE(held.offset, 1000);
      EXPECT_LE(held.bytes, 64);
    }
    EXPECT_EQ(holders, std::vector<int>(30, 1));
  }
}

// What isn't split is held by all.
TEST(Windows, WholeTensors) {
  Mesh mesh({{"dp", 3}, {"tp", 2}});
  Storage whole{{100, 2, 3, 4}, {}};
  EXPECT_EQ(heldBytes(whole, 4, mesh, 3).offset, 100);
  EXPECT_EQ(heldBytes(whole, 4, mesh, 3).bytes, 4 * 7);
}

} // namespace
