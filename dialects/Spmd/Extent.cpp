//===- Extent.cpp - Nested ceil division ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Spmd/Extent.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace ptlc;

llvm::SmallVector<int64_t, 4> spmd::nestedBlocks(int64_t size, llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<int64_t, 4> blocks = {size};
  for (int64_t count : sizes)
    blocks.push_back(llvm::divideCeil(blocks.back(), count));
  return blocks;
}

int64_t spmd::nestedCeil(int64_t size, llvm::ArrayRef<int64_t> sizes) {
  return nestedBlocks(size, sizes).back();
}

spmd::Extent spmd::shardExtent(int64_t size, llvm::ArrayRef<int64_t> sizes,
                               llvm::ArrayRef<int64_t> coordinates) {
  Extent extent{0, size};
  auto blocks = nestedBlocks(size, sizes);
  for (auto [block, coordinate] : llvm::zip_equal(llvm::drop_begin(blocks), coordinates)) {
    extent.start += coordinate * block;
    extent.valid = std::clamp<int64_t>(extent.valid - coordinate * block, 0, block);
  }
  return extent;
}
