//===- Files.cpp - Output files, whole or not at all ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Files.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

bool ptlc::writeFile(llvm::StringRef path, llvm::StringRef data, bool executable,
                     llvm::raw_ostream &errors) {
  if (path == "-") {
    llvm::outs() << data;
    return true;
  }
  // A device or pipe can't be replaced by a file of the same name.
  llvm::sys::fs::file_status status;
  bool special = !llvm::sys::fs::status(path, status) && llvm::sys::fs::exists(status) &&
                 !llvm::sys::fs::is_regular_file(status);
  if (special) {
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code);
    if (!code)
      stream << data;
    stream.close();
    if (!code && !stream.has_error())
      return true;
    errors << "ptlc: error: can't write '" << path
           << "': " << (code ? code : stream.error()).message() << "\n";
    stream.clear_error();
    return false;
  }
  llvm::Expected<llvm::sys::fs::TempFile> file =
      llvm::sys::fs::TempFile::create(path + "-%%%%%%.tmp", executable ? 0777 : 0666);
  if (!file) {
    errors << "ptlc: error: can't write '" << path << "': " << llvm::toString(file.takeError())
           << "\n";
    return false;
  }
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << data;
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  if (code) {
    errors << "ptlc: error: can't write '" << path << "': " << code.message() << "\n";
    llvm::consumeError(file->discard());
    return false;
  }
  if (llvm::Error error = file->keep(path)) {
    errors << "ptlc: error: can't write '" << path << "': " << llvm::toString(std::move(error))
           << "\n";
    return false;
  }
  return true;
}
