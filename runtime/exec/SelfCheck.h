//===- SelfCheck.h - A mesh of ranks against one rank ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `./model --check`: the program and the same program for one rank, which lies
// beside it in the executable, take the same steps side by side.
// runtime/doc/Check.md says what is compared, and how closely it must agree.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_SELFCHECK_H
#define PTLRT_EXEC_SELFCHECK_H

#include "ptlrt/ptlrt.h"
#include "runtime/comm/mpi/Processes.h"
#include "runtime/exec/Options.h"

namespace ptlrt {

/// Prints the first values that differ, with their lines. The result is the exit status of the
/// process: 1 if any did. Errors: `one` is null, the program is for one rank itself, or a run
/// fails.
Expected<int> runSelfCheck(const ptlrt_program_t &program, const ptlrt_program_t *one,
                           const Options &options, Processes *processes);

} // namespace ptlrt

#endif // PTLRT_EXEC_SELFCHECK_H
