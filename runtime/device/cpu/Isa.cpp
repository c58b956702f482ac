//===- Isa.cpp - Which vector instructions the kernels use ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// CPUID through the compiler's builtins, which also ask whether the operating
// system saves the wide registers.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/Isa.h"

namespace ptlrt::cpu {

const char *nameOf(Isa isa) { return isa == Isa::Avx512 ? "avx512" : "avx2"; }

Isa bestIsa() {
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide ? Isa::Avx512 : Isa::Avx2;
}

bool checkCpu(std::string &error) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return true;
  error = "this CPU has no AVX2 and FMA instructions, which the runtime's kernels need";
  return false;
}

} // namespace ptlrt::cpu
