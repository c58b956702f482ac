//===- Readers.h - How often values are read --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Stages of a pipeline may each compute the same value, which one device computes
// once. How often a value is read is asked of the latter, so that stages round the
// same values.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_PRECISION_READERS_H
#define PTLC_COMPILER_TRANSFORMS_PRECISION_READERS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace ptlc::precision {

class Readers {
public:
  /// Takes the operations of a block that are equal but for their stage for one. O(n log n).
  void count(mlir::Block &block);
  /// Whether one operand alone reads the value. The program may have been changed since, but for
  /// what reads it.
  bool isOne(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> leaders; ///< of equal values, the first one
  llvm::DenseMap<mlir::Value, unsigned> counts;     ///< by leader
};

} // namespace ptlc::precision

#endif // PTLC_COMPILER_TRANSFORMS_PRECISION_READERS_H
