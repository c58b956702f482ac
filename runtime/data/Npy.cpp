//===- Npy.cpp - Arrays in NumPy's format ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The header is a Python dictionary that NumPy always writes in one form
// ({'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }); a small scanner
// looks up its three keys.
//===----------------------------------------------------------------------===//
#include "runtime/data/Npy.h"

#include "runtime/core/Number.h"
#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

namespace ptlrt {

const char *npyTypeName(NpyType type) {
  switch (type) {
  case NpyType::F32:
    return "float32";
  case NpyType::F64:
    return "float64";
  case NpyType::I32:
    return "int32";
  case NpyType::I64:
    return "int64";
  case NpyType::U8:
    return "uint8";
  case NpyType::Bool:
    return "bool";
  }
  return "";
}

int64_t npyTypeSize(NpyType type) {
  switch (type) {
  case NpyType::F32:
  case NpyType::I32:
    return 4;
  case NpyType::F64:
  case NpyType::I64:
    return 8;
  case NpyType::U8:
  case NpyType::Bool:
    return 1;
  }
  return 0;
}

/// The text after `'key':` up to its end: a quoted string's inside, a tuple's inside, or a word.
static std::optional<std::string_view> lookUp(std::string_view header, std::string_view key) {
  size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (rest.empty())
    return std::nullopt;
  const char closing = rest[0] == '\'' ? '\'' : rest[0] == '(' ? ')' : ',';
  size_t from = closing == ',' ? 0 : 1;
  size_t to = rest.find(closing, from);
  if (to == std::string_view::npos)
    return std::nullopt;
  return rest.substr(from, to - from);
}

Status NpyFile::readType(std::string_view descr) {
  static constexpr std::pair<std::string_view, NpyType> kTypes[] = {
      {"<f4", NpyType::F32}, {"<f8", NpyType::F64}, {"<i4", NpyType::I32},
      {"<i8", NpyType::I64}, {"|u1", NpyType::U8},  {"|b1", NpyType::Bool}};
  for (auto [text, type] : kTypes)
    if (text == descr) {
      kind = type;
      return Status::ok();
    }
  return failure("its elements have the type '{}'; float32, float64, int32, int64, uint8 and bool, "
                 "little-endian, can be read",
                 descr);
}

/// Reads "3, 4" or "3,".
static std::optional<std::vector<int64_t>> parseShape(std::string_view text) {
  std::vector<int64_t> shape;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (part.empty())
      continue;
    std::optional<int64_t> size = parseInteger(part);
    if (!size || *size < 0)
      return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

Status NpyFile::readHeader() {
  std::span<const uint8_t> bytes = file.bytes();
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    return failure("it isn't a NumPy array file");
  size_t lengthSize = bytes[6] == 1 ? 2 : 4;
  if (bytes[6] < 1 || bytes[6] > 3 || bytes.size() < 8 + lengthSize)
    return failure("its format version is {}.{}, versions 1 to 3 can be read", bytes[6], bytes[7]);
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, lengthSize);
  start = 8 + lengthSize + length;
  if (start > bytes.size())
    return failure("its header should be {} bytes long; the file is truncated", length);
  std::string_view header(reinterpret_cast<const char *>(bytes.data()) + 8 + lengthSize, length);
  auto descr = lookUp(header, "descr"), order = lookUp(header, "fortran_order"),
       shape = lookUp(header, "shape");
  if (!descr || !order || !shape)
    return failure("its header has no descr, fortran_order and shape");
  PTLRT_TRY(readType(*descr));
  if (*order != "False")
    return failure("it is in Fortran order; save it with numpy.ascontiguousarray");
  std::optional<std::vector<int64_t>> parsed = parseShape(*shape);
  if (!parsed)
    return failure("its shape ({}) isn't a list of sizes", *shape);
  dims = *parsed;
  std::optional<int64_t> size = npyTypeSize(kind);
  for (int64_t dim : dims)
    if (size)
      size = multiply(*size, dim);
  if (!size || static_cast<uint64_t>(*size) > bytes.size() - start)
    return failure("{} [{}] doesn't fit into its {} bytes of data; is it truncated?",
                   npyTypeName(kind), fmt::join(dims, ", "), bytes.size() - start);
  return Status::ok();
}

Expected<NpyFile> NpyFile::open(const std::string &path) {
  Expected<MappedFile> mapped = MappedFile::open(path);
  if (mapped.isError())
    return mapped.status();
  NpyFile result(std::move(*mapped));
  if (Status status = result.readHeader(); status.isError())
    return failure("can't read '{}': {}", path, status.message());
  return result;
}

} // namespace ptlrt
