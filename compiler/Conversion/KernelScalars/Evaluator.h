//===- Evaluator.h - Values of a row kernel at indices --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values are evaluated on demand at a tuple of indices: walking from what is
// stored to the inputs, an operation that moves indices (slice, reshape, gather)
// evaluates its operand elsewhere. A value is computed once per tuple and scope.
// The loops around, and the access to memory, are the back end's.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELSCALARS_EVALUATOR_H
#define PTLC_COMPILER_CONVERSION_KERNELSCALARS_EVALUATOR_H

#include "compiler/Analysis/Kernel/Binding.h"
#include "compiler/Analysis/Kernel/Graph.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <map>

namespace ptlc::kernel {

/// An index (i64) along a dimension: `base` + `lane`. Indices that differ only in their lane are
/// neighbours; their base is a multiple of `lanes`, so that what they address may be one vector.
struct Index {
  Index() = default;
  Index(mlir::Value value) : base(value) {}
  Index(mlir::Value base, unsigned lane, unsigned lanes) : base(base), lane(lane), lanes(lanes) {}
  explicit operator bool() const { return bool(base); }

  mlir::Value base;
  unsigned lane = 0, lanes = 1;
};

/// Index of each dimension of the graph; null where none is defined.
using Indices = llvm::SmallVector<Index, 8>;

class Evaluator {
public:
  Evaluator(mlir::ImplicitLocOpBuilder &b, const Graph &graph) : b(b), graph(graph) {}
  virtual ~Evaluator() = default;

protected:
  /// Element `at` of an Input node.
  virtual mlir::Value loadArgument(const Node *node, const Indices &at) = 0;
  /// What an earlier loop left behind; null if the value is to be computed.
  virtual mlir::Value materialised(const Node *node, const Indices &at) = 0;
  /// The value of a Map node.
  virtual mlir::Value mapped(const Node *node, mlir::ValueRange operands);

  mlir::Value evaluate(const Node *node, const Indices &at);

  // Arithmetic of indices (Indices.cpp). Results keep their lanes where the lanes stay neighbours.
  mlir::Value value(const Index &index);
  Index shifted(const Index &index, int64_t by);
  /// The nearest index in [0, size).
  Index clamped(const Index &index, int64_t size);
  /// i1: `index` >= `bound`.
  mlir::Value atLeast(const Index &index, int64_t bound);
  /// Row-major number of `indices` in a box of `sizes`.
  Index flattened(llvm::ArrayRef<Index> indices, llvm::ArrayRef<int64_t> sizes);
  /// The inverse of flattened().
  llvm::SmallVector<Index> unflattened(Index number, llvm::ArrayRef<int64_t> sizes);
  /// Sum of indices times strides, of the lanes' base; null: 0.
  mlir::Value baseOffset(llvm::ArrayRef<DimId> dims, llvm::ArrayRef<int64_t> strides,
                         const Indices &at);
  /// Sum of indices times strides; null: 0.
  mlir::Value offset(llvm::ArrayRef<DimId> dims, llvm::ArrayRef<int64_t> strides,
                     const Indices &at);
  /// Row-major strides of `dims` without padding.
  Strides packed(llvm::ArrayRef<DimId> dims) const;
  int64_t size(DimId dim) const { return graph.dims[dim].size; }

  enum class IndexOp : uint8_t { Add, AddConstant, Times, Divide, Remainder, Max, Min, AtLeast };
  /// The result of `op` on an index and a constant, remembered in the scope.
  mlir::Value apply(IndexOp op, mlir::Value x, int64_t constant);
  /// Values already computed, by node and indices of its dimensions, and indices.
  struct Memo {
    using Key = std::pair<const Node *, std::vector<std::pair<const void *, unsigned>>>;
    std::map<Key, mlir::Value> values;
    std::map<std::tuple<IndexOp, const void *, const void *, int64_t>, mlir::Value> indices;
  };
  /// What is computed during its life is forgotten after it: the extent of a region.
  struct Scope {
    explicit Scope(Evaluator &evaluator) : evaluator(evaluator) { evaluator.memos.emplace_back(); }
    ~Scope() { evaluator.memos.pop_back(); }
    Evaluator &evaluator;
  };

  mlir::ImplicitLocOpBuilder &b;
  const Graph &graph;
  mlir::ValueRange scalars; ///< run-time scalars (i64), in the graph's order
  std::vector<Memo> memos;

private:
  mlir::Value compute(const Node *node, const Indices &at);
  mlir::Value computeReindex(const Node *node, const Indices &at);
  mlir::Value computePad(const Node *node, const Indices &at);
  mlir::Value computeConcat(const Node *node, const Indices &at);
  mlir::Value computeMask(const Node *node, const Indices &at);
  mlir::Value computeRandom(const Node *node, const Indices &at);
  mlir::Value add(mlir::Value x, mlir::Value y);
};

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELSCALARS_EVALUATOR_H
