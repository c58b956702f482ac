//===- Compiler.h - One compilation from file to file -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_COMPILER_H
#define PTLC_COMPILER_DRIVER_COMPILER_H

#include "compiler/Driver/Options.h"

namespace ptlc {

/// Compiles `options.input` to the stage that `options.emit` names and writes the result. Returns
/// an exit status; everything there is to say was printed.
int runCompile(const CompileOptions &options);

/// Runs `ptlc run`: compiles into a cache, keyed by the compiler, the sources and the options, and
/// starts the executable with `arguments`. Only returns on failure.
int runProgram(const CompileOptions &options, const std::vector<std::string> &arguments);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_COMPILER_H
