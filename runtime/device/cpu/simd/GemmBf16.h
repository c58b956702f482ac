//===- GemmBf16.h - Matrix products of bf16 in f32 -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Blocks of both operands are widened into scratch memory that stays in the
// caches, and multiplied there by the kernel for f32: instruction sets without
// products of bf16 compute as fast as in f32, and sums have the same bits as those
// of widened operands. A block of C is complete before the next begins, so each
// element is rounded once. B is widened again for each block of rows, which costs
// some per cent of the product.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_GEMMBF16_H
#define PTLRT_DEVICE_CPU_SIMD_GEMMBF16_H

#include "runtime/device/cpu/simd/Convert.h"
#include "runtime/device/cpu/simd/Gemm.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

constexpr int64_t kBf16Columns = 512; ///< of a block of C
/// Rows in scratch are an odd number of cache lines apart (see spreadsOverSets).
constexpr int64_t oddLines(int64_t floats) { return ((floats + kLine - 1) / kLine | 1) * kLine; }
constexpr int64_t kStrideOfDepth = oddLines(kDepth);
constexpr int64_t kStrideOfRows = oddLines(kRowBlock);
constexpr int64_t kStrideOfColumns = oddLines(kBf16Columns);

/// Floats for a block of A, of B and of C, either way round, and for the f32 kernel.
constexpr int64_t kBlockA = (kRowBlock + 1) * (kStrideOfDepth + kLine);
constexpr int64_t kBlockB = (kBf16Columns + 1) * (kStrideOfDepth + kLine);
constexpr int64_t kBlockC = kRowBlock * kStrideOfColumns;
static_assert(kDepth * kStrideOfRows <= kBlockA && kDepth * kStrideOfColumns <= kBlockB);
constexpr int64_t kGemmBf16Scratch = kBlockA + kBlockB + kBlockC + kGemmScratch;

static void widenRows(const uint16_t *from, int64_t ldFrom, int64_t rows, int64_t cols, float *to,
                      int64_t ldTo) {
  for (int64_t r = 0; r < rows; ++r) {
    __builtin_prefetch(from + (r + 4) * ldFrom);
    widen(from + r * ldFrom, cols, to + r * ldTo);
  }
}

/// C[block] (+)= the sum of all terms, in f32 at `block.c`.
static void multiplyTerms(const HalfProduct &p, Product block, int64_t i0, int64_t j0,
                          float *scratch) {
  float *a = scratch, *b = a + kBlockA, *rest = b + kBlockB;
  block.a = a;
  block.b = b;
  block.lda = p.transA ? kStrideOfRows : kStrideOfDepth;
  block.ldb = p.transB ? kStrideOfDepth : kStrideOfColumns;
  int64_t depth = blockDepth(p.k);
  for (int64_t term = 0; term < p.terms; ++term)
    for (int64_t k0 = 0; k0 < p.k; k0 += depth) {
      block.k = minOf(depth, p.k - k0);
      const uint16_t *fromA = p.a + p.aTerms[term] + (p.transA ? k0 * p.lda + i0 : i0 * p.lda + k0);
      const uint16_t *fromB = p.b + p.bTerms[term] + (p.transB ? j0 * p.ldb + k0 : k0 * p.ldb + j0);
      widenRows(fromA, p.lda, p.transA ? block.k : block.m, p.transA ? block.m : block.k, a,
                block.lda);
      widenRows(fromB, p.ldb, p.transB ? block.n : block.k, p.transB ? block.k : block.n, b,
                block.ldb);
      gemm(block, rest);
      block.accumulate = true;
    }
}

/// See HalfProduct. m, n, k and terms are > 0.
static void gemmBf16(const HalfProduct &p, float *scratch) {
  float *sums = scratch, *rest = scratch + kBlockC;
  int64_t rowBlock = ceilDiv(p.m, ceilDiv(p.m, kRowBlock));
  for (int64_t j0 = 0; j0 < p.n; j0 += kBf16Columns)
    for (int64_t i0 = 0; i0 < p.m; i0 += rowBlock) {
      int64_t rows = minOf(rowBlock, p.m - i0), cols = minOf(kBf16Columns, p.n - j0);
      float *c = p.wide ? static_cast<float *>(p.c) + i0 * p.ldc + j0 : sums;
      Product block = {rows,
                       cols,
                       0,
                       nullptr,
                       0,
                       p.transA,
                       nullptr,
                       0,
                       p.transB,
                       c,
                       p.wide ? p.ldc : kStrideOfColumns,
                       p.accumulate};
      multiplyTerms(p, block, i0, j0, rest);
      for (int64_t r = 0; r < rows && !p.wide; ++r)
        narrow(sums + r * kStrideOfColumns, cols,
               static_cast<uint16_t *>(p.c) + (i0 + r) * p.ldc + j0);
    }
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_GEMMBF16_H
