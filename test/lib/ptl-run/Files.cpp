//===- Files.cpp - Tensors in files ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Files.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

namespace ptlc::run {

static llvm::Error fileError(llvm::StringRef path, const llvm::Twine &what) {
  return makeError("'" + path + "': " + what);
}

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNull=*/false);
  if (!buffer)
    return fileError(path, buffer.getError().message());
  return std::move(*buffer);
}

namespace {
/// How one element is stored.
struct Storage {
  Element element = Element::F32;
  unsigned bytes = 0; ///< 0: unknown
  bool isFloat = false, isSigned = false;
};
} // namespace

static double readElement(const char *at, Storage storage) {
  if (storage.isFloat && storage.bytes == 4)
    return llvm::bit_cast<float>(llvm::support::endian::read32le(at));
  if (storage.isFloat)
    return llvm::bit_cast<double>(llvm::support::endian::read64le(at));
  uint64_t bits = 0;
  for (unsigned i = 0; i < storage.bytes; ++i)
    bits |= uint64_t(uint8_t(at[i])) << (8 * i);
  if (storage.isSigned && storage.bytes < 8 && bits >> (8 * storage.bytes - 1))
    bits |= ~uint64_t(0) << (8 * storage.bytes);
  return storage.isSigned ? static_cast<double>(int64_t(bits)) : static_cast<double>(bits);
}

static std::vector<double> readElements(const char *at, int64_t count, Storage storage) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = readElement(at + i * storage.bytes, storage);
  return values;
}

static Storage safetensorsStorage(llvm::StringRef dtype) {
  return llvm::StringSwitch<Storage>(dtype)
      .Case("F32", {Element::F32, 4, true, true})
      .Case("F64", {Element::F32, 8, true, true})
      .Case("I32", {Element::I32, 4, false, true})
      .Case("I64", {Element::I64, 8, false, true})
      .Default({});
}

static llvm::Expected<Tensor> readEntry(llvm::StringRef path, const llvm::json::Object &entry,
                                        llvm::StringRef data) {
  Storage storage = safetensorsStorage(entry.getString("dtype").value_or(""));
  const llvm::json::Array *shape = entry.getArray("shape"), *range = entry.getArray("data_offsets");
  if (!storage.bytes || !shape || !range || range->size() != 2)
    return fileError(path, "an entry has an unknown dtype, no shape or no offsets");
  Type type{storage.element, {}, {}};
  for (const llvm::json::Value &size : *shape)
    type.sizes.push_back(size.getAsInteger().value_or(-1));
  int64_t begin = (*range)[0].getAsInteger().value_or(-1),
          end = (*range)[1].getAsInteger().value_or(-1);
  int64_t count = type.count();
  if (begin < 0 || end > int64_t(data.size()) || end - begin != count * storage.bytes)
    return fileError(path, "an entry's offsets don't fit its shape or the file");
  return Tensor(type, readElements(data.data() + begin, count, storage));
}

llvm::Expected<TensorMap> readSafetensors(llvm::StringRef path) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  llvm::StringRef bytes = (*buffer)->getBuffer();
  uint64_t header = bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  if (bytes.size() < 8 || header > bytes.size() - 8)
    return fileError(path, "not a safetensors file");
  auto json = llvm::json::parse(bytes.substr(8, header));
  if (!json)
    return fileError(path, llvm::toString(json.takeError()));
  const llvm::json::Object *entries = json->getAsObject();
  if (!entries)
    return fileError(path, "the header is no object");
  TensorMap tensors;
  for (const auto &[name, value] : *entries) {
    if (name == "__metadata__" || !value.getAsObject())
      continue;
    auto tensor = readEntry(path, *value.getAsObject(), bytes.substr(8 + header));
    if (!tensor)
      return tensor.takeError();
    tensors.emplace(name.str(), std::move(*tensor));
  }
  return tensors;
}

