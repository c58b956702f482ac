//===- Log.h - Lines for people -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Errors and warnings are one line on standard error. A line is written with one
// call, so lines of several ranks don't mix.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_LOG_H
#define PTLRT_CORE_LOG_H

#include "runtime/core/Status.h"
#include <string_view>

namespace ptlrt {

/// Writes `error: message` and a line end to standard error.
void printError(std::string_view message);
void printWarning(std::string_view message);
/// Writes a message of `kind`, "error" or "note", about a place in a .ptl file.
void printAt(std::string_view place, std::string_view kind, std::string_view message);
/// Writes `text` and a line end to standard output, at once.
void printLine(std::string_view text);

} // namespace ptlrt

#endif // PTLRT_CORE_LOG_H
