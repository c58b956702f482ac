//===- Execute.h - One operation on one rank ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The bridge between operations and arithmetic: attributes are read here,
// numbers are made in the files that know no MLIR.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_EXECUTE_H
#define PTLC_TEST_LIB_PTL_RUN_EXECUTE_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"
#include "test/lib/ptl-run/Contraction.h"
#include "test/lib/ptl-run/Layout.h"
#include <optional>

namespace ptlc::run {

struct RunOptions {
  bool f64 = false; ///< no rounding to f32 anywhere
  Accumulate accumulate = Accumulate::F64;
  uint64_t seed = 0;
};

/// The named type of a tensor type; of `index` an i64 scalar.
Type typeOf(mlir::Type type);

/// What an operation sees besides itself.
struct OpState {
  llvm::SmallVector<Tensor, 4> operands;
  Windows windows; ///< of its `cut`, if it has one
  const RunOptions *options = nullptr;

  const Tensor &operator[](size_t i) const { return operands[i]; }
};
using Results = llvm::SmallVector<Tensor, 1>;

/// Executes an operation of the ptl dialect without a region; an error names an unknown one.
llvm::Expected<Results> execute(mlir::Operation *op, const OpState &state);
/// The composites among them; nullopt if it is none.
std::optional<llvm::Expected<Results>> executeComposite(mlir::Operation *op, const OpState &state);

/// Pieces of `cuts` (a #spmd.cuts) for `rank` in piece `chunk` of micro-batch `micro`.
llvm::Expected<Windows> windowsOf(mlir::Attribute cuts, const Mesh &mesh, int64_t rank,
                                  std::optional<int64_t> micro, std::optional<int64_t> chunk);

/// Executes an operation of the spmd dialect for all ranks at once: `inputs[rank]` are the
/// operands.
llvm::Expected<llvm::SmallVector<Results>> executeCollective(mlir::Operation *op, const Mesh &mesh,
                                                             llvm::ArrayRef<OpState> inputs);
bool isCollective(mlir::Operation *op);

/// The names of a list of string attributes.
Names namesOf(llvm::ArrayRef<mlir::StringAttr> names);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_EXECUTE_H
