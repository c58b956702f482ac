//===- TensorCuts.h - Which dimensions tensor ranks can share ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_TENSORCUTS_H
#define PTLC_COMPILER_DRIVER_TENSORCUTS_H

#include "lang/Sema/Program.h"

namespace ptlc {

/// How a program is cut over tensor ranks: by the dimensions of its weights that aren't those of
/// the residual stream, so that every large weight is cut and what lies between layers isn't.
struct TensorCuts {
  llvm::SmallVector<sema::DimId, 6> dims; ///< of weights
  std::optional<sema::DimId> sequence;    ///< of the residual stream, of no weight of the stack
  size_t stack = 0;                       ///< index into Program::stacks: the one with most parts
  bool hasStack = false;

  /// Whether `ranks` divide every one of the dimensions.
  bool divide(const sema::Program &program, unsigned ranks) const;
};

TensorCuts tensorCutsOf(const sema::Program &program);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_TENSORCUTS_H
