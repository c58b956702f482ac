//===- Kernels.h - The kernels of one instruction set, as a table ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Plain structures and function pointers: the border between code compiled for
// every CPU and code compiled for one instruction set.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_KERNELS_H
#define PTLRT_DEVICE_CPU_KERNELS_H

#include "runtime/device/cpu/Isa.h"
#include <stdint.h>

namespace ptlrt::cpu {

/// One matrix product C[m,n] (+)= op(A)[m,k] op(B)[k,n], strides in elements.
struct Product {
  int64_t m, n, k;
  const float *a;
  int64_t lda;
  bool transA; ///< A is [k, m]
  const float *b;
  int64_t ldb;
  bool transB; ///< B is [n, k]
  float *c;
  int64_t ldc;
  bool accumulate; ///< add to C, else overwrite it
};

/// Element types of a product: all f32; all bf16; bf16 with C in f32.
enum class GemmTypes : uint8_t { F32, Bf16, Bf16Wide };

/// The same with A and B in bf16: C is the sum of `terms` products, whose operands begin at
/// `aTerms` and `bTerms` elements. C is bf16, or f32 if `wide`; only then it may be added to.
struct HalfProduct {
  int64_t m, n, k;
  const uint16_t *a;
  int64_t lda;
  bool transA;
  const uint16_t *b;
  int64_t ldb;
  bool transB;
  void *c;
  int64_t ldc;
  bool wide, accumulate;
  int64_t terms;
  const int64_t *aTerms, *bTerms;
};

/// Attention of one head: see ptlrt_attention for the meaning of the sizes.
struct AttentionShape {
  int64_t queries, keys, depth, valueDepth;
  int64_t queryStart, keyStart, keyValid, window;
  int64_t qRow, kRow, vRow, oRow, lseRow, maskRow, maskCol;
  float scale;
  bool causal, masked;
};

/// Operands of one head. `reusePacked` = k and v are those of the call before.
struct AttentionForward {
  const float *q, *k, *v;
  const uint8_t *mask;
  float *out, *lse;
  bool reusePacked;
};
struct AttentionBackward {
  const float *q, *k, *v;
  const uint8_t *mask;
  const float *out, *lse, *dout;
  float *dq, *dk, *dv;
  bool addQ, addK, addV; ///< add to the gradient, else overwrite it
};

/// How values of several buffers are combined.
enum class Combine { Sum, Maximum, Minimum };

/// Partial sums of a sum of squares.
inline constexpr int kSquareSums = 16;

struct Kernels {
  Isa isa;
  /// Floats of scratch that `gemm` needs for any product.
  int64_t gemmScratch;
  void (*gemm)(const Product &product, float *scratch);
  /// Floats of scratch that `gemmBf16` needs for any product.
  int64_t gemmBf16Scratch;
  void (*gemmBf16)(const HalfProduct &product, float *scratch);
  /// Floats of scratch that one head needs.
  int64_t (*attentionScratch)(const AttentionShape &shape, bool backward);
  void (*attentionForward)(const AttentionShape &shape, const AttentionForward &head,
                           float *scratch);
  void (*attentionBackward)(const AttentionShape &shape, const AttentionBackward &head,
                            float *scratch);
  /// Elements begin .. end-1 of all `count` buffers become their combination, in
  /// the order of the buffers.
  void (*combine)(Combine kind, float *const *buffers, int64_t count, int64_t begin, int64_t end);
  /// Adds the square of x[i] to sums[(phase + i) % kSquareSums], i ascending, in one rounding each.
  void (*addSquares)(const float *x, int64_t count, int64_t phase, float *sums);
  /// to[i] = from[i], exactly.
  void (*widen)(const uint16_t *from, int64_t count, float *to);
  /// to[i] = from[i], rounded as by toBfloat16() of core/Bfloat16.h.
  void (*narrow)(const float *from, int64_t count, uint16_t *to);
  /// out[i] = exp(x[i]), for tests of the one used above.
  void (*exponential)(const float *x, float *out, int64_t count);
};

/// The tables; that of a set which the CPU lacks must not be called.
const Kernels &kernelsFor(Isa isa);

namespace avx2 {
extern const Kernels kTable;
} // namespace avx2
namespace avx512 {
extern const Kernels kTable;
} // namespace avx512

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_KERNELS_H
