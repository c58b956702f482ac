//===- TensorCuts.cpp - Which dimensions tensor ranks can share -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The residual stream is what a part of the largest stack takes and returns. Of
// each matrix the first dimension that isn't in it is cut: heads before their
// depth, the hidden dimension of an MLP, experts, the vocabulary.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/TensorCuts.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;

bool TensorCuts::divide(const sema::Program &program, unsigned ranks) const {
  return llvm::all_of(dims, [&](sema::DimId dim) { return program.size(dim) % ranks == 0; });
}

/// Dimensions of the first argument of the first call of `part`.
static sema::DimList residualDims(const sema::Program &program, sema::PartId part) {
  for (const sema::Call &call : program.loss.calls)
    if (call.part == part && !call.results.empty())
      return program.loss.type(call.results.front()).dims;
  return {};
}

static bool isInside(const sema::Program &program, sema::PartId part, sema::PartId owner) {
  for (; part != sema::kNone; part = program.parts[part].parent)
    if (part == owner)
      return true;
  return false;
}

TensorCuts ptlc::tensorCutsOf(const sema::Program &program) {
  TensorCuts cuts;
  for (size_t i = 0; i < program.stacks.size(); ++i)
    if (!cuts.hasStack ||
        program.stacks[i].parts.size() > program.stacks[cuts.stack].parts.size()) {
      cuts.stack = i;
      cuts.hasStack = true;
    }
  if (!cuts.hasStack || program.stacks[cuts.stack].parts.empty())
    return cuts;
  sema::PartId part = program.stacks[cuts.stack].parts.front();
  sema::DimList residual = residualDims(program, part);
  sema::DimList ofWeights;
  for (const sema::Weight &weight : program.weights) {
    if (isInside(program, weight.part, part))
      llvm::append_range(ofWeights, weight.type.dims);
    if (weight.type.dims.size() < 2)
      continue;
    const auto *dim = llvm::find_if(weight.type.dims, [&](sema::DimId candidate) {
      return !llvm::is_contained(residual, candidate);
    });
    if (dim != weight.type.dims.end() && !llvm::is_contained(cuts.dims, *dim))
      cuts.dims.push_back(*dim);
  }
  for (sema::DimId dim : residual)
    if (dim != sema::kBatchDim && !llvm::is_contained(ofWeights, dim) && !cuts.sequence)
      cuts.sequence = dim;
  return cuts;
}
