//===- Communicator.h - One rank's connection to the others ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The interface of all back ends. Ranks of a group call the same collectives in
// the same order, and start those that they wait for later in the same order. Sums are taken in the
// order of Collective::foldSizes, so results are the same bits on every back end. A rank that fails
// calls abort(); then every call of every rank returns an error, soon.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_COMMUNICATOR_H
#define PTLRT_COMM_COMMUNICATOR_H

#include "runtime/comm/Collective.h"
#include "runtime/comm/Message.h"
#include <memory>
#include <span>

namespace ptlrt {

class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Runs collective `index` of the list that the communicator was made for.
  virtual Status run(int index) = 0;
  /// Begins collective `index`, which must be `overlaps`, and doesn't wait. Until wait() returns
  /// its memory belongs to it. Others may be run, started and waited for in between, in any order.
  virtual Status start(int index) = 0;
  /// Finishes a collective that was started: the same bits and traffic as by run().
  virtual Status wait(int index) = 0;
  /// Lets what was started go on; called now and then between start() and wait(). An error is
  /// wait()'s.
  virtual void progress() = 0;
  /// Begins the next message of port `port`, from or to slot `slot`. Doesn't wait.
  virtual Status post(int port, int64_t slot) = 0;
  /// Waits until message `number` of this step through `port` has left or arrived.
  virtual Status finish(int port, int64_t number) = 0;
  /// Waits for all ranks of the mesh.
  virtual Status barrier() = 0;
  /// Rank 0 gives `value` to all.
  virtual Expected<int64_t> agree(int64_t value) = 0;
  /// Copies `bytes` at `offset` of the arena of rank `from` to `to`, in one call of any length.
  /// Only between two barriers, by as many ranks as like to; the others wait in the second one.
  virtual Status fetch(int from, int64_t offset, int64_t bytes, void *to) = 0;
  /// Ends the job for all ranks.
  virtual void abort() = 0;
  /// Per collective, what this rank moved.
  virtual std::span<const Traffic> traffic() const = 0;
};

/// What one rank of a job does with others; each list outlives the world.
struct RankComm {
  std::span<const Collective> collectives;
  std::span<const Port> ports;
};

/// What connects the ranks of a job.
class World {
public:
  virtual ~World() = default;
  /// Makes the communicator of `rank`, whose memory is at `arena`. All that this process has must
  /// be made before any is used. The world outlives them.
  virtual Expected<std::unique_ptr<Communicator>> connect(int rank, uint8_t *arena) = 0;
};

} // namespace ptlrt

#endif // PTLRT_COMM_COMMUNICATOR_H
