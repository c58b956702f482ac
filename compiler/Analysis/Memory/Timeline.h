//===- Timeline.h - What lies in the arena at each operation ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Read from the places that the memory planner gave, not from its plan: bytes count
// where a value lies that is still needed, once, whatever shares them.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_MEMORY_TIMELINE_H
#define PTLC_COMPILER_ANALYSIS_MEMORY_TIMELINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <vector>

namespace ptlc {

/// A value of the arena's micro level: bytes [begin, end), needed from position `first` to `last`.
struct LiveRange {
  mlir::Value value;
  int64_t begin = 0, end = 0;
  unsigned first = 0, last = 0;
};

/// Bytes of one live value that no later one lies on.
struct LiveBytes {
  mlir::Value value;
  int64_t bytes = 0;
};

class Timeline {
public:
  /// `function` is at stage `memory`.
  explicit Timeline(mlir::func::FuncOp function);

  /// The operations outside of kernels, loops before what is inside of them.
  llvm::ArrayRef<mlir::Operation *> operations() const { return order; }
  /// Bytes of the micro level that are needed while each operation runs.
  llvm::ArrayRef<int64_t> bytes() const { return needed; }
  /// The position that needs most; 0 if there is nothing.
  unsigned peak() const;
  /// What is needed at a position, the last that was made first; the sum is bytes() there.
  std::vector<LiveBytes> liveAt(unsigned position) const;

private:
  void visit(mlir::Block &block);
  void addResults(mlir::Operation *op);
  void sweep();

  std::vector<mlir::Operation *> order;
  std::vector<LiveRange> ranges;
  std::vector<int64_t> needed;
  llvm::DenseMap<mlir::Operation *, std::pair<unsigned, unsigned>> spans; ///< positions with inside
};

} // namespace ptlc

#endif // PTLC_COMPILER_ANALYSIS_MEMORY_TIMELINE_H
