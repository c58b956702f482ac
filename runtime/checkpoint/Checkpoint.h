//===- Checkpoint.h - The state of a run on disk --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One folder per checkpoint, `step-000200`: weights.safetensors, state.safetensors
// (the optimizers' states, "path#m") and run.json. The number is that of the next
// step. A folder is written under another name and renamed when all of it is on
// the disk, so one that is there is whole.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CHECKPOINT_CHECKPOINT_H
#define PTLRT_CHECKPOINT_CHECKPOINT_H

#include "runtime/data/Safetensors.h"

namespace ptlrt {

/// What run.json says.
struct RunState {
  int64_t step = 0; ///< the next one
  uint64_t seed = 0;
  int64_t batch = 0;
  int64_t dataSamples = 0; ///< of the training data, 0 if unknown
  std::string model, mesh;
};

/// An open checkpoint.
struct Checkpoint {
  std::string folder;
  RunState run;
  SafetensorsFile weights, states;
};

/// Writes `folder`/step-NNNNNN, then removes all but the `keep` newest (0: none is removed).
/// Returns the new folder's path. On an error the older checkpoints are as they were.
Expected<std::string> writeCheckpoint(const std::string &folder, const RunState &run,
                                      std::span<const TensorSource> weights,
                                      std::span<const TensorSource> states, int64_t keep);

/// Opens the checkpoint `path`, or the newest one in the folder `path`.
Expected<Checkpoint> openCheckpoint(const std::string &path);

} // namespace ptlrt

#endif // PTLRT_CHECKPOINT_CHECKPOINT_H
