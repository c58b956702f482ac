//===- Env.cpp - The environment variables that the runtime reads ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table, and one reader that checks a value against it.
//===----------------------------------------------------------------------===//
#include "runtime/core/Env.h"

#include "runtime/core/Number.h"
#include <cstdlib>

namespace ptlrt::env {

static constexpr Variable kTable[] = {
    {"PTL_COMM_TIMEOUT", "600", 1, 1'000'000,
     "seconds that a rank waits for another one before the job ends with an error"},
    {"PTL_COMM_SPIN", "-1", -1, 1'000'000'000,
     "turns of a waiting rank's loop before it gives its core away; -1: many if there is a core "
     "for each thread, else few"},
    {"PTL_MPI_LIBRARY", "libptlrt_mpi.so", 0, 0,
     "the runtime's library for MPI, loaded when a launcher such as mpirun started the program; "
     "looked for beside the program and where the compiler that made it had it; empty: ranks are "
     "threads, whatever started the program"},
    {"PTL_CPU_ISA", "the widest", 0, 0,
     "instruction set of the runtime's own kernels: avx2 or avx512"},
    {"PTL_CPU_GEMM", "auto", 0, 0,
     "who computes matrix products: auto, own, onednn, or probe (the faster one, tried at the "
     "start)"},
};

std::span<const Variable> variables() { return kTable; }

static Expected<int64_t> read(const Variable &variable) {
  const char *text = std::getenv(variable.name);
  if (!text || !*text)
    text = variable.byDefault;
  std::optional<int64_t> value = parseInteger(text);
  if (!value || *value < variable.least || *value > variable.most)
    return failure("{} must be a whole number from {} to {}, is '{}'", variable.name,
                   variable.least, variable.most, text);
  return *value;
}

Expected<int64_t> commTimeout() { return read(kTable[0]); }
const char *mpiLibrary() {
  const char *text = std::getenv(kTable[2].name);
  return text ? text : kTable[2].byDefault;
}
Expected<int64_t> commSpin() { return read(kTable[1]); }

} // namespace ptlrt::env
