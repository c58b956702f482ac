//===- LocalWorld.h - Ranks as threads of one process ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All arenas are in one address space, so a collective needs no messages: after
// a barrier each rank combines its slice straight from the others' memory and
// writes the result to all of them; a second barrier ends it. That moves every
// byte once in and once out, which is the limit of the memory.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_LOCAL_LOCALWORLD_H
#define PTLRT_COMM_LOCAL_LOCALWORLD_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/local/Channel.h"
#include "runtime/comm/local/Rendezvous.h"
#include <map>
#include <memory>

namespace ptlrt {

class LocalCommunicator;

/// What the ranks of one process share.
class LocalWorld : public World {
public:
  /// `mesh` and what `ranks` lists must outlive the world.
  LocalWorld(const Mesh &mesh, std::vector<RankComm> ranks, const WaitPolicy &policy);
  /// All ranks have these collectives, and send no messages.
  LocalWorld(const Mesh &mesh, std::span<const Collective> collectives, const WaitPolicy &policy)
      : LocalWorld(mesh, std::vector<RankComm>(mesh.ranks(), {collectives, {}}), policy) {}
  ~LocalWorld() override;

  Expected<std::unique_ptr<Communicator>> connect(int rank, uint8_t *arena) override;
  void abort() { aborted.store(true, std::memory_order_relaxed); }
  bool isAborted() const { return aborted.load(std::memory_order_relaxed); }

private:
  friend class LocalCommunicator;

  const Mesh &mesh;
  std::vector<RankComm> comms; ///< of each rank
  WaitPolicy policy;
  std::atomic<bool> aborted{false};
  Barrier everyone;
  std::vector<uint8_t *> arenas;
  /// The barrier of each set of ranks, ascending, that shares a collective.
  std::map<std::vector<int>, std::unique_ptr<Barrier>> barriers;
  /// The same for collectives that are started and waited for.
  std::map<std::vector<int>, std::unique_ptr<Rendezvous>> meetings;
  /// The collective that each rank is in, or -1: for messages, and to find ranks that disagree.
  std::unique_ptr<std::atomic<int>[]> current;
  std::atomic<int64_t> agreed[2] = {};
  std::map<std::pair<int, int>, std::unique_ptr<Channel>> channels; ///< from, to
};

} // namespace ptlrt

#endif // PTLRT_COMM_LOCAL_LOCALWORLD_H
