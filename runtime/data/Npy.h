//===- Npy.h - Arrays in NumPy's format -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Versions 1.0, 2.0 and 3.0, little-endian f4 f8 i4 i8 u1 b1, C order; see
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DATA_NPY_H
#define PTLRT_DATA_NPY_H

#include "runtime/data/File.h"

namespace ptlrt {

enum class NpyType : uint8_t { F32, F64, I32, I64, U8, Bool };
const char *npyTypeName(NpyType type);
int64_t npyTypeSize(NpyType type);

class NpyFile {
public:
  /// Maps `path` and checks its header against its size.
  static Expected<NpyFile> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  NpyType type() const { return kind; }
  const std::vector<int64_t> &shape() const { return dims; }
  const uint8_t *data() const { return file.bytes().data() + start; }

private:
  explicit NpyFile(MappedFile mapped) : file(std::move(mapped)) {}
  Status readHeader();
  Status readType(std::string_view descr);

  MappedFile file;
  NpyType kind = NpyType::F32;
  std::vector<int64_t> dims;
  size_t start = 0;
};

} // namespace ptlrt

#endif // PTLRT_DATA_NPY_H
