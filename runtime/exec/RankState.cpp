//===- RankState.cpp - What the runtime knows while a rank's code runs ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Generated code is plain C without unwind tables, so an error inside of it can't
// travel as an exception: the way out is longjmp.
//===----------------------------------------------------------------------===//
#include "runtime/exec/RankState.h"

namespace ptlrt {

void initializeRank(RankState &state, const Mesh &mesh, int rank, uint64_t seed) {
  state.rank.rank = rank;
  state.rank.ranks = mesh.ranks();
  for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis)
    state.rank.coords[axis] = static_cast<int32_t>(mesh.coordinate(rank, axis));
  state.rank.seed = seed;
  state.rank.runtime = static_cast<RankContext *>(&state);
}

RankState &stateOf(ptlrt_rank *rank) {
  return *static_cast<RankState *>(static_cast<RankContext *>(rank->runtime));
}

Status RankState::call(ptlrt_stage_fn function, int64_t micro) {
  if (setjmp(exit) != 0)
    return std::exchange(error, Status::ok());
  function(&rank, memory(), micro);
  return Status::ok();
}

void RankState::leave() { std::longjmp(exit, 1); }

} // namespace ptlrt
