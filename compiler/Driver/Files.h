//===- Files.h - Output files, whole or not at all --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_FILES_H
#define PTLC_COMPILER_DRIVER_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace ptlc {

/// Writes `data` to `path` ("-": standard output): into a file beside it, renamed when whole, so
/// that a failure leaves what was there. Devices and pipes are written to, links followed. Returns
/// false after a message on `errors`.
bool writeFile(llvm::StringRef path, llvm::StringRef data, bool executable,
               llvm::raw_ostream &errors);

/// Whether `path` is or would be a regular file, which a new one may replace.
bool isPlainOutput(llvm::StringRef path);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_FILES_H
