//===- WeightStore.h - Weights between files and arenas -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Files hold logical tensors whatever the mesh, so a file written by one mesh is
// read by any other.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_WEIGHTSTORE_H
#define PTLRT_EXEC_WEIGHTSTORE_H

#include "runtime/comm/Communicator.h"
#include "runtime/data/Safetensors.h"
#include "runtime/exec/ProgramInfo.h"

namespace ptlrt {

/// Where one tensor's values come from. `layout` may be the weight's own or a state's.
struct TensorOrigin {
  const TensorInfo *tensor = nullptr;
  Layout layout;
  const uint8_t *fileData = nullptr; ///< f32 elements of a file; null: `initial`
  Initial initial;
};

/// Writes the rank's piece of a tensor; padding is left alone. Uses the rank's threads and seed.
void fillPiece(const TensorOrigin &origin, const Mesh &mesh, ptlrt_rank &rank, uint8_t *arena);

/// Reads the whole tensor out of all ranks' arenas, each element from the first rank that has it.
/// Reading is a Communicator::fetch. `comm` must outlive the result.
TensorSource sourceOf(const std::string &name, const TensorInfo &tensor, const Layout &layout,
                      const Mesh &mesh, Communicator &comm);

/// All weights, for a file; all states ("path#m"); all gradients.
std::vector<TensorSource> weightSources(const ProgramInfo &info, Communicator &comm);
std::vector<TensorSource> stateSources(const ProgramInfo &info, Communicator &comm);
std::vector<TensorSource> gradientSources(const ProgramInfo &info, Communicator &comm);

/// Finds the data of the tensors `origins`, named by `names`, in `file`. Each must be there with
/// its shape, and `file` must hold nothing else.
Status findAll(const SafetensorsFile &file, std::span<const std::string> names,
               std::span<TensorOrigin *const> origins);

} // namespace ptlrt

#endif // PTLRT_EXEC_WEIGHTSTORE_H
