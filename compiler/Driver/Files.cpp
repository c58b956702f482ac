//===- Files.cpp - Output files, whole or not at all ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Files.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

namespace fs = llvm::sys::fs;

bool ptlc::isPlainOutput(llvm::StringRef path) {
  fs::file_status status;
  if (path.starts_with("/dev/") || path.starts_with("/proc/"))
    return false; // standard output may be a regular file behind a device's name
  return fs::status(path, status) || !fs::exists(status) || fs::is_regular_file(status);
}

static bool fail(llvm::StringRef path, const std::string &why, llvm::raw_ostream &errors) {
  errors << "ptlc: error: can't write '" << path << "': " << why << "\n";
  return false;
}

/// Writes to a device, a pipe or a descriptor, which a file must not replace.
static bool writeThrough(llvm::StringRef path, llvm::StringRef data, llvm::raw_ostream &errors) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code, fs::CD_OpenExisting, fs::FA_Write, fs::OF_None);
  if (code)
    return fail(path, code.message(), errors);
  stream << data;
  stream.close();
  code = stream.error();
  stream.clear_error();
  return !code || fail(path, code.message(), errors);
}

bool ptlc::writeFile(llvm::StringRef path, llvm::StringRef data, bool executable,
                     llvm::raw_ostream &errors) {
  if (path == "-") {
    llvm::outs() << data;
    return true;
  }
  if (!isPlainOutput(path))
    return writeThrough(path, data, errors);
  // A link stays, and leads to the new file.
  llvm::SmallString<256> target(path);
  if (fs::is_symlink_file(path) && fs::real_path(path, target))
    target = path;
  llvm::Expected<fs::TempFile> file =
      fs::TempFile::create(target + "-%%%%%%.tmp", executable ? 0777 : 0666);
  if (!file)
    return fail(path, llvm::toString(file.takeError()), errors);
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << data;
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  if (code) {
    llvm::consumeError(file->discard());
    return fail(path, code.message(), errors);
  }
  if (llvm::Error error = file->keep(target))
    return fail(path, llvm::toString(std::move(error)), errors);
  return true;
}
