//===- Safetensors.cpp - Named tensors in a file --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reading: header, then each entry by itself, then all together (they must cover
// the data section exactly). Writing: tensors in the order given, 8-aligned.
//===----------------------------------------------------------------------===//
#include "runtime/data/Safetensors.h"

#include "runtime/core/Number.h"
#include <cstring>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace ptlrt {

using nlohmann::json;

static constexpr uint64_t kMaxHeader = 100'000'000; // the format's own limit

static int64_t typeSize(const std::string &type) {
  if (type == "F64" || type == "I64" || type == "U64")
    return 8;
  if (type == "F32" || type == "I32" || type == "U32")
    return 4;
  if (type == "F16" || type == "BF16" || type == "I16" || type == "U16")
    return 2;
  if (type == "BOOL" || type == "U8" || type == "I8" || type == "F8_E4M3" || type == "F8_E5M2")
    return 1;
  return 0;
}

/// Parses `text` as JSON whose objects have no name twice (the parser would keep the last).
static Expected<json> parseHeader(std::string_view text) {
  std::vector<std::unordered_set<std::string>> names;
  std::string twice;
  auto watch = [&](int, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::object_start)
      names.emplace_back();
    else if (event == json::parse_event_t::object_end)
      names.pop_back();
    else if (event == json::parse_event_t::key && !names.back().insert(parsed).second)
      twice = parsed.get<std::string>();
    return true;
  };
  json header = json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object())
    return failure("its header isn't a JSON object");
  if (!twice.empty())
    return failure("its header names '{}' twice", twice);
  return header;
}

static Expected<StoredTensor> parseEntry(const std::string &name, const json &entry) {
  auto broken = [&](const char *what) {
    return failure("tensor '{}' has no valid {}", name, what);
  };
  StoredTensor tensor;
  tensor.name = name;
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string())
    return broken("dtype");
  tensor.type = entry["dtype"];
  if (!entry.contains("shape") || !entry["shape"].is_array())
    return broken("shape");
  for (const json &size : entry["shape"]) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX)
      return broken("shape");
    tensor.shape.push_back(size.get<int64_t>());
  }
  const json offsets = entry.value("data_offsets", json());
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return broken("data_offsets");
  tensor.begin = offsets[0];
  tensor.end = offsets[1];
  return tensor;
}

/// Checks an entry against the size of the data section.
static Status checkEntry(const StoredTensor &tensor, uint64_t dataSize) {
  std::optional<int64_t> bytes = typeSize(tensor.type);
  if (*bytes == 0)
    return failure("tensor '{}' has the unknown type '{}'", tensor.name, tensor.type);
  for (int64_t size : tensor.shape)
    if (bytes)
      bytes = multiply(*bytes, size);
  if (!bytes || tensor.end < tensor.begin ||
      tensor.end - tensor.begin != static_cast<uint64_t>(*bytes))
    return failure("tensor '{}' is {} [{}], but has the bytes {} to {}", tensor.name, tensor.type,
                   fmt::join(tensor.shape, ", "), tensor.begin, tensor.end);
  if (tensor.end > dataSize)
    return failure("tensor '{}' ends at byte {}, the file has {} bytes of data; is it truncated?",
                   tensor.name, tensor.end, dataSize);
  return Status::ok();
}

Status SafetensorsFile::readHeader() {
  std::span<const uint8_t> bytes = file.bytes();
  if (bytes.size() < 8)
    return failure("it is {} bytes long, too short for a safetensors file", bytes.size());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  if (length > kMaxHeader || length > bytes.size() - 8)
    return failure("its header should be {} bytes long, the file has {}; is it truncated, or not a "
                   "safetensors file?",
                   length, bytes.size() - 8);
  dataStart = 8 + length;
  Expected<json> header =
      parseHeader({reinterpret_cast<const char *>(bytes.data()) + 8, static_cast<size_t>(length)});
  if (header.isError())
    return header.status();
  for (const auto &[name, entry] : header->items()) {
    if (name == "__metadata__")
      continue;
    Expected<StoredTensor> tensor = parseEntry(name, entry);
    if (tensor.isError())
      return tensor.status();
    PTLRT_TRY(checkEntry(*tensor, bytes.size() - dataStart));
    list.push_back(std::move(*tensor));
  }
  return checkCoverage();
}

Status SafetensorsFile::checkCoverage() const {
  std::vector<const StoredTensor *> order;
  for (const StoredTensor &tensor : list)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const StoredTensor *a, const StoredTensor *b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t position = 0;
  const StoredTensor *previous = nullptr;
  for (const StoredTensor *tensor : order) {
    if (tensor->begin < position)
      return failure("tensors '{}' and '{}' overlap", previous->name, tensor->name);
    if (tensor->begin > position)
      return failure("bytes {} to {} belong to no tensor", position, tensor->begin);
    position = tensor->end;
    previous = tensor;
  }
  uint64_t size = file.bytes().size() - dataStart;
  if (position != size)
    return failure("its tensors end at byte {}, the file has {} bytes of data", position, size);
  return Status::ok();
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Expected<MappedFile> mapped = MappedFile::open(path);
  if (mapped.isError())
    return mapped.status();
  SafetensorsFile result(std::move(*mapped));
  if (Status status = result.readHeader(); status.isError())
    return failure("can't read '{}': {}", path, status.message());
  return result;
}

const StoredTensor *SafetensorsFile::find(const std::string &name) const {
  for (const StoredTensor &tensor : list)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

Expected<const uint8_t *> SafetensorsFile::floats(const std::string &name,
                                                  const std::vector<int64_t> &shape) const {
  const StoredTensor *tensor = find(name);
  if (!tensor)
    return failure("'{}' has no tensor '{}'", path(), name);
  if (tensor->shape != shape)
    return failure("'{}': tensor '{}' is [{}], expected [{}]", path(), name,
                   fmt::join(tensor->shape, ", "), fmt::join(shape, ", "));
  if (tensor->type != "F32")
    return failure("'{}': tensor '{}' has type {}, expected F32", path(), name, tensor->type);
  return file.bytes().data() + dataStart + tensor->begin;
}

static std::string makeHeader(std::span<const TensorSource> tensors) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t position = 0;
  for (const TensorSource &tensor : tensors) {
    uint64_t bytes = 4;
    for (int64_t size : tensor.shape)
      bytes *= static_cast<uint64_t>(size);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {position, position + bytes}}};
    position += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

Status writeSafetensors(const std::string &path, std::span<const TensorSource> tensors) {
  Expected<OutputFile> file = OutputFile::create(path);
  if (file.isError())
    return file.status();
  std::string header = makeHeader(tensors);
  uint64_t length = header.size();
  PTLRT_TRY(file->write(&length, sizeof length));
  PTLRT_TRY(file->write(header.data(), header.size()));
  std::vector<float> buffer(1 << 18);
  for (const TensorSource &tensor : tensors) {
    int64_t count = 1;
    for (int64_t size : tensor.shape)
      count *= size;
    for (int64_t begin = 0; begin < count;) {
      int64_t part = std::min<int64_t>(count - begin, buffer.size());
      PTLRT_TRY(tensor.read(begin, part, buffer.data()));
      PTLRT_TRY(file->write(buffer.data(), part * sizeof(float)));
      begin += part;
    }
  }
  return file->commit();
}

} // namespace ptlrt
