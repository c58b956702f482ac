//===- ShardingRule.h - How an operation may be cut -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A sharding rule describes an operation by its *factors*, as an einsum does.
// Since dimensions have names, a factor is nearly always a dimension name; a
// reshape adds compound dimensions, which are made of several factors, major
// first. Cutting a factor cuts every dimension that it is part of, in every
// operand and result alike.
//
//   ptl.dot %x, %w over [embed]      x: [batch, embed]  w: [embed, ffn]
//     factors: batch pass, embed sum, ffn pass
//     operands: [[batch], [embed]], [[embed], [ffn]]   results: [[batch], [ffn]]
//     linearity: one of {x, w}
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_INTERFACES_SHARDINGRULE_H
#define PTLC_DIALECTS_INTERFACES_SHARDINGRULE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"

namespace ptlc {

/// What cutting a factor does to results that lack it. A result that has it is cut, too. So results
/// that lack a factor of kind Pass are pending, as with a Sum: dk and dv of attention, if its
/// queries are cut.
enum class FactorKind {
  Pass,  ///< some result has it
  Sum,   ///< leaves the result pending: the devices' sums must be added
  Max,   ///< likewise with the maximum
  Min,   ///< likewise with the minimum
  Whole, ///< may not be cut: the operation needs all of it
};

struct Factor {
  mlir::StringAttr name;
  int64_t size = 0; ///< of the types at hand: local sizes once types are local
  FactorKind kind = FactorKind::Pass;
};

/// Indices into `ShardingRule::factors`, major first. Empty: the dimension stays whole.
using DimFactors = llvm::SmallVector<unsigned, 1>;
/// One entry per dimension of the value.
using ValueFactors = llvm::SmallVector<DimFactors, 4>;

/// Whether sums that are pending on operands may pass through an operation.
enum class Linearity {
  None, ///< no operand may be pending
  One,  ///< exactly one of `linearOperands` may be pending, the other operands are replicated
  All,  ///< the `linearOperands` may be pending, but all of them together
};

struct ShardingRule {
  llvm::SmallVector<Factor, 4> factors;
  llvm::SmallVector<ValueFactors, 3> operands;
  llvm::SmallVector<ValueFactors, 1> results;
  Linearity linearity = Linearity::None;
  llvm::SmallVector<unsigned, 2> linearOperands;
  /// Factors whose global position the local code must know: if one of them is cut, the operation
  /// needs its `cut` attribute.
  llvm::SmallVector<unsigned, 1> positional;

  /// Returns the index of the factor called `name`, adding it if it is new. A factor that occurs
  /// with two sizes (the keys of an attention whose queries are cut) keeps the first.
  unsigned add(mlir::StringAttr name, int64_t size, FactorKind kind = FactorKind::Pass);
  std::optional<unsigned> find(mlir::StringRef name) const;
};

} // namespace ptlc

#include "dialects/Interfaces/ShardingRule.h.inc"

#endif // PTLC_DIALECTS_INTERFACES_SHARDINGRULE_H
