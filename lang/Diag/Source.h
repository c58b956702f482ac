//===- Source.h - Files, positions and ranges ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The source manager owns the text of every file that a run reads and keeps it
// at a fixed address, so names in the tree may be views of it. A position knows
// its line and column, because nearly all of them end up in a message.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_DIAG_SOURCE_H
#define PTLC_LANG_DIAG_SOURCE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ptlc::lang {

/// Names a file of a SourceManager; the default value names none.
struct FileId {
  uint32_t index = UINT32_MAX;

  bool isValid() const { return index != UINT32_MAX; }
  friend bool operator==(FileId a, FileId b) { return a.index == b.index; }
  friend bool operator!=(FileId a, FileId b) { return a.index != b.index; }
  friend bool operator<(FileId a, FileId b) { return a.index < b.index; }
};

/// A place in a file. `offset` counts bytes from 0; `line` and `column` count
/// from 1, columns in characters (code points), as editors show them.
struct SourcePos {
  uint32_t offset = 0;
  uint32_t line = 0;
  uint32_t column = 0;

  bool isValid() const { return line != 0; }
  friend bool operator<(SourcePos a, SourcePos b) { return a.offset < b.offset; }
  friend bool operator==(SourcePos a, SourcePos b) { return a.offset == b.offset; }
};

/// A piece of a file from `begin` up to, not including, `end`.
struct SourceRange {
  FileId file;
  SourcePos begin;
  SourcePos end;

  bool isValid() const { return file.isValid() && begin.isValid(); }

  /// Returns the smallest range of `begin`'s file that holds both; an invalid one adds nothing.
  static SourceRange cover(SourceRange a, SourceRange b);
};

/// Owns the files of a run. A file's text never moves while the manager lives.
class SourceManager {
public:
  SourceManager();
  ~SourceManager();
  SourceManager(SourceManager &&) noexcept;
  SourceManager &operator=(SourceManager &&) noexcept;

  /// Reads a file from disk, once per path; returns nullopt and sets `error` to
  /// the system's words when it can't be read.
  std::optional<FileId> load(llvm::StringRef path, std::string &error);

  /// Adds a text under a name that messages print, such as "<stdin>" or "std/nn.ptl".
  FileId add(llvm::StringRef name, std::string text);

  llvm::StringRef name(FileId file) const;
  llvm::StringRef text(FileId file) const;
  size_t size() const;

  /// Returns the text of a line (from 1) without its end, empty past the file's end.
  llvm::StringRef line(FileId file, uint32_t line) const;

  /// Returns the text of a range.
  llvm::StringRef text(SourceRange range) const;

  /// Returns the position of a byte offset; an offset past the end gives the end.
  SourcePos position(FileId file, uint32_t offset) const;

  /// Returns the range of two byte offsets.
  SourceRange range(FileId file, uint32_t begin, uint32_t end) const {
    return {file, position(file, begin), position(file, end)};
  }

private:
  struct Entry;
  std::vector<std::unique_ptr<Entry>> entries;
};

} // namespace ptlc::lang

#endif // PTLC_LANG_DIAG_SOURCE_H
