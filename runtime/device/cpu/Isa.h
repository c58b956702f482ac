//===- Isa.h - Which vector instructions the kernels use ------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_ISA_H
#define PTLRT_DEVICE_CPU_ISA_H

#include <string>

namespace ptlrt::cpu {

/// Sets of instructions that kernels are compiled for.
enum class Isa { Avx2, Avx512 };

/// Returns "avx2" or "avx512".
const char *nameOf(Isa isa);

/// Returns the widest set that this CPU and its operating system offer.
Isa bestIsa();

/// Returns whether the kernels run here; if not, `error` says what is missing.
bool checkCpu(std::string &error);

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_ISA_H
