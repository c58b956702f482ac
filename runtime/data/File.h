//===- File.h - Mapped input files and output files written aside ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Inputs are mapped: a batch is copied straight from the page cache. Outputs are
// written beside their place and renamed when they are whole and on the disk, so
// a crash or a full disk never costs the file that was there before.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DATA_FILE_H
#define PTLRT_DATA_FILE_H

#include "runtime/core/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptlrt {

/// A file's bytes, read-only, as long as the object lives.
class MappedFile {
public:
  static Expected<MappedFile> open(const std::string &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  const std::string &path() const { return name; }
  std::span<const uint8_t> bytes() const { return {data, size}; }

private:
  MappedFile() = default;
  std::string name;
  const uint8_t *data = nullptr;
  size_t size = 0;
};

/// A file that appears at `path` when commit() succeeds, and not at all otherwise. A device or a
/// pipe is written to as it is.
class OutputFile {
public:
  static Expected<OutputFile> create(const std::string &path);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile(); ///< removes what was written if it wasn't committed

  Status write(const void *data, size_t size);
  /// Makes the bytes durable, then renames.
  Status commit();

private:
  OutputFile() = default;
  std::string path, aside;
  int descriptor = -1;
};

/// Fails if a file at `path` surely can't be created: to tell before hours of work, not after.
Status checkWritable(const std::string &path);
/// Makes the names in folder `path` durable.
Status syncFolder(const std::string &path);
/// The folder that holds `path`; "." for a bare name.
std::string folderOf(const std::string &path);
/// Writes a whole small file by OutputFile.
Status writeFile(const std::string &path, const std::string &content);
/// The text of the C library for errno `number`.
std::string errorText(int number);

/// The files that each of `patterns` (with * ? [ ]) stands for, sorted within a pattern; a
/// pattern without such characters stands for itself.
Expected<std::vector<std::string>> expandPatterns(std::span<const std::string> patterns);

} // namespace ptlrt

#endif // PTLRT_DATA_FILE_H
