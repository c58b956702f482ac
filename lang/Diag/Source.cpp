//===- Source.cpp - Files, positions and ranges ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each file keeps the offsets of its lines, so a position costs a binary search;
// columns count characters, text counts bytes, which differ on few lines.
//===----------------------------------------------------------------------===//
#include "lang/Diag/Source.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

using namespace ptlc::lang;
using llvm::StringRef;

struct SourceManager::Entry {
  std::string name;
  std::string identity; // the real path of a file on disk, else empty
  std::string text;
  std::vector<uint32_t> lineStarts; // byte offset of each line
  std::vector<bool> isAscii;        // of each line: columns are bytes
};

SourceManager::SourceManager() = default;
SourceManager::~SourceManager() = default;
SourceManager::SourceManager(SourceManager &&) noexcept = default;
SourceManager &SourceManager::operator=(SourceManager &&) noexcept = default;

SourceRange SourceRange::cover(SourceRange a, SourceRange b) {
  if (!a.isValid())
    return b;
  if (!b.isValid() || a.file != b.file)
    return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

std::optional<FileId> SourceManager::load(StringRef path, std::string &error) {
  llvm::SmallString<256> real;
  if (std::error_code code = llvm::sys::fs::real_path(path, real)) {
    error = code.message();
    return std::nullopt;
  }
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (entries[i]->identity == real.str())
      return FileId{i};
  if (llvm::sys::fs::is_directory(real)) {
    error = "is a directory";
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false);
  if (!buffer) {
    error = buffer.getError().message();
    return std::nullopt;
  }
  constexpr size_t kLargest = size_t(1) << 28;
  if ((*buffer)->getBufferSize() > kLargest) {
    error = "is larger than 256 MiB";
    return std::nullopt;
  }
  FileId id = add(path, (*buffer)->getBuffer().str());
  entries[id.index]->identity = real.str().str();
  return id;
}

FileId SourceManager::add(StringRef name, std::string text) {
  auto entry = std::make_unique<Entry>();
  entry->name = name.str();
  entry->text = std::move(text);
  entry->lineStarts.push_back(0);
  entry->isAscii.push_back(true);
  for (uint32_t i = 0; i < entry->text.size(); ++i) {
    if (static_cast<unsigned char>(entry->text[i]) >= 0x80)
      entry->isAscii.back() = false;
    if (entry->text[i] != '\n')
      continue;
    entry->lineStarts.push_back(i + 1);
    entry->isAscii.push_back(true);
  }
  entries.push_back(std::move(entry));
  return FileId{uint32_t(entries.size() - 1)};
}

StringRef SourceManager::name(FileId file) const { return entries[file.index]->name; }
StringRef SourceManager::text(FileId file) const { return entries[file.index]->text; }
size_t SourceManager::size() const { return entries.size(); }

StringRef SourceManager::line(FileId file, uint32_t line) const {
  const Entry &entry = *entries[file.index];
  if (line == 0 || line > entry.lineStarts.size())
    return {};
  StringRef rest = StringRef(entry.text).substr(entry.lineStarts[line - 1]);
  return rest.take_until([](char c) { return c == '\n'; }).rtrim('\r');
}

StringRef SourceManager::text(SourceRange range) const {
  return text(range.file).slice(range.begin.offset, range.end.offset);
}

SourcePos SourceManager::position(FileId file, uint32_t offset) const {
  const Entry &entry = *entries[file.index];
  offset = std::min<uint32_t>(offset, entry.text.size());
  auto next = std::upper_bound(entry.lineStarts.begin(), entry.lineStarts.end(), offset);
  uint32_t start = *std::prev(next);
  uint32_t line = next - entry.lineStarts.begin();
  if (entry.isAscii[line - 1])
    return {offset, line, offset - start + 1};
  auto isCharacter = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  auto before = StringRef(entry.text).slice(start, offset);
  return {offset, line, uint32_t(std::count_if(before.begin(), before.end(), isCharacter)) + 1};
}