llvm::Error writeSafetensors(llvm::StringRef path, const TensorMap &tensors) {
  std::string header, data;
  llvm::raw_string_ostream out(header), bytes(data);
  llvm::json::OStream json(out);
  json.objectBegin();
  for (const auto &[name, tensor] : tensors) {
    Element element = tensor.type().element;
    bool isFloat = run::isFloat(element);
    json.attributeBegin(name);
    json.objectBegin();
    json.attribute("dtype", isFloat ? "F32" : "I32");
    json.attributeArray("shape", [&] {
      for (int64_t size : tensor.type().sizes)
        json.value(size);
    });
    int64_t begin = static_cast<int64_t>(bytes.tell());
    for (int64_t i = 0; i < tensor.count(); ++i) {
      char word[4];
      llvm::support::endian::write32le(word, isFloat ? llvm::bit_cast<uint32_t>(float(tensor[i]))
                                                     : uint32_t(int64_t(tensor[i])));
      bytes.write(word, 4);
    }
    json.attributeArray("data_offsets", [&] {
      json.value(begin);
      json.value(static_cast<int64_t>(bytes.tell()));
    });
    json.objectEnd();
    json.attributeEnd();
  }
  json.objectEnd();
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (code)
    return fileError(path, code.message());
  char size[8];
  llvm::support::endian::write64le(size, header.size());
  file.write(size, 8) << header << data;
  return llvm::Error::success();
}

static Storage npyStorage(llvm::StringRef descr) {
  return llvm::StringSwitch<Storage>(descr)
      .Case("<f4", {Element::F32, 4, true, true})
      .Case("<f8", {Element::F32, 8, true, true})
      .Case("|i1", {Element::I32, 1, false, true})
      .Case("<i2", {Element::I32, 2, false, true})
      .Case("<i4", {Element::I32, 4, false, true})
      .Case("<i8", {Element::I32, 8, false, true})
      .Cases({"|u1", "|b1"}, {Element::I32, 1, false, false})
      .Case("<u2", {Element::I32, 2, false, false})
      .Case("<u4", {Element::I32, 4, false, false})
      .Default({});
}

/// The text between `open` and `close` after `key`.
static llvm::StringRef field(llvm::StringRef header, llvm::StringRef key, char open, char close) {
  llvm::StringRef rest = header.split(key).second.split(':').second;
  return rest.split(open).second.split(close).first;
}

llvm::Expected<Tensor> readNpy(llvm::StringRef path) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  llvm::StringRef bytes = (*buffer)->getBuffer();
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 12)
    return fileError(path, "not an .npy file");
  bool wide = bytes[6] > 1;
  size_t begin = wide ? 12 : 10;
  size_t length = wide ? llvm::support::endian::read32le(bytes.data() + 8)
                       : llvm::support::endian::read16le(bytes.data() + 8);
  llvm::StringRef header = bytes.substr(begin, length);
  Storage storage = npyStorage(field(header, "'descr'", '\'', '\''));
  if (!storage.bytes || header.contains("'fortran_order': True"))
    return fileError(path, "this kind of array isn't read: " + header.trim());
  Type type{storage.element, {}, {}};
  llvm::SmallVector<llvm::StringRef> sizes;
  field(header, "'shape'", '(', ')').split(sizes, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef size : sizes)
    if (!size.trim().empty())
      type.sizes.push_back(std::strtoll(size.trim().str().c_str(), nullptr, 10));
  llvm::StringRef data = bytes.substr(begin + length);
  if (type.count() < 0 || uint64_t(type.count()) * storage.bytes > data.size())
    return fileError(path, "the file ends before the array does");
  return Tensor(type, readElements(data.data(), type.count(), storage));
}

static constexpr int32_t kMagic16 = 20240520, kMagic32 = 20240801;
static constexpr size_t kHeaderBytes = 1024;

bool isTokenFile(llvm::StringRef path) {
  auto buffer = readFile(path);
  if (!buffer) {
    llvm::consumeError(buffer.takeError());
    return false;
  }
  llvm::StringRef bytes = (*buffer)->getBuffer();
  if (bytes.size() < kHeaderBytes)
    return false;
  int32_t magic = llvm::support::endian::read32le(bytes.data());
  return magic == kMagic16 || magic == kMagic32;
}

llvm::Expected<Tensor> readTokens(llvm::StringRef path) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  llvm::StringRef bytes = (*buffer)->getBuffer();
  if (bytes.size() < kHeaderBytes)
    return fileError(path, "shorter than the header of a token file");
  int32_t magic = llvm::support::endian::read32le(bytes.data());
  int64_t count = llvm::support::endian::read32le(bytes.data() + 8);
  unsigned width = magic == kMagic16 ? 2 : magic == kMagic32 ? 4 : 0;
  if (!width || kHeaderBytes + count * width > bytes.size())
    return fileError(path, "not a token file, or one that ends early");
  Storage storage{Element::I32, width, false, false};
  return Tensor(Type{Element::I32, {}, {count}},
                readElements(bytes.data() + kHeaderBytes, count, storage));
}

} // namespace ptlc::run
