//===- Comparison.h - Where two runs' numbers differ ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Replicas must agree in every bit. Runs on different meshes add in different
// orders, so there the largest difference is measured, relative to the tensor's
// largest value.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_COMPARISON_H
#define PTLRT_EXEC_COMPARISON_H

#include "runtime/exec/WeightStore.h"

namespace ptlrt {

/// One element, and what each side has.
struct Difference {
  int64_t element; ///< of the logical tensor
  float first, second;
};

/// "[3, 2]": an element's place in a tensor.
std::string indexOf(int64_t element, std::span<const int64_t> shape);

/// The first element of `rank`'s piece, of f32 or bf16, whose bits differ. `first` and `second`
/// point at the pieces of two ranks that hold the same: what heldBytes() says.
std::optional<Difference> compareReplicas(const TensorInfo &tensor, const Storage &storage,
                                          const Mesh &mesh, int rank, const uint8_t *first,
                                          const uint8_t *second);

struct Distance {
  double largest = 0;    ///< value of the second tensor
  double difference = 0; ///< the largest; infinite where only one side is finite
};
/// Both tensors have the same shape.
Expected<Distance> measureDistance(const TensorSource &first, const TensorSource &second);
/// The first element whose values differ by more than `limit`.
Expected<std::optional<Difference>> findBeyond(const TensorSource &first,
                                               const TensorSource &second, double limit);

} // namespace ptlrt

#endif // PTLRT_EXEC_COMPARISON_H
