//===- Candidates.h - Ways to divide one operation --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_CANDIDATES_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_CANDIDATES_H

#include "compiler/Analysis/Sharding/Factors.h"

namespace ptlc::shard {

/// What is known of an operation's tensors when its assignment is chosen.
struct Situation {
  const ShardingRule &rule;
  llvm::SmallVector<sharding::Sharding> wantedOperands, wantedResults; ///< by propagation
  llvm::SmallVector<sharding::Sharding> actualOperands;                ///< as they were produced
};

/// Returns the assignments worth costing: each tensor in turn (results first) has the first word
/// and the others fill in; and each again without the axes that are pending on an operand, so that
/// a pending sum may flow through.
llvm::SmallVector<sharding::Assignment> candidates(const sharding::Mesh &mesh,
                                                   const Situation &situation);

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_CANDIDATES_H
