//===- Table.h - The table of the instruction set being compiled ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Included once by the file that compiles the kernels for one instruction set.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_TABLE_H
#define PTLRT_DEVICE_CPU_SIMD_TABLE_H

#include "runtime/device/cpu/simd/AttentionBackward.h"
#include "runtime/device/cpu/simd/AttentionForward.h"
#include "runtime/device/cpu/simd/Combine.h"
#include "runtime/device/cpu/simd/Gemm.h"
#include "runtime/device/cpu/simd/GemmBf16.h"
#include "runtime/device/cpu/simd/Squares.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

static int64_t attentionScratch(const AttentionShape &shape, bool backward) {
  return backward ? BackwardScratch(shape).size : ForwardScratch(shape).size;
}

static void exponentials(const float *x, float *out, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    Mask valid = firstLanes(count - i);
    storeMasked(out + i, valid, exponential(loadMasked(x + i, valid)));
  }
}

#ifdef __AVX512F__
constexpr Isa kIsa = Isa::Avx512;
#else
constexpr Isa kIsa = Isa::Avx2;
#endif

const Kernels kTable = {
    kIsa,
    kGemmScratch,
    gemm,
    kGemmBf16Scratch,
    gemmBf16,
    attentionScratch,
    attentionForward,
    attentionBackward,
    combine,
    addSquares,
    widen,
    narrow,
    exponentials,
};

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_TABLE_H
