//===- Packing.h - Offsets of what lives at some time -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Dynamic storage allocation: items with a size and a lifetime get offsets such
// that no two that live at once overlap, and the end is low. The problem is
// NP-hard; several greedy orders are tried.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_MEMORY_PACKING_H
#define PTLC_COMPILER_TRANSFORMS_MEMORY_PACKING_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace ptlc::memory {

/// What needs `bytes` from time `first` to `last`, both included.
struct PackItem {
  int64_t bytes = 0;
  unsigned first = 0, last = 0;
};

struct Packing {
  std::vector<int64_t> offsets; ///< of the items, in bytes
  int64_t end = 0;              ///< of the highest item
  int64_t least = 0;            ///< bytes that live at once at most: no packing ends lower
};

/// Packs items: of the orders that are tried the one that ends lowest, the first of equals.
Packing packItems(llvm::ArrayRef<PackItem> items);

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_PACKING_H
