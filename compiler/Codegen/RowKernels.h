//===- RowKernels.h - Generated kernels of a program ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Equal kernels (same graph, layouts and shared operands) are generated once:
// the layers of a model share theirs. What is generated is up to the back end.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_ROWKERNELS_H
#define PTLC_COMPILER_CODEGEN_ROWKERNELS_H

#include "compiler/Analysis/Kernel/Binding.h"
#include "compiler/Analysis/Kernel/RowPlan.h"
#include "compiler/Codegen/Places.h"
#include "llvm/ADT/StringMap.h"

namespace ptlc::codegen {

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
  /// Generates kernel `name`; reports what the target can't do at the location.
  using Emit = std::function<mlir::LogicalResult(
      llvm::StringRef name, const kernel::Graph &graph, const kernel::RowPlan &plan,
      const kernel::Binding &binding, mlir::Location loc)>;

  explicit RowKernels(Emit emitKernel) : emitKernel(std::move(emitKernel)) {}
  /// Says where the values of the following calls lie.
  void use(const Places &where) { places = &where; }

  /// Emits the kernel unless an equal one exists, and describes the call.
  mlir::FailureOr<KernelCall> call(rt::KernelOp kernel);
  /// The calls of a flat kernel: one for a whole bucket, else one per weight.
  mlir::FailureOr<std::vector<KernelCall>> callFlat(rt::KernelOp kernel);
  /// The call of a kernel that `graph` describes; places in the order of its arguments and outputs.
  mlir::FailureOr<KernelCall> callGraph(kernel::Graph graph, std::vector<Place> operands,
                                        std::vector<Place> results, mlir::Operation *op);
  unsigned count() const { return names.size(); }

private:
  mlir::FailureOr<KernelCall> emit(kernel::Graph graph, std::vector<Place> operands,
                                   std::vector<Place> results, std::vector<bool> accumulates,
                                   mlir::Operation *op);

  const Places *places = nullptr;
  Emit emitKernel;
  llvm::StringMap<std::string> names; ///< by the text of graph and binding
};

} // namespace ptlc::codegen

#endif // PTLC_COMPILER_CODEGEN_ROWKERNELS_H
