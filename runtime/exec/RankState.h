//===- RankState.h - What the runtime knows while a rank's code runs ------===//
// SPDX-License-Identifier: Apache-2.0
//
// `ptlrt_rank::runtime` points at one of these, so that the functions generated
// code calls find their communicator, trace and device.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_RANKSTATE_H
#define PTLRT_EXEC_RANKSTATE_H

#include "ptlrt/ptlrt.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Play.h"
#include "runtime/memory/Arena.h"
#include "runtime/metrics/Trace.h"
#include <csetjmp>
#include <memory>

namespace ptlrt {

struct RankState : RankContext {
  ptlrt_rank rank{};
  std::optional<Arena> arena;
  std::unique_ptr<Communicator> comm;
  const Play *play = nullptr; ///< what it does in a step
  RankTrace trace;

  uint8_t *memory() const { return arena->data(); }
  float &floatAt(int64_t offset) const { return *reinterpret_cast<float *>(memory() + offset); }

  /// Calls a stage function. What fails inside of it (a collective) ends it and is returned.
  Status call(ptlrt_stage_fn function, int64_t micro);
  /// Ends the stage function that is running. Only from the rank's own thread, and with no object
  /// on the stack that has a destructor: generated code has none, and isn't unwound.
  [[noreturn]] void leave();

  Status error; ///< why leave() was called
  std::jmp_buf exit;
};

/// Sets a rank's number, coordinates and back pointer.
void initializeRank(RankState &state, const Mesh &mesh, int rank, uint64_t seed);
RankState &stateOf(ptlrt_rank *rank);

} // namespace ptlrt

#endif // PTLRT_EXEC_RANKSTATE_H
