//===- Sampling.h - Text from a trained model -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `./model sample --prompt …`: runs the program's logits on the last `seq` ids and
// appends one id at a time.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_SAMPLING_H
#define PTLRT_EXEC_SAMPLING_H

#include "runtime/exec/Job.h"
#include "runtime/memory/Philox.h"

namespace ptlrt {

/// Prints the prompt and what follows it. The result is the exit status.
Expected<int> runSampling(Job &job);

/// Draws an id: the largest logit if `temperature` is 0, else from the softmax of
/// logits / temperature over the `topK` largest (0: all). `u` is in [0, 1).
size_t drawToken(std::span<const float> logits, double temperature, int64_t topK, double u);

} // namespace ptlrt

#endif // PTLRT_EXEC_SAMPLING_H
