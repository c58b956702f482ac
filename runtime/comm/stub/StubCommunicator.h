//===- StubCommunicator.h - A back end that only counts -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One rank of a large mesh, alone: collectives leave the data as they are and
// count what this rank would receive. For planning and tests of volume.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_STUB_STUBCOMMUNICATOR_H
#define PTLRT_COMM_STUB_STUBCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

namespace ptlrt {

class StubCommunicator : public Communicator {
public:
  StubCommunicator(const Mesh &mesh, std::span<const Collective> collectives, int rank)
      : mesh(mesh), collectives(collectives), self(rank), counters(collectives.size()) {}

  int rank() const override { return self; }
  int ranks() const override { return mesh.ranks(); }
  Status run(int index) override;
  Status start(int) override { return Status::ok(); }
  Status wait(int index) override { return run(index); }
  void progress() override {}
  Status post(int, int64_t) override { return Status::ok(); }
  Status finish(int, int64_t) override { return Status::ok(); }
  Status barrier() override { return isAborted ? failure("aborted") : Status::ok(); }
  Expected<int64_t> agree(int64_t value) override { return value; }
  Status fetch(int from, int64_t, int64_t, void *) override {
    return failure("rank {} has no memory: this communicator only counts", from);
  }
  void abort() override { isAborted = true; }
  std::span<const Traffic> traffic() const override { return counters; }

private:
  const Mesh &mesh;
  std::span<const Collective> collectives;
  int self;
  bool isAborted = false;
  std::vector<Traffic> counters;
};

} // namespace ptlrt

#endif // PTLRT_COMM_STUB_STUBCOMMUNICATOR_H
