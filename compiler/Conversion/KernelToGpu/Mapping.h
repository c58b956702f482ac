//===- Mapping.h - Which thread does what in a row kernel -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The elements of a loop over a row are numbered row-major and cut into vectors
// of `lanes`; vector v belongs to thread v mod `team` of the row's team. A team is
// a part of a warp (short rows), a warp, or a block. While a row's operands fit
// into the registers of its team the row is `resident`: read once, all of a
// thread's vectors unrolled. Longer rows are read again by each loop, from the
// cache.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELTOGPU_MAPPING_H
#define PTLC_COMPILER_CONVERSION_KERNELTOGPU_MAPPING_H

#include "compiler/Analysis/Kernel/Binding.h"
#include "compiler/Analysis/Kernel/RowPlan.h"

namespace ptlc::kernel {

struct Mapping {
  static constexpr unsigned kWarp = 32, kVector = 4;
  /// Shared memory: bytes of a word, and of a block unless its launch asks for more.
  static constexpr int64_t kWord = 8, kSharedBytes = 48 * 1024;

  unsigned team = 1;      ///< threads of a row, a power of two
  unsigned block = 128;   ///< threads of a block: one team, or several if a team is within a warp
  int64_t rows = 1;       ///< of the kernel
  int64_t grid = 1;       ///< blocks
  int64_t iterations = 1; ///< rows that a team looks at, one after the other
  bool resident = false;
  /// Row dimensions that sums over rows keep: a team has one index of those and looks at all rows
  /// of it, so that it has the whole sum. Empty: sums are over all rows, in parts.
  DimList kept;
  bool owned = false; ///< every team looks at all rows, and scatters to its own part of the result
  bool sumsInRegisters = false; ///< sums over rows for each element of a row; else in memory
  std::vector<unsigned> lanes;  ///< by loop of the plan

  int64_t folds = 1; ///< the most values that a team folds at once

  int64_t teamsPerBlock() const { return block / team; }
  int64_t teams() const { return grid * teamsPerBlock(); }
  /// Words through which the warps of a block exchange folds: two buffers in turn.
  int64_t exchangeWords() const { return 2 * folds * kWarp; }
};

/// True if four neighbours along `dim` lie together, at a multiple of their size in a tensor that
/// begins at one.
bool isVectorAlong(const Graph &graph, llvm::ArrayRef<DimId> dims, const Strides &strides,
                   Elem elem, DimId dim);

/// Chooses threads; on failure `error` says what GPUs can't do yet.
std::optional<Mapping> mapToThreads(const Graph &graph, const RowPlan &plan, const Binding &binding,
                                    std::string &error);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELTOGPU_MAPPING_H
