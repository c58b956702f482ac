//===- LoaderTest.cpp - A rank's part of a batch --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every valid sample must arrive at exactly one place of one rank (or of each
// replica), in its micro-batch; everything else must be zero.
//===----------------------------------------------------------------------===//
#include "runtime/data/BatchLoader.h"
#include <cstring>
#include <gtest/gtest.h>
#include <map>

using namespace ptlrt;

namespace {

/// Element e of sample s is 100 * s + e + 1, never 0.
class Counting : public DataSource {
public:
  int64_t samples() const override { return 100; }
  Status read(size_t, int64_t sample, int64_t begin, int64_t count, void *to) const override {
    for (int64_t i = 0; i < count; ++i)
      static_cast<int32_t *>(to)[i] = static_cast<int32_t>(100 * sample + begin + i + 1);
    return Status::ok();
  }
};

struct Case {
  int64_t batch, microbatches;
  std::vector<std::vector<int>> sharding;
  Tail tail;
};

class Loader : public ::testing::Test {
protected:
  void check(const Case &test) {
    constexpr int64_t kSeq = 5;
    FieldSpec field;
    field.tensor.element = Element::I32;
    field.tensor.shape = {test.batch, kSeq};
    field.tensor.sharding = test.sharding;
    TensorInfo piece = field.tensor;
    piece.shape[0] = ceilDivide(test.batch, test.microbatches);
    Piece local = pieceOf(piece, mesh, 0);
    int64_t cols = local.local[1], rows = test.microbatches * local.local[0];
    field.tensor.layout = {64, rows, cols, cols + 3};
    DataSpec spec;
    spec.fields = {field};
    BatchOrder order(100, test.batch, test.tail, false, 0);
    std::map<int32_t, int> found;
    int64_t step = test.tail == Tail::Short ? order.batchesPerPass() - 1 : 1;
    for (int rank = 0; rank < mesh.ranks(); ++rank) {
      std::vector<uint8_t> arena(64 + rows * (cols + 3) * 4, 0xff);
      BatchLoader loader(spec, source, mesh, rank, test.microbatches, order);
      ASSERT_TRUE(loader.load(step, arena.data()).isOk());
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c) {
          int32_t value;
          std::memcpy(&value, arena.data() + 64 + 4 * (r * (cols + 3) + c), 4);
          if (value != 0)
            ++found[value];
        }
    }
    int copies = static_cast<int>(mesh.ranks());
    for (const std::vector<int> &axes : test.sharding)
      for (int axis : axes)
        copies /= static_cast<int>(mesh.size(axis));
    EXPECT_EQ(found.size(), static_cast<size_t>(order.valid(step) * kSeq));
    for (auto [value, count] : found) {
      EXPECT_EQ((value - 1) / 100 / test.batch, step) << value;
      EXPECT_EQ(count, copies) << value;
    }
  }

  Mesh mesh{{{"dp", 3}, {"sp", 2}}};
  Counting source;
};

TEST_F(Loader, EverySampleOnce) {
  check({6, 1, {}, Tail::Drop});
  check({6, 1, {{0}, {}}, Tail::Drop});
  check({7, 1, {{0}, {}}, Tail::Drop});    // uneven: 3, 3, 1
  check({4, 1, {{0, 1}, {}}, Tail::Drop}); // some ranks have none
  check({7, 2, {{0}, {1}}, Tail::Drop});   // micro-batches of 4 and 3, sequence 3 and 2
  check({10, 4, {{1}, {0}}, Tail::Drop});
  check({7, 3, {{0}, {}}, Tail::Short}); // two samples in the last batch
}

// 16 over three micro-batches: 6, 6, 4; over two ranks each 3 and 3, the last 3 and 1.
TEST_F(Loader, MicrobatchesComeFirst) {
  FieldSpec field;
  field.tensor.element = Element::I32;
  field.tensor.shape = {16};
  field.tensor.sharding = {{1}};
  field.tensor.layout = {0, 9, 1, 1};
  DataSpec spec;
  spec.fields = {field};
  BatchLoader loader(spec, source, mesh, 1, 3, BatchOrder(100, 16, Tail::Drop, false, 0));
  std::vector<int32_t> rows(9, -1);
  ASSERT_TRUE(loader.load(0, reinterpret_cast<uint8_t *>(rows.data())).isOk());
  EXPECT_EQ(rows, (std::vector<int32_t>{301, 401, 501, 901, 1001, 1101, 1501, 0, 0}));
}

} // namespace
