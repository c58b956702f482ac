//===- DataSpec.h - What a program reads ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The `data` directive of a program, as the compiler describes it, and the order
// in which batches take samples: a function of the step alone, so it is the same
// on every mesh and after a resume.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DATA_DATASPEC_H
#define PTLRT_DATA_DATASPEC_H

#include "runtime/core/Tensor.h"
#include "runtime/data/Permutation.h"
#include <optional>

namespace ptlrt {

enum class DataKind : uint8_t { Tokens, Text, Npy };
/// What happens to the samples that don't fill a batch.
enum class Tail : uint8_t { Drop, Short, Wrap };

/// One parameter of the loss, read along its first dimension.
struct FieldSpec {
  TensorInfo tensor;              ///< shape: the global batch; layout: the rank's whole buffer
  std::vector<std::string> files; ///< npy
  int64_t limit = 0;              ///< ids lie in [0, limit); 0: anything
  std::string limitName;          ///< the dimension that ids index, may be empty
  std::optional<int64_t> ignore;  ///< an id outside that is allowed
};

struct DataSpec {
  DataKind kind = DataKind::Tokens;
  std::vector<std::string> files; ///< tokens, text
  bool shuffle = false;
  Tail tail = Tail::Drop;
  std::string line; ///< where it is written, "model.ptl:40:3"
  std::vector<FieldSpec> fields;
};

/// Which sample row `row` of the global batch of a step is.
class BatchOrder {
public:
  BatchOrder(int64_t samples, int64_t batch, Tail tail, bool shuffle, uint64_t seed);

  /// Batches that one pass over the data gives; 0: the data has too few samples. (wrap: at least 1)
  int64_t batchesPerPass() const { return batches; }
  /// Samples of the batch of `step` that are there; the rest is padding.
  int64_t valid(int64_t step) const;
  /// Samples that each pass leaves out.
  int64_t leftOut() const;
  /// The sample at `row`, below valid(step). Remembers the pass it was asked for last.
  int64_t sample(int64_t step, int64_t row);

private:
  int64_t samples, batch, batches;
  Tail tail;
  bool shuffle;
  uint64_t seed;
  int64_t currentPass = -1;
  Permutation permutation;
};

} // namespace ptlrt

#endif // PTLRT_DATA_DATASPEC_H
