//===- File.cpp - Mapped input files and output files written aside -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The POSIX calls, each checked: also fsync and close, where a full disk or a
// failing device may first be told of.
//===----------------------------------------------------------------------===//
#include "runtime/data/File.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <glob.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ptlrt {

std::string errorText(int number) { return std::generic_category().message(number); }

std::string folderOf(const std::string &path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Expected<MappedFile> MappedFile::open(const std::string &path) {
  MappedFile file;
  file.name = path;
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return failure("can't open '{}': {}", path, errorText(errno));
  struct stat info{};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return failure("can't read '{}': it isn't a regular file", path);
  }
  file.size = static_cast<size_t>(info.st_size);
  if (file.size > 0) {
    void *memory = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      Status status = failure("can't map '{}': {}", path, errorText(errno));
      ::close(descriptor);
      return status;
    }
    file.data = static_cast<const uint8_t *>(memory);
  }
  ::close(descriptor);
  return file;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : name(std::move(other.name)), data(std::exchange(other.data, nullptr)),
      size(std::exchange(other.size, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<uint8_t *>(data), size);
}

/// Whether `path` is or would be a regular file, which a new one may replace.
static bool isPlainOutput(const std::string &path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    return true;
  // Standard output may be a regular file behind a device's name; memory holds files, too.
  bool isDevice = path.starts_with("/dev/") && !path.starts_with("/dev/shm/");
  return S_ISREG(info.st_mode) && !isDevice && !path.starts_with("/proc/");
}

/// Where a new file goes: a link stays, and leads to it.
static std::string behindLinks(const std::string &path) {
  std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

Expected<OutputFile> OutputFile::create(const std::string &path) {
  OutputFile file;
  file.path = path;
  if (!isPlainOutput(path)) {
    file.descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    file.path = behindLinks(path);
    file.aside = fmt::format("{}.tmp-{}", file.path, ::getpid());
    file.descriptor = ::open(file.aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (file.descriptor < 0)
    return failure("can't write '{}': {}", path, errorText(errno));
  return file;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path(std::move(other.path)), aside(std::exchange(other.aside, {})),
      descriptor(std::exchange(other.descriptor, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!aside.empty())
    ::unlink(aside.c_str());
}

Status OutputFile::write(const void *data, size_t size) {
  const char *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t done = ::write(descriptor, bytes, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return failure("can't write '{}': {}", path, errorText(errno));
    bytes += done;
    size -= static_cast<size_t>(done);
  }
  return Status::ok();
}

Status OutputFile::commit() {
  if (aside.empty())
    return ::close(std::exchange(descriptor, -1)) == 0
               ? Status::ok()
               : failure("can't write '{}': {}", path, errorText(errno));
  if (::fsync(descriptor) != 0)
    return failure("can't write '{}': {}", path, errorText(errno));
  if (::close(std::exchange(descriptor, -1)) != 0)
    return failure("can't write '{}': {}", path, errorText(errno));
  if (std::rename(aside.c_str(), path.c_str()) != 0)
    return failure("can't write '{}': {}", path, errorText(errno));
  aside.clear();
  return syncFolder(folderOf(path));
}

Status checkWritable(const std::string &path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return failure("can't write '{}': {}", path, errorText(EISDIR));
  int result = isPlainOutput(path) ? ::access(folderOf(behindLinks(path)).c_str(), W_OK | X_OK)
                                   : ::access(path.c_str(), W_OK);
  return result == 0 ? Status::ok() : failure("can't write '{}': {}", path, errorText(errno));
}

Status syncFolder(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return failure("can't open folder '{}': {}", path, errorText(errno));
  int result = ::fsync(descriptor);
  int number = errno;
  ::close(descriptor);
  // Some file systems have no fsync of folders and say so with EINVAL.
  if (result != 0 && number != EINVAL)
    return failure("can't write folder '{}': {}", path, errorText(number));
  return Status::ok();
}

Status writeFile(const std::string &path, const std::string &content) {
  Expected<OutputFile> file = OutputFile::create(path);
  if (file.isError())
    return file.status();
  PTLRT_TRY(file->write(content.data(), content.size()));
  return file->commit();
}

Expected<std::vector<std::string>> expandPatterns(std::span<const std::string> patterns) {
  std::vector<std::string> files;
  for (const std::string &pattern : patterns) {
    if (pattern.find_first_of("*?[") == std::string::npos) {
      files.push_back(pattern);
      continue;
    }
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
      files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    else
      files.push_back(pattern); // a file may really be called so; else opening it fails
    ::globfree(&found);
  }
  return files;
}

} // namespace ptlrt
