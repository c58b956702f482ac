//===- Phases.h - The stages of a compilation -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One name per stage: what `--emit=` takes, what a dump is called, and where in
// the pipeline a pass belongs. The order here is the order of the compilation.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_PIPELINES_PHASES_H
#define PTLC_COMPILER_PIPELINES_PHASES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace ptlc {

enum class Phase {
  Ast,       ///< the parsed file
  Model,     ///< functions as they are written
  Flat,      ///< one function; every weight an argument with its path
  Train,     ///< + backward, gradient accumulation, clipping, optimizer
  Precision, ///< + casts, masters, types of reductions
  Sharded,   ///< every value with its sharding, and where it came from
  Spmd,      ///< local shapes, collectives explicit
  Remat,     ///< what is computed again in the backward
  Zero,      ///< where weights, gradients and states live
  Pipelined, ///< one program for each rank of the pipeline
  Comm,      ///< collectives merged and ordered
  Kernels,   ///< fused kernels and library calls, still tensors
  Memory,    ///< lifetimes, arena offsets, the peak
  Gpu,       ///< row kernels as gpu functions
  Nvvm,      ///< row kernels in the NVVM dialect
  LLVM,      ///< LLVM IR of the stage functions and kernels
  Ptx,       ///< row kernels for CUDA
  Obj,       ///< an object file
  Executable ///< linked with the runtime
};

struct PhaseInfo {
  Phase phase;
  llvm::StringRef name;    ///< as in `--emit=`
  llvm::StringRef summary; ///< one sentence for `--help`
};

/// All phases, in order.
llvm::ArrayRef<PhaseInfo> allPhases();
std::optional<Phase> parsePhase(llvm::StringRef name);
llvm::StringRef phaseName(Phase phase);

} // namespace ptlc

#endif // PTLC_COMPILER_PIPELINES_PHASES_H
