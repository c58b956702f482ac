//===- BatchLoader.h - A rank's part of a batch ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Copies the samples of one step into the buffers of one rank: micro-batches cut
// the batch first, then the mesh axes of each field's sharding. Rows that no
// sample fills are zero. Loading doesn't allocate.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DATA_BATCHLOADER_H
#define PTLRT_DATA_BATCHLOADER_H

#include "runtime/data/DataSource.h"

namespace ptlrt {

class BatchLoader {
public:
  /// `source` must outlive the loader. It has the fields of `all`, of which `spec` may have some.
  BatchLoader(const DataSpec &spec, const DataSource &source, const Mesh &mesh, int rank,
              int64_t microbatches, const BatchOrder &order, const DataSpec &all);
  BatchLoader(const DataSpec &spec, const DataSource &source, const Mesh &mesh, int rank,
              int64_t microbatches, const BatchOrder &order)
      : BatchLoader(spec, source, mesh, rank, microbatches, order, spec) {}

  int64_t valid(int64_t step) const { return order.valid(step); }
  /// Fills all fields in `arena` for `step`.
  Status load(int64_t step, uint8_t *arena);

private:
  struct Field {
    size_t number = 0; ///< of the source
    Layout layout;
    int64_t elementSize = 4;
    Piece sample;               ///< the rank's piece of one sample: dimensions after the batch
    int64_t sampleSize = 1;     ///< elements of that piece, padded
    bool padded = false;        ///< a sample's piece has padding
    std::vector<Extent> blocks; ///< rows of the global batch per micro-batch
    int64_t blockRows = 0;
  };
  Status loadRow(const Field &field, int64_t sample, int64_t row, uint8_t *arena);
  void clearRow(const Field &field, int64_t row, uint8_t *arena);

  const DataSource &source;
  BatchOrder order;
  std::vector<Field> fields;
};

} // namespace ptlrt

#endif // PTLRT_DATA_BATCHLOADER_H
