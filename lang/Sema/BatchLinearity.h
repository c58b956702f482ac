//===- BatchLinearity.h - How values depend on the batch --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A batch can be cut into pieces whose results are added only if every total
// over the batch is used linearly. Totals that depend on data alone, such as the
// count of valid targets, are known before the pieces are run and may be used in
// any way.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_BATCHLINEARITY_H
#define PTLC_LANG_SEMA_BATCHLINEARITY_H

#include "lang/Sema/Program.h"

namespace ptlc::sema {

struct BatchFacts {
  /// By value: computed from data, numbers and random numbers alone.
  std::vector<bool> isData;
  /// By value: a total over the batch, or linear in one. Of a value that isn't data alone, it may
  /// be computed piece by piece and added; of one that is, it is computed before.
  std::vector<bool> isTotal;
  /// `batch`, and the dimensions that it becomes by reshape, ascending.
  llvm::SmallVector<DimId, 4> batchDims;
  /// Pieces must be multiples of this many examples: groups of a reshape stay together.
  int64_t granularity = 1;

  /// The first use that pieces can't reproduce.
  struct Violation {
    NodeId node = kNone;
    std::string text; ///< "'*' multiplies two totals over the batch"
  };
  std::optional<Violation> violation;
  /// The first reshape that splits, merges or renames the batch.
  NodeId reshape = kNone;
};

BatchFacts analyzeBatch(const Program &program, const Graph &graph);

/// Reports uses of the batch that `tail: short` can't pad, if the data ask for it.
void checkShortTail(const Program &program, lang::DiagnosticEngine &diags);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_BATCHLINEARITY_H
