//===- Trial.h - What the verifier and the interpreter say ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_MUTATE_TRIAL_H
#define PTLC_TEST_LIB_PTL_MUTATE_TRIAL_H

#include "compiler/Analysis/Sharding/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/lib/ptl-run/Inputs.h"

namespace ptlc::mutate {

/// One program: as it was, cut, and what it computes on one rank.
class Trial {
public:
  /// `global` is a module of stage `sharded`. Numbers are made from `seed`.
  Trial(mlir::ModuleOp global, uint64_t seed) : global(global), seed(seed) {}

  /// Partitions; false with a message in `problem`.
  bool partition();
  /// Runs the global functions; false with a message in `problem`.
  bool runReference();
  mlir::ModuleOp getLocal() { return local.get(); }

  /// Whether the verifier refuses the module; its message is in `problem`.
  bool isSeen(mlir::ModuleOp module);
  /// Whether the module computes something else than the global program, or fails.
  bool isWrong(mlir::ModuleOp module);

  std::string problem;

private:
  struct Reference {
    run::Tensors inputs, results;
  };

  mlir::ModuleOp global;
  uint64_t seed;
  mlir::OwningOpRef<mlir::ModuleOp> local;
  sharding::Mesh mesh;
  std::map<std::string, Reference> references; ///< by function
};

} // namespace ptlc::mutate

#endif // PTLC_TEST_LIB_PTL_MUTATE_TRIAL_H
