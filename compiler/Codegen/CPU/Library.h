//===- Library.h - Descriptors of library calls ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The fields of the structures in runtime/include/ptlrt/ptlrt.h, computed from
// names and layouts.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_CPU_LIBRARY_H
#define PTLC_COMPILER_CODEGEN_CPU_LIBRARY_H

#include "compiler/Analysis/Kernel/DotPlan.h"
#include "compiler/Codegen/Places.h"

namespace ptlc::cpu {

using codegen::Place;
using codegen::Places;

/// A value with its address, dimensions and strides.
struct Tensor {
  Place place;
  kernel::DotOperand dims; ///< names, sizes, strides in elements
};

mlir::FailureOr<Tensor> tensorOf(mlir::Value value, const Places &places);

/// A call of ptlrt_gemm_f32 or ptlrt_gemm_bf16; pointers in the order a, b, c.
struct GemmCall {
  kernel::GemmPlan plan;
  Place a, b, c;
  bool halves = false;      ///< operands are bf16
  bool wide = false;        ///< the result is f32 nevertheless
  bool accumulates = false; ///< adds if the micro-batch isn't the first
};
mlir::FailureOr<GemmCall> gemmCall(rt::KernelOp kernel, const Places &places);

/// A call of ptlrt_attention_forward or _backward.
struct AttentionCall {
  static constexpr unsigned kMaxOuter = 5;
  bool backward = false;
  bool halves = false; ///< all but lse are bf16
  int64_t queries, keys, depth, valueDepth;
  bool causal = false;
  int64_t window = 0;
  float scale = 1;
  struct Outer {
    int64_t size = 1, q = 0, k = 0, v = 0, o = 0, lse = 0, mask = 0;
  };
  llvm::SmallVector<Outer, 5> outer;
  int64_t qRow, kRow, vRow, oRow, lseRow, maskRow = 0, maskCol = 0;
  /// q, k, v, [mask], out, lse; backward: then dout, dq, dk, dv.
  Place q, k, v, out, lse, dout, dq, dk, dv;
  std::optional<Place> mask;
};
mlir::FailureOr<AttentionCall> attentionCall(rt::KernelOp kernel, const Places &places);

} // namespace ptlc::cpu

#endif // PTLC_COMPILER_CODEGEN_CPU_LIBRARY_H
