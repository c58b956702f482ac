//===- Safetensors.h - Named tensors in a file ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The format of https://github.com/huggingface/safetensors: 8 bytes with the
// header's length, a JSON header, then the elements, row-major, little-endian.
// The reader trusts nothing: every offset is checked before it is used, tensors
// must neither overlap nor leave holes, and names occur once.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DATA_SAFETENSORS_H
#define PTLRT_DATA_SAFETENSORS_H

#include "runtime/core/Tensor.h"
#include "runtime/data/File.h"
#include <functional>

namespace ptlrt {

struct StoredTensor {
  std::string name;
  std::string type; ///< "F32", "BF16", …
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0; ///< bytes in the data section
};

class SafetensorsFile {
public:
  /// Maps `path` and checks its whole header.
  static Expected<SafetensorsFile> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  const std::vector<StoredTensor> &tensors() const { return list; }
  /// The tensor's entry, or null.
  const StoredTensor *find(const std::string &name) const;
  /// The bytes of the f32 elements of `name`, which must have `shape`; any alignment.
  Expected<const uint8_t *> floats(const std::string &name,
                                   const std::vector<int64_t> &shape) const;

private:
  explicit SafetensorsFile(MappedFile mapped) : file(std::move(mapped)) {}
  Status readHeader();
  Status checkCoverage() const;

  MappedFile file;
  std::vector<StoredTensor> list;
  size_t dataStart = 0;
};

/// One f32 tensor to write. `read` copies elements [begin, begin + count) to its last argument.
struct TensorSource {
  std::string name;
  std::vector<int64_t> shape;
  std::function<Status(int64_t begin, int64_t count, float *to)> read;
};

/// Writes all of `tensors` to `path`, aside first. On an error nothing at `path` changes.
Status writeSafetensors(const std::string &path, std::span<const TensorSource> tensors);

} // namespace ptlrt

#endif // PTLRT_DATA_SAFETENSORS_H
