//===- Native.h - A module of the memory stage, compiled and executed -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_NATIVE_NATIVE_H
#define PTLC_TEST_LIB_PTL_NATIVE_NATIVE_H

#include "compiler/Codegen/Target.h"
#include "test/lib/ptl-run/Signature.h"

namespace ptlc::native {

/// Compiles `module` (stage memory) and runs the stage functions of `function` once, on a thread
/// for each rank of its mesh. `inputs` and the results are global, by key. Memory that nothing
/// defines starts as NaN. `target` says how to compile; row kernels in it may call the emulator.
llvm::FailureOr<run::Tensors> execute(mlir::func::FuncOp function, const run::Signature &signature,
                                      const run::Tensors &inputs, uint64_t seed, int64_t step,
                                      const codegen::TargetOptions &target);

} // namespace ptlc::native

#endif // PTLC_TEST_LIB_PTL_NATIVE_NATIVE_H
