//===- Caster.h - Casts of one function -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Each float value is *stored* in bf16 or in f32. Stored in bf16 are weights (their
// copies), what matrix products and attention make, and what any other operation
// makes of at least one such operand, unless it is a scalar. Stored in f32 are
// results of folds (sums, maxima, statistics of norms, log-sum-exp, losses), random
// numbers, fields of the data, and all that is made of these alone.
//
// A value that is computed element by element and read by nothing but one such
// operation, or by one fold, lives in a register of the kernel that both are fused
// into: it is stored nowhere and not rounded. Whether it is follows from the program
// alone, never from which kernels there are, so that a value that is computed twice
// has the same bits.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_PRECISION_CASTER_H
#define PTLC_COMPILER_TRANSFORMS_PRECISION_CASTER_H

#include "compiler/Transforms/Precision/Readers.h"
#include "compiler/Transforms/Precision/Rules.h"
#include "dialects/Ptl/Ptl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace ptlc::precision {

class Caster {
public:
  Caster(mlir::func::FuncOp function, const Rules &rules);
  void run();

private:
  void visit(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitLibrary(mlir::Operation *op, bool inBf16);
  void visitMove(mlir::Operation *op);
  void visitArithmetic(mlir::Operation *op, bool inBf16);
  void visitAccumulate(ptl::AccumulateOp op);
  void divide(ptl::OptimizeOp op);
  void keepWide(mlir::Value sum);
  /// Casts the terminator's operands to `types`.
  void leave(mlir::Operation *terminator, mlir::TypeRange types);

  bool isBf16(mlir::Operation *op) const;
  bool isStoredInBf16(mlir::Value value) const;
  bool staysInRegister(mlir::Value value) const;
  void round(mlir::Value value);
  /// The cast belongs to the stage of `owner`.
  mlir::Value cast(mlir::OpBuilder &builder, mlir::Operation *owner, mlir::Value value,
                   mlir::Type element);
  /// Makes a float operand one of `element`.
  void setOperand(mlir::OpOperand &operand, mlir::Type element);

  mlir::func::FuncOp function;
  const Rules &rules;
  mlir::Type f32, bf16;
  /// Weights in bf16, by argument: made once for all micro-batches of a step, and elsewhere (null)
  /// where they are used, so that few of them live at once.
  llvm::DenseMap<mlir::Value, mlir::Value> copies;
  llvm::SetVector<mlir::Operation *> own; ///< the casts that make them
  llvm::DenseSet<mlir::Value> registers;  ///< f32 of what would be stored in bf16
  Readers readers;
  llvm::DenseSet<mlir::Value> wide; ///< products that are added to others in f32
};

} // namespace ptlc::precision

#endif // PTLC_COMPILER_TRANSFORMS_PRECISION_CASTER_H
