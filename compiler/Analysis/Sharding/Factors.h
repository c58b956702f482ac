//===- Factors.h - Axes of dimensions and axes of factors -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A sharding rule speaks of factors, a sharding of dimensions. For a dimension
// that is one factor they are the same; a compound dimension (of a reshape) gives
// an axis to its major factor while the axis' size divides what is left of it,
// and to the next one only when that is used up, since only then is the local
// reshape the global one.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_SHARDING_FACTORS_H
#define PTLC_COMPILER_ANALYSIS_SHARDING_FACTORS_H

#include "compiler/Analysis/Sharding/Mesh.h"
#include "dialects/Interfaces/ShardingRule.h"

namespace ptlc::sharding {

/// Axes of each factor of a rule, by the factor's index.
using Assignment = llvm::SmallVector<AxisList, 4>;

/// Adds the axes of a dimension to those of its factors, as far as they can be told apart.
void project(const Mesh &mesh, const ShardingRule &rule, llvm::ArrayRef<AxisId> axes,
             const DimFactors &factors, Assignment &assignment);

/// Returns the axes of a dimension under an assignment; stops where the compound would not be
/// local.
AxisList unproject(const Mesh &mesh, const ShardingRule &rule, const Assignment &assignment,
                   const DimFactors &factors);

/// Trims the assignment until every compound dimension carries it exactly and no whole factor is
/// cut.
void makeLegal(const Mesh &mesh, const ShardingRule &rule, Assignment &assignment);

/// Whether cutting `factor` leaves result `result` of an operation pending: it is folded away, or,
/// of kind Pass, it is in an operand of that result, but not in the result.
bool leavesPending(const ShardingRule &rule, unsigned factor, unsigned result);

/// Returns the shardings of all operands, then of all results, under an assignment; the results
/// carry what cut reductions leave pending. Fails (nullopt) if two kinds of folds would be pending.
std::optional<llvm::SmallVector<Sharding>> shardingsOf(const Mesh &mesh, const ShardingRule &rule,
                                                       const Assignment &assignment);

/// Whether a pending sum over `axis` may flow through the operation when the operands in `pending`
/// hold it; no factor may be cut by the axis.
bool mayPass(const ShardingRule &rule, llvm::ArrayRef<bool> pending);

} // namespace ptlc::sharding

#endif // PTLC_COMPILER_ANALYSIS_SHARDING_FACTORS_H
