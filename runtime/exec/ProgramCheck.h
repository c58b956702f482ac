//===- ProgramCheck.h - Bounds of a program's description -----------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_EXEC_PROGRAMCHECK_H
#define PTLRT_EXEC_PROGRAMCHECK_H

#include "runtime/exec/ProgramInfo.h"

namespace ptlrt {

/// Checks that all layouts lie in the arena and fit their tensors, that functions exist, and that
/// sizes are positive.
Status checkProgram(const ProgramInfo &info, const ptlrt_program_t &program);

} // namespace ptlrt

#endif // PTLRT_EXEC_PROGRAMCHECK_H
