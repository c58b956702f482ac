//===- RowKernels.h - Generated kernels of a program ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Equal kernels (same graph, layouts and shared operands) are generated once:
// the layers of a model share theirs.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_CPU_ROWKERNELS_H
#define PTLC_COMPILER_CODEGEN_CPU_ROWKERNELS_H

#include "compiler/Codegen/Places.h"
#include "compiler/Conversion/KernelToLoops/KernelToLoops.h"
#include "llvm/ADT/StringMap.h"

namespace ptlc::cpu {

using codegen::Place;
using codegen::Places;

/// A call of a generated kernel.
struct KernelCall {
  std::string name;
  int64_t rows = 1, grain = 1;
  std::vector<Place> buffers; ///< by slot
  std::vector<kernel::ScalarSource> scalars;
  bool accumulates = false; ///< one more scalar: micro-batch number
};

class RowKernels {
public:
  RowKernels(mlir::ModuleOp target, const Places &places) : target(target), places(places) {}

  /// Emits the kernel unless an equal one exists, and describes the call.
  mlir::FailureOr<KernelCall> call(rt::KernelOp kernel);
  /// The calls of a flat kernel: one for a whole bucket, else one per weight.
  mlir::FailureOr<std::vector<KernelCall>> callFlat(rt::KernelOp kernel);
  unsigned count() const { return names.size(); }

private:
  mlir::FailureOr<KernelCall> emit(kernel::Graph graph, std::vector<Place> operands,
                                   std::vector<Place> results, std::vector<bool> accumulates,
                                   mlir::Operation *op);

  mlir::ModuleOp target;
  const Places &places;
  llvm::StringMap<std::string> names; ///< by the text of graph and binding
};

} // namespace ptlc::cpu

#endif // PTLC_COMPILER_CODEGEN_CPU_ROWKERNELS_H
