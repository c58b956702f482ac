//===- CommandLine.h - The options of a compiled program ------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_MAIN_COMMANDLINE_H
#define PTLRT_MAIN_COMMANDLINE_H

#include "runtime/core/Status.h"
#include "runtime/exec/Options.h"
#include <variant>

namespace ptlrt {

/// What to print instead of running: help, version.
struct PrintAndLeave {
  std::string text;
};

/// Reads the arguments; an error's message is about one of them.
Expected<std::variant<Options, PrintAndLeave>> parseCommandLine(int argc, const char *const *argv);

} // namespace ptlrt

#endif // PTLRT_MAIN_COMMANDLINE_H
