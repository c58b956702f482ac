//===- CommandLine.h - The ptlc command -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_COMMANDLINE_H
#define PTLC_COMPILER_DRIVER_COMMANDLINE_H

namespace ptlc {

/// Parses the arguments of `ptlc` and runs what they ask for: compile (the default), `check`,
/// `fmt` or `run`. Returns the exit status.
int runCommandLine(int argc, const char *const *argv);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_COMMANDLINE_H
