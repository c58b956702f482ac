//===- Arrays.cpp - Samples from NumPy arrays -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each field has an array file, or several that follow each other; sample j is
// their row j. Elements are converted to the field's type while they are copied,
// where that loses nothing (float64 to float loses digits, as in PyTorch).
//===----------------------------------------------------------------------===//
#include "runtime/data/DataSource.h"
#include "runtime/data/Npy.h"

#include <cstring>
#include <fmt/ranges.h>

namespace ptlrt {

namespace {

struct ArrayFile {
  NpyFile file;
  int64_t firstSample;
};

class ArraySource : public DataSource {
public:
  explicit ArraySource(const DataSpec &spec) : spec(spec), files(spec.fields.size()) {}
  Status open();
  int64_t samples() const override { return total; }
  Status read(size_t field, int64_t sample, int64_t begin, int64_t count, void *to) const override;

private:
  Status openField(size_t index);
  Status readInts(const FieldSpec &field, const NpyFile &file, int64_t from, int64_t count,
                  int32_t *to) const;

  DataSpec spec;
  std::vector<std::vector<ArrayFile>> files; ///< per field
  int64_t total = 0;
};

} // namespace

/// Returns whether an array's elements can become a field's.
static bool converts(NpyType from, Element to) {
  bool isFloat = from == NpyType::F32 || from == NpyType::F64;
  if (to == Element::F32)
    return true;
  if (to == Element::Byte)
    return from == NpyType::Bool || from == NpyType::U8;
  return !isFloat;
}

Status ArraySource::openField(size_t index) {
  const TensorInfo &tensor = spec.fields[index].tensor;
  std::vector<int64_t> rowShape(tensor.shape.begin() + 1, tensor.shape.end());
  int64_t rows = 0;
  for (const std::string &path : spec.fields[index].files) {
    Expected<NpyFile> file = NpyFile::open(path);
    if (file.isError())
      return file.status();
    const std::vector<int64_t> shape = file->shape();
    if (shape.empty() || std::vector<int64_t>(shape.begin() + 1, shape.end()) != rowShape)
      return failure("'{}' is [{}], field '{}' needs [samples{}{}]", path, fmt::join(shape, ", "),
                     tensor.name, rowShape.empty() ? "" : ", ", fmt::join(rowShape, ", "));
    if (!converts(file->type(), tensor.element))
      return failure("'{}' holds {}, which field '{}' ({}) can't take", path,
                     npyTypeName(file->type()), tensor.name, elementName(tensor.element));
    files[index].push_back({std::move(*file), rows});
    rows += shape[0];
  }
  if (index > 0 && rows != total)
    return failure("field '{}' has {} samples, field '{}' has {}", tensor.name, rows,
                   spec.fields[0].tensor.name, total);
  total = rows;
  return Status::ok();
}

Status ArraySource::open() {
  for (size_t i = 0; i < files.size(); ++i)
    PTLRT_TRY(openField(i));
  return Status::ok();
}

template <typename From> static From loadAs(const uint8_t *data, int64_t index) {
  From value;
  std::memcpy(&value, data + index * sizeof(From), sizeof(From));
  return value;
}

/// Calls `body` with a value of the C++ type that `type` stands for.
template <typename Body> static auto withType(NpyType type, Body &&body) {
  switch (type) {
  case NpyType::F32:
    return body(float{});
  case NpyType::F64:
    return body(double{});
  case NpyType::I32:
    return body(int32_t{});
  case NpyType::I64:
    return body(int64_t{});
  case NpyType::U8:
  case NpyType::Bool:
    break;
  }
  return body(uint8_t{});
}

Status ArraySource::readInts(const FieldSpec &field, const NpyFile &file, int64_t from,
                             int64_t count, int32_t *to) const {
  int64_t least = field.limit > 0 ? 0 : INT32_MIN;
  int64_t most = field.limit > 0 ? field.limit - 1 : INT32_MAX;
  return withType(file.type(), [&](auto kind) -> Status {
    for (int64_t i = 0; i < count; ++i) {
      auto value = static_cast<int64_t>(loadAs<decltype(kind)>(file.data(), from + i));
      if ((value < least || value > most) && !(field.ignore && *field.ignore == value))
        return failure("'{}': {} at position {} is outside [{}, {}){}", file.path(), value,
                       from + i, least, most + 1,
                       field.limitName.empty() ? "" : ", the size of '" + field.limitName + "'");
      to[i] = static_cast<int32_t>(value);
    }
    return Status::ok();
  });
}

Status ArraySource::read(size_t index, int64_t sample, int64_t begin, int64_t count,
                         void *to) const {
  const FieldSpec &field = spec.fields[index];
  size_t which = files[index].size() - 1;
  while (files[index][which].firstSample > sample)
    --which;
  const ArrayFile &array = files[index][which];
  int64_t rowSize = field.tensor.elements() / field.tensor.shape[0];
  int64_t from = (sample - array.firstSample) * rowSize + begin;
  if (field.tensor.element == Element::I32)
    return readInts(field, array.file, from, count, static_cast<int32_t *>(to));
  const uint8_t *data = array.file.data();
  if (field.tensor.element == Element::Byte) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint8_t *>(to)[i] = data[from + i] != 0;
    return Status::ok();
  }
  if (array.file.type() == NpyType::F32) {
    std::memcpy(to, data + from * 4, count * 4);
    return Status::ok();
  }
  withType(array.file.type(), [&](auto kind) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<float *>(to)[i] = static_cast<float>(loadAs<decltype(kind)>(data, from + i));
  });
  return Status::ok();
}

Expected<std::unique_ptr<DataSource>> openArrays(const DataSpec &spec) {
  auto source = std::make_unique<ArraySource>(spec);
  PTLRT_TRY(source->open());
  return std::unique_ptr<DataSource>(std::move(source));
}

} // namespace ptlrt
