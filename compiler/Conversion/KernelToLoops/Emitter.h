//===- Emitter.h - State while a row kernel becomes loops -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values are evaluated on demand at a tuple of indices: walking from what is
// stored to the inputs, an operation that moves indices (slice, reshape, gather)
// evaluates its operand elsewhere. A value is computed once per tuple and block;
// what does not depend on an inner loop is computed before it.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_EMITTER_H
#define PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_EMITTER_H

#include "compiler/Conversion/KernelToLoops/KernelToLoops.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseSet.h"
#include <map>

namespace ptlc::kernel {

/// Index (i64) of each dimension of the graph; null where none is defined.
using Indices = llvm::SmallVector<mlir::Value, 8>;

class Emitter {
public:
  Emitter(mlir::ImplicitLocOpBuilder &b, const Graph &graph, const RowPlan &plan,
          const Binding &binding)
      : b(b), graph(graph), plan(plan), binding(binding) {}

  /// Fills the body of the function that runs rows [begin, end).
  void emitRows(mlir::Value begin, mlir::Value end, mlir::ValueRange slots,
                mlir::ValueRange scalars);

private:
  /// Values already computed, by node and indices of its dimensions.
  using Memo = std::map<std::pair<const Node *, std::vector<const void *>>, mlir::Value>;
  struct Scope {
    explicit Scope(Emitter &emitter) : emitter(emitter) { emitter.memos.emplace_back(); }
    ~Scope() { emitter.memos.pop_back(); }
    Emitter &emitter;
  };
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange carried)>;

  // Loops (Emitter.cpp).
  void initialise();
  void startOutput(unsigned output);
  void emitRow(mlir::Value row);
  void emitLoop(unsigned number);
  void emitSelect(const Loop &loop, const Action &action);
  void emitTopK(const Node &node, Indices &at);
  llvm::SmallVector<mlir::Value> emitBody(const Loop &loop, Indices &at, mlir::ValueRange carried);
  void finishLoop(const Loop &loop, mlir::ValueRange results);
  llvm::SmallVector<mlir::Value> nest(llvm::ArrayRef<DimId> dims, Indices &at,
                                      mlir::ValueRange carried, const Loop *hoistFor, Body body);
  llvm::SmallVector<mlir::Value>
  count(mlir::Value begin, mlir::Value end, mlir::ValueRange carried,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  bool isCarried(const Action &action) const;

  // Values (Evaluate.cpp).
  mlir::Value evaluate(const Node *node, const Indices &at);
  mlir::Value compute(const Node *node, const Indices &at);
  mlir::Value computeReindex(const Node *node, const Indices &at);
  mlir::Value computePad(const Node *node, const Indices &at);
  mlir::Value computeConcat(const Node *node, const Indices &at);
  mlir::Value computeMask(const Node *node, const Indices &at);
  mlir::Value computeRandom(const Node *node, const Indices &at);
  mlir::Value materialised(const Node *node, const Indices &at);
  void hoist(const Node *node, const Indices &at, llvm::DenseSet<const Node *> &seen);
  void hoist(const Loop &loop, const Indices &at);

  // Memory.
  mlir::Value address(mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims,
                      const Strides &strides, const Indices &at);
  mlir::Value load(mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims, const Strides &strides,
                   const Indices &at);
  void store(mlir::Value value, mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims,
             const Strides &strides, const Indices &at);
  Strides packed(llvm::ArrayRef<DimId> dims) const;
  mlir::Value outputBase(unsigned output) { return slots[binding.outputSlots[output]]; }
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value times(mlir::Value x, int64_t factor);
  int64_t size(DimId dim) const { return graph.dims[dim].size; }

  mlir::ImplicitLocOpBuilder &b;
  const Graph &graph;
  const RowPlan &plan;
  const Binding &binding;
  mlir::ValueRange slots, scalars;
  mlir::Value accumulateFlag; ///< i1, if the binding accumulates
  llvm::DenseMap<const Node *, mlir::Value> scratchBase;
  std::vector<Memo> memos;
  Indices rowIndices;
  llvm::DenseMap<const Node *, mlir::Value> rowValues; ///< finished reductions of this row
  unsigned currentLoop = 0;
};

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_EMITTER_H
