//===- KernelsAvx512.cpp - The kernels for AVX-512 ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// simd/ compiled with the flags of this instruction set (see CMakeLists.txt).
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/simd/Table.h"
