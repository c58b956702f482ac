//===- LocalRanks.h - Threads as ranks, for tests -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a piece of code on every rank of a mesh.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_UNIT_RUNTIME_COMM_LOCALRANKS_H
#define PTLC_TEST_UNIT_RUNTIME_COMM_LOCALRANKS_H

#include "runtime/comm/local/LocalWorld.h"
#include <random>
#include <thread>

namespace ptlrt::test {

using Floats = std::vector<float>;

/// Runs `body(communicator)` on a thread per rank.
template <typename Body>
void onRanks(const Mesh &mesh, std::span<const Collective> collectives, std::vector<Floats> &arenas,
             Body &&body, int64_t timeoutMs = 60'000) {
  LocalWorld world(mesh, collectives, {50, 50, timeoutMs});
  std::vector<std::unique_ptr<Communicator>> ends;
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    ends.push_back(
        std::move(*world.connect(rank, reinterpret_cast<uint8_t *>(arenas[rank].data()))));
  std::vector<std::thread> threads;
  for (auto &end : ends)
    threads.emplace_back([&body, &end] { body(*end); });
  for (std::thread &thread : threads)
    thread.join();
}

inline std::vector<Floats> randomFloats(int ranks, int64_t size) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<Floats> arenas(ranks, Floats(size));
  for (Floats &arena : arenas)
    for (float &value : arena)
      value = normal(random);
  return arenas;
}

} // namespace ptlrt::test

#endif // PTLC_TEST_UNIT_RUNTIME_COMM_LOCALRANKS_H
