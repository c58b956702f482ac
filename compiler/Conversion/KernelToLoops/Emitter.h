//===- Emitter.h - State while a row kernel becomes loops -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The loops around the values of Evaluator.h. What does not depend on an inner
// loop is computed before it.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_EMITTER_H
#define PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_EMITTER_H

#include "compiler/Conversion/KernelScalars/Evaluator.h"
#include "compiler/Conversion/KernelToLoops/KernelToLoops.h"
#include "llvm/ADT/DenseSet.h"

namespace ptlc::kernel {

class Emitter : public Evaluator {
public:
  Emitter(mlir::ImplicitLocOpBuilder &b, const Graph &graph, const RowPlan &plan,
          const Binding &binding)
      : Evaluator(b, graph), plan(plan), binding(binding) {}

  /// Fills the body of the function that runs rows [begin, end).
  void emitRows(mlir::Value begin, mlir::Value end, mlir::ValueRange slots,
                mlir::ValueRange scalars);

private:
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange carried)>;

  // Loops (Emitter.cpp).
  void initialise();
  void startOutput(unsigned output);
  void emitRow(mlir::Value row);
  void emitFolds(const Loop &loop);
  void emitLoop(unsigned number);
  void emitSelect(const Loop &loop, const Action &action);
  void emitTopK(const Node &node, Indices &at);
  llvm::SmallVector<mlir::Value> emitBody(const Loop &loop, Indices &at, mlir::ValueRange carried);
  void finishLoop(const Loop &loop, mlir::ValueRange results);
  llvm::SmallVector<mlir::Value> nest(llvm::ArrayRef<DimId> dims, Indices &at,
                                      mlir::ValueRange carried, const Loop *hoistFor, Body body);
  /// The innermost loop of a floating-point sum.
  llvm::SmallVector<mlir::Value> nestFold(DimId dim, Indices &at, mlir::ValueRange carried,
                                          Body body);
  llvm::SmallVector<mlir::Value>
  count(mlir::Value begin, mlir::Value end, mlir::ValueRange carried,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  bool isCarried(const Action &action) const;

  // Values.
  mlir::Value loadArgument(const Node *node, const Indices &at) override;
  mlir::Value materialised(const Node *node, const Indices &at) override;
  void hoist(const Node *node, const Indices &at, llvm::DenseSet<const Node *> &seen);
  void hoist(const Loop &loop, const Indices &at);

  // Memory.
  mlir::Value address(mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims,
                      const Strides &strides, const Indices &at);
  mlir::Value load(mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims, const Strides &strides,
                   const Indices &at);
  void store(mlir::Value value, mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims,
             const Strides &strides, const Indices &at);
  mlir::Value outputBase(unsigned output) { return slots[binding.outputSlots[output]]; }

  const RowPlan &plan;
  const Binding &binding;
  mlir::ValueRange slots;
  mlir::Value accumulateFlag; ///< i1, if the binding accumulates
  llvm::DenseMap<const Node *, mlir::Value> scratchBase;
  Indices rowIndices;
  llvm::DenseMap<const Node *, mlir::Value> rowValues; ///< finished reductions of this row
  unsigned currentLoop = 0;
  bool folds = false;    ///< the current loop carries a floating-point sum
  bool reorders = false; ///< the innermost loop may add its elements in any order
};

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_EMITTER_H
