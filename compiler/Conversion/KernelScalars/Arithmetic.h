//===- Arithmetic.h - Scalar code of element-wise functions ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELSCALARS_ARITHMETIC_H
#define PTLC_COMPILER_CONVERSION_KERNELSCALARS_ARITHMETIC_H

#include "compiler/Analysis/Kernel/Graph.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ptlc::kernel {

/// The type of an element in a register; bf16 is f32 there.
mlir::Type typeOf(mlir::MLIRContext *context, Elem elem);
/// The type of an element in memory: bytes for truth values, two bytes for bf16.
mlir::Type memoryTypeOf(mlir::MLIRContext *context, Elem elem);
/// What a register holds of an element as it lies in memory, and the reverse.
mlir::Value fromMemory(mlir::ImplicitLocOpBuilder &b, mlir::Value value, Elem elem);
mlir::Value toMemory(mlir::ImplicitLocOpBuilder &b, mlir::Value value, Elem elem);
/// The nearest number that bf16 can represent, ties to even, as f32: 8 bits of significand are
/// left. What is too large becomes infinite; not-a-number stays, quiet. Integer operations, so that
/// every CPU and GPU gets the same bits, denormal numbers included.
mlir::Value roundToBf16(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
mlir::Value number(mlir::ImplicitLocOpBuilder &b, Elem elem, double value);
mlir::Value integer(mlir::ImplicitLocOpBuilder &b, int64_t value);

/// The value of `map` for scalar operands; `result` is the element type of the result.
mlir::Value mapValue(mlir::ImplicitLocOpBuilder &b, Map map, mlir::ValueRange operands,
                     Elem result);

/// One more element in a fold; floating-point sums may be reordered unless `mayReorder` is false.
mlir::Value combineValues(mlir::ImplicitLocOpBuilder &b, Combine combine, mlir::Value a,
                          mlir::Value x, bool mayReorder = true);
/// What a fold starts with.
mlir::Value identityOf(mlir::ImplicitLocOpBuilder &b, Combine combine, Elem elem);

/// Element `index` (i64) of the numbers of `place`: Philox 4x32-10 with the key
/// splitmix64(seed xor place) and the counter (index / 4, step); word index mod 4.
mlir::Value randomValue(mlir::ImplicitLocOpBuilder &b, bool normal, uint64_t place,
                        mlir::Value seed, mlir::Value step, mlir::Value index);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELSCALARS_ARITHMETIC_H
