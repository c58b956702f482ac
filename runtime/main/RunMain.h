//===- RunMain.h - What main does -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_MAIN_RUNMAIN_H
#define PTLRT_MAIN_RUNMAIN_H

#include "ptlrt/ptlrt.h"

namespace ptlrt {

/// Runs `program` with a command line; `oneRank` is what `--check` compares it with, or null.
/// Returns the exit status: 0, 1 after an error, 2 for a wrong option, 128 + n if signal n ended
/// the run.
int runMain(const ptlrt_program_t &program, const ptlrt_program_t *oneRank, int argc,
            const char *const *argv);

} // namespace ptlrt

#endif // PTLRT_MAIN_RUNMAIN_H
