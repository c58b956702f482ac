//===- Tokens.cpp - Samples from token files and text ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sample j of a file with T ids is ids [j * seq, j * seq + seq), its targets are
// the ids one later, so a file has floor((T - 1) / seq) samples. Several files
// follow each other; a sample never spans two. Token files are llm.c's: a header
// of 256 32-bit words (magic, version, count), then ids of 16 or 32 bits. Text
// is its bytes.
//===----------------------------------------------------------------------===//
#include "runtime/data/DataSource.h"
#include "runtime/data/File.h"

#include <cstring>

namespace ptlrt {

namespace {

constexpr uint32_t kMagic16 = 20240520, kMagic32 = 20240801;
constexpr size_t kHeaderBytes = 1024;

struct IdFile {
  MappedFile file;
  const uint8_t *ids;
  int width;     ///< bytes of an id
  int64_t count; ///< ids
  int64_t firstSample;
};

class TokenSource : public DataSource {
public:
  explicit TokenSource(const DataSpec &spec) : spec(spec) {}
  Status open();
  int64_t samples() const override { return total; }
  Status read(size_t field, int64_t sample, int64_t begin, int64_t count, void *to) const override;

private:
  Status addFile(const std::string &path);
  const IdFile &fileOf(int64_t sample) const;
  Status outside(const FieldSpec &field, const IdFile &file, int64_t from, const int32_t *ids,
                 int64_t count) const;

  DataSpec spec;
  std::vector<IdFile> files;
  int64_t seq = 0, total = 0;
};

} // namespace

static uint32_t wordAt(const MappedFile &file, int index) {
  uint32_t word = 0;
  std::memcpy(&word, file.bytes().data() + 4 * index, 4);
  return word;
}

/// Checks the header of a token file and says where its ids are.
static Status readHeader(IdFile &tokens) {
  const MappedFile &file = tokens.file;
  if (file.bytes().size() < kHeaderBytes)
    return failure("can't read '{}': it is {} bytes long, too short for a token file; 'text' reads "
                   "plain text",
                   file.path(), file.bytes().size());
  uint32_t magic = wordAt(file, 0), version = wordAt(file, 1);
  if (!(magic == kMagic16 && version == 1) && !(magic == kMagic32 && version == 7))
    return failure("can't read '{}': it begins with {} {}, not with {} 1 or {} 7 as a token file; "
                   "'text' reads plain text",
                   file.path(), magic, version, kMagic16, kMagic32);
  tokens.width = magic == kMagic16 ? 2 : 4;
  tokens.count = wordAt(file, 2);
  tokens.ids = file.bytes().data() + kHeaderBytes;
  size_t bytes = file.bytes().size() - kHeaderBytes;
  if (static_cast<size_t>(tokens.count) * tokens.width > bytes)
    return failure("can't read '{}': it should hold {} tokens, but has room for {}; is it "
                   "truncated?",
                   file.path(), tokens.count, bytes / tokens.width);
  return Status::ok();
}

Status TokenSource::addFile(const std::string &path) {
  Expected<MappedFile> mapped = MappedFile::open(path);
  if (mapped.isError())
    return mapped.status();
  IdFile file{std::move(*mapped), nullptr, 1, 0, total};
  if (spec.kind == DataKind::Text) {
    file.ids = file.file.bytes().data();
    file.count = static_cast<int64_t>(file.file.bytes().size());
  } else {
    PTLRT_TRY(readHeader(file));
  }
  int64_t samples = file.count > 0 ? (file.count - 1) / seq : 0;
  if (samples == 0)
    return failure("'{}' has {} tokens, one sample takes {} ({} and one more)", path, file.count,
                   seq + 1, seq);
  total += samples;
  files.push_back(std::move(file));
  return Status::ok();
}

Status TokenSource::open() {
  for (const FieldSpec &field : spec.fields) {
    int64_t elements = field.tensor.elements() / field.tensor.shape[0];
    if (seq != 0 && elements != seq)
      return failure("the fields of the data have samples of {} and {} tokens", seq, elements);
    seq = elements;
  }
  for (const std::string &path : spec.files)
    PTLRT_TRY(addFile(path));
  return Status::ok();
}

const IdFile &TokenSource::fileOf(int64_t sample) const {
  size_t i = files.size() - 1;
  while (files[i].firstSample > sample)
    --i;
  return files[i];
}

/// Copies ids and returns their maximum: all of them are at least 0.
template <typename Id> static uint32_t copyIds(const uint8_t *from, int64_t count, int32_t *to) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    Id id;
    std::memcpy(&id, from + i * sizeof(Id), sizeof(Id));
    to[i] = static_cast<int32_t>(id);
    largest = std::max<uint32_t>(largest, id);
  }
  return largest;
}

Status TokenSource::outside(const FieldSpec &field, const IdFile &file, int64_t from,
                            const int32_t *ids, int64_t count) const {
  for (int64_t i = 0; i < count; ++i) {
    auto id = static_cast<uint32_t>(ids[i]);
    if (id < static_cast<uint64_t>(field.limit) || (field.ignore && *field.ignore == ids[i]))
      continue;
    return failure("'{}': token {} at position {} is outside [0, {}){}", file.file.path(), id,
                   from + i, field.limit,
                   field.limitName.empty() ? "" : ", the size of '" + field.limitName + "'");
  }
  return Status::ok();
}

Status TokenSource::read(size_t fieldIndex, int64_t sample, int64_t begin, int64_t count,
                         void *to) const {
  const FieldSpec &field = spec.fields[fieldIndex];
  const IdFile &file = fileOf(sample);
  int64_t from = (sample - file.firstSample) * seq + begin;
  if (field.tensor.name == "targets")
    ++from;
  auto *ids = static_cast<int32_t *>(to);
  const uint8_t *source = file.ids + from * file.width;
  uint32_t largest = file.width == 1   ? copyIds<uint8_t>(source, count, ids)
                     : file.width == 2 ? copyIds<uint16_t>(source, count, ids)
                                       : copyIds<uint32_t>(source, count, ids);
  if (field.limit > 0 && largest >= static_cast<uint64_t>(field.limit))
    return outside(field, file, from, ids, count);
  return Status::ok();
}

Expected<std::unique_ptr<DataSource>> openTokens(const DataSpec &spec) {
  for (const FieldSpec &field : spec.fields) {
    if (field.tensor.element != Element::I32)
      return failure("field '{}' is {}, tokens are int", field.tensor.name,
                     elementName(field.tensor.element));
    if (field.tensor.name != "tokens" && field.tensor.name != "targets")
      return failure("tokens have the fields 'tokens' and 'targets', not '{}'", field.tensor.name);
  }
  auto source = std::make_unique<TokenSource>(spec);
  PTLRT_TRY(source->open());
  return std::unique_ptr<DataSource>(std::move(source));
}

} // namespace ptlrt
