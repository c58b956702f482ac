//===- BatchLoader.cpp - A rank's part of a batch -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All sizes are worked out once; load() only copies.
//===----------------------------------------------------------------------===//
#include "runtime/data/BatchLoader.h"

#include <cstring>

namespace ptlrt {

BatchLoader::BatchLoader(const DataSpec &spec, const DataSource &source, const Mesh &mesh, int rank,
                         int64_t microbatches, const BatchOrder &order, const DataSpec &all)
    : source(source), order(order) {
  for (const FieldSpec &fieldSpec : spec.fields) {
    const TensorInfo &tensor = fieldSpec.tensor;
    Field field;
    while (all.fields[field.number].tensor.name != tensor.name)
      ++field.number;
    field.layout = tensor.layout;
    field.elementSize = elementSize(tensor.element);
    TensorInfo sample = tensor;
    sample.shape.erase(sample.shape.begin());
    std::vector<int> batchAxes;
    if (!sample.sharding.empty()) {
      batchAxes = sample.sharding[0];
      sample.sharding.erase(sample.sharding.begin());
    }
    field.sample = pieceOf(sample, mesh, rank);
    for (int d = 0; d < field.sample.rank; ++d) {
      field.sampleSize *= field.sample.local[d];
      field.padded |= field.sample.extent[d].valid != field.sample.local[d];
    }
    std::vector<int64_t> sizes{microbatches}, coordinates{0};
    for (int axis : batchAxes) {
      sizes.push_back(mesh.size(axis));
      coordinates.push_back(mesh.coordinate(rank, axis));
    }
    field.blockRows = pieceLength(tensor.shape[0], sizes);
    for (coordinates[0] = 0; coordinates[0] < microbatches; ++coordinates[0])
      field.blocks.push_back(pieceExtent(tensor.shape[0], sizes, coordinates));
    fields.push_back(std::move(field));
  }
}

void BatchLoader::clearRow(const Field &field, int64_t row, uint8_t *arena) {
  forEachPart(field.layout, field.elementSize, row * field.sampleSize, field.sampleSize,
              [&](int64_t offset, int64_t count) {
                std::memset(arena + offset, 0, count * field.elementSize);
              });
}

Status BatchLoader::loadRow(const Field &field, int64_t sample, int64_t row, uint8_t *arena) {
  if (field.padded)
    clearRow(field, row, arena);
  Status status;
  forEachRun(field.sample, [&](Run run) {
    int64_t from = run.global;
    forEachPart(field.layout, field.elementSize, row * field.sampleSize + run.local, run.count,
                [&](int64_t offset, int64_t count) {
                  if (status.isOk())
                    status = source.read(field.number, sample, from, count, arena + offset);
                  from += count;
                });
    return status.isOk();
  });
  return status;
}

Status BatchLoader::load(int64_t step, uint8_t *arena) {
  int64_t validSamples = order.valid(step);
  for (const Field &field : fields)
    for (size_t block = 0; block < field.blocks.size(); ++block) {
      Extent extent = field.blocks[block];
      for (int64_t r = 0; r < field.blockRows; ++r) {
        int64_t row = static_cast<int64_t>(block) * field.blockRows + r, global = extent.start + r;
        if (r < extent.valid && global < validSamples)
          PTLRT_TRY(loadRow(field, order.sample(step, global), row, arena));
        else
          clearRow(field, row, arena);
      }
    }
  return Status::ok();
}

} // namespace ptlrt
