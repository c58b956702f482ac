//===- MpiWorld.h - Ranks as processes ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Collectives by messages over libptlrt_mpi.so, in chunks of at most 1 MiB, so no
// count comes near 2^31. An all-reduce gives each rank a share of the elements:
// the others send theirs, it sums them in ascending order of ranks as the local
// back end does (MPI_SUM promises no order), and sends the result back; while one
// chunk is summed the next one is on its way. A message's tag is the collective's
// number, so ranks that disagree are found without asking.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MPI_MPIWORLD_H
#define PTLRT_COMM_MPI_MPIWORLD_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/mpi/Processes.h"

namespace ptlrt {

class MpiWorld : public World {
public:
  /// One rank of `mesh` per process. Everything named must outlive the world.
  MpiWorld(Processes &processes, const Mesh &mesh, std::vector<RankComm> comms)
      : processes(processes), mesh(mesh), comms(std::move(comms)) {}
  /// Only for this process's own rank; all processes call it.
  Expected<std::unique_ptr<Communicator>> connect(int rank, uint8_t *arena) override;

private:
  Processes &processes;
  const Mesh &mesh;
  std::vector<RankComm> comms; ///< of each rank
};

} // namespace ptlrt

#endif // PTLRT_COMM_MPI_MPIWORLD_H
