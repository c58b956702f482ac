//===- Log.cpp - Lines for people -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// stdio locks the stream per call, so one call per line is enough.
//===----------------------------------------------------------------------===//
#include "runtime/core/Log.h"

#include <cstdio>

namespace ptlrt {

static void write(FILE *stream, const std::string &line) {
  // A closed standard output must not end a run: what was asked for is in files.
  (void)std::fwrite(line.data(), 1, line.size(), stream);
  (void)std::fflush(stream);
}

void printError(std::string_view message) {
  // What was printed before must stand before, also when both go to one file.
  (void)std::fflush(stdout);
  write(stderr, fmt::format("error: {}\n", message));
}
void printWarning(std::string_view message) {
  (void)std::fflush(stdout);
  write(stderr, fmt::format("warning: {}\n", message));
}
void printAt(std::string_view place, std::string_view kind, std::string_view message) {
  (void)std::fflush(stdout);
  write(stderr, fmt::format("{}: {}: {}\n", place, kind, message));
}
void printLine(std::string_view text) { write(stdout, fmt::format("{}\n", text)); }

} // namespace ptlrt
