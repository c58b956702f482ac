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

/// Where one tensor's values come from. `storage` may be the weight's own or a state's.
struct TensorOrigin {
  const TensorInfo *tensor = nullptr;
  Storage storage;
  const uint8_t *fileData = nullptr; ///< f32 elements of a file; null: `initial`
  Initial initial;
};

/// Writes the rank's piece of a tensor; padding is left alone. Uses the rank's threads and seed.
void fillPiece(const TensorOrigin &origin, const Mesh &mesh, ptlrt_rank &rank, uint8_t *arena);

/// A rank that holds a piece of a tensor, and where.
struct Holder {
  int rank = 0;
  Storage storage;
};
/// Which of a weight's tensors: itself, its gradient, or one of its states.
struct TensorPart {
  enum class Kind : uint8_t { Weight, Gradient, State } kind = Kind::Weight;
  size_t state = 0;
};
/// Where that part of the weight lies, or nothing if it has none.
std::optional<Storage> storageOf(const WeightInfo &weight, TensorPart part);
/// The ranks that hold the weight `path`, ascending; none if there is no such part.
std::vector<Holder> holdersOf(const ProgramSet &programs, const std::string &path, TensorPart part);
/// Of `holders`, the number of the first that holds the same elements as the rank `rank`.
size_t firstHolder(std::span<const Holder> holders, const TensorInfo &tensor, const Mesh &mesh,
                   int rank);

/// Reads the whole tensor, of f32 or bf16, as f32 out of the holders' arenas, each element from the
/// first rank that has it.
/// Reading is a Communicator::fetch. `comm` must outlive the result.
TensorSource sourceOf(const std::string &name, const TensorInfo &tensor,
                      std::span<const Holder> holders, const Mesh &mesh, Communicator &comm);
/// All ranks hold a piece at the same place.
TensorSource sourceOf(const std::string &name, const TensorInfo &tensor, const Layout &layout,
                      const Mesh &mesh, Communicator &comm);

/// All weights, for a file; all states ("path#m"); all gradients.
std::vector<TensorSource> weightSources(const ProgramSet &programs, Communicator &comm);
std::vector<TensorSource> stateSources(const ProgramSet &programs, Communicator &comm);
std::vector<TensorSource> gradientSources(const ProgramSet &programs, Communicator &comm);

/// Finds the data of the tensors `origins`, named by `names`, in `file`. Each must be there with
/// its shape, and `file` must hold nothing else.
Status findAll(const SafetensorsFile &file, std::span<const std::string> names,
               std::span<TensorOrigin *const> origins);

} // namespace ptlrt

#endif // PTLRT_EXEC_WEIGHTSTORE_H
