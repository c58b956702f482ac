//===- Env.h - The environment variables that the runtime reads -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One table names them all (the CPU back end reads its own two by itself). They
// are for tuning and for hunting faults; what a user decides is an option of the
// program.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_ENV_H
#define PTLRT_CORE_ENV_H

#include "runtime/core/Status.h"
#include <cstdint>
#include <span>

namespace ptlrt::env {

struct Variable {
  const char *name;
  const char *byDefault;
  int64_t least, most; ///< of whole numbers
  const char *meaning; ///< one sentence
};

/// All variables, in the order of the documentation.
std::span<const Variable> variables();

/// Seconds that a rank waits for the others in a collective before the job ends.
Expected<int64_t> commTimeout();
/// The library that programs which a launcher started load: a path, or a name for the loader; "":
/// none.
const char *mpiLibrary();
/// Turns of a waiting rank's loop before it gives its core away.
Expected<int64_t> commSpin();

} // namespace ptlrt::env

#endif // PTLRT_CORE_ENV_H
