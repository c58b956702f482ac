//===- Phases.cpp - The stages of a compilation ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Phases.h"

using namespace ptlc;

static constexpr PhaseInfo kPhases[] = {
    {Phase::Ast, "ast", "the parsed file"},
    {Phase::Model, "model", "functions and calls as they are written"},
    {Phase::Flat, "flat", "one function per use; every weight an argument with its path"},
    {Phase::Train, "train", "with backward, gradient accumulation, clipping and optimizer"},
    {Phase::Precision, "precision", "with casts, f32 masters and types of reductions"},
    {Phase::Sharded, "sharded", "every value with its sharding and where that came from"},
    {Phase::Spmd, "spmd", "what one rank computes: local shapes, collectives explicit"},
    {Phase::Remat, "remat", "what is computed again in the backward"},
    {Phase::Zero, "zero", "where weights, gradients and states live"},
    {Phase::Pipelined, "pipelined",
     "one program for each rank of a pipeline, its schedule as a table"},
    {Phase::Comm, "comm", "collectives merged and ordered"},
    {Phase::Kernels, "kernels", "fused kernels and library calls, still tensors"},
    {Phase::Memory, "memory", "lifetimes, places in the arena, the peak"},
    {Phase::Gpu, "gpu", "row kernels as gpu functions (with --target=cuda)"},
    {Phase::Nvvm, "nvvm", "row kernels in the NVVM dialect (with --target=cuda)"},
    {Phase::LLVM, "llvm", "LLVM IR of stage functions and kernels"},
    {Phase::Ptx, "ptx", "row kernels as PTX (with --target=cuda)"},
    {Phase::Obj, "obj", "an object file"},
    {Phase::Executable, "exe", "linked with the runtime (the default)"},
};

llvm::ArrayRef<PhaseInfo> ptlc::allPhases() { return kPhases; }

std::optional<Phase> ptlc::parsePhase(llvm::StringRef name) {
  for (const PhaseInfo &info : kPhases)
    if (info.name == name)
      return info.phase;
  return std::nullopt;
}

llvm::StringRef ptlc::phaseName(Phase phase) { return kPhases[static_cast<size_t>(phase)].name; }
