//===- Emulator.h - Threads of a GPU as fibers ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a grid block by block, and a block's threads in turns: each until its next
// barrier or shuffle. All 32 threads of a warp meet at a shuffle and all of a
// block at a barrier; if they don't, the emulator says so and ends the process.
// Shared memory and workspaces begin as NaN, so that what is read before it is
// written shows. A result that depends on the order of threads shows by running
// them in reverse.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_NATIVE_EMULATOR_H
#define PTLC_TEST_LIB_PTL_NATIVE_EMULATOR_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace ptlc::native {

/// Threads run from the last to the first of a block, and blocks of a grid.
void setReverseOrder(bool reverse);

/// Calls `f` with the name and the address of each function that emulated kernels call.
void forEachEmulatorFunction(llvm::function_ref<void(llvm::StringRef, void *)> f);

} // namespace ptlc::native

#endif // PTLC_TEST_LIB_PTL_NATIVE_EMULATOR_H
