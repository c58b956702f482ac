//===- Abi.cpp - What generated code calls: collectives -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/exec/RankState.h"

namespace ptlrt {

/// Runs, starts or waits for a collective; false after an error, which is then in the state.
static bool runCollective(RankState &state, Status (Communicator::*part)(int), TraceKind kind,
                          int32_t index) {
  int64_t begin = state.trace.now();
  Status status = (state.comm.get()->*part)(index);
  state.trace.add(kind, index, begin);
  if (status.isOk())
    return true;
  state.error = std::move(status);
  return false;
}

/// Sends and receives; false after an error, which is then in the state.
static bool runExchange(RankState &state, const ExchangePorts &ports) {
  Status status;
  for (int port : {ports.send, ports.receive})
    if (port >= 0 && status.isOk())
      status = state.comm->post(port, 0);
  for (int port : {ports.receive, ports.send})
    if (port >= 0 && status.isOk())
      status = state.comm->finish(port, 0);
  if (status.isOk())
    return true;
  state.error = std::move(status);
  return false;
}

} // namespace ptlrt

using namespace ptlrt;

extern "C" void ptlrt_collective(ptlrt_rank *rank, void *, int32_t index) {
  RankState &state = stateOf(rank);
  if (!runCollective(state, &Communicator::run, TraceKind::Collective, index))
    state.leave();
}

extern "C" void ptlrt_collective_start(ptlrt_rank *rank, void *, int32_t index) {
  RankState &state = stateOf(rank);
  if (!runCollective(state, &Communicator::start, TraceKind::Start, index))
    state.leave();
}

extern "C" void ptlrt_collective_wait(ptlrt_rank *rank, void *, int32_t index) {
  RankState &state = stateOf(rank);
  if (!runCollective(state, &Communicator::wait, TraceKind::Wait, index))
    state.leave();
}

extern "C" void ptlrt_collective_progress(ptlrt_rank *rank) { stateOf(rank).comm->progress(); }

extern "C" void ptlrt_exchange(ptlrt_rank *rank, void *, int32_t index) {
  RankState &state = stateOf(rank);
  if (!runExchange(state, state.play->exchange(index)))
    state.leave();
}
