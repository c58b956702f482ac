//===- Kernels.cpp - Picks the kernels of an instruction set --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Kernels.h"

namespace ptlrt::cpu {

const Kernels &kernelsFor(Isa isa) { return isa == Isa::Avx512 ? avx512::kTable : avx2::kTable; }

} // namespace ptlrt::cpu
