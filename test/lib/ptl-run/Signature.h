//===- Signature.h - What a function takes and returns --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Arguments and results are known by role and path, and by their global type:
// that is what makes the same numbers flow into a program before and after it
// was cut for a mesh.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_SIGNATURE_H
#define PTLC_TEST_LIB_PTL_RUN_SIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/lib/ptl-run/Interpreter.h"
#include <map>
#include <optional>

namespace ptlc::run {

/// An argument or a result.
struct Port {
  std::string
      role; ///< "weight", "state", "data", "hyper", "step", "valid", "loss", ...; or "value"
  std::string path; ///< "blocks.0.attn.wq", a field's name, or the number of an unnamed port
  Type local, global;
  Placement placement;
  mlir::DictionaryAttr attributes;
  /// Of integer data: the size of the dimension that it indexes, if the program shows one.
  std::optional<int64_t> range;
  /// The tensors that are concatenated here, if this is the parts of a bucket; they are known and
  /// returned by their own keys.
  std::vector<Port> members;

  std::string key() const { return path.empty() ? role : role + " " + path; }
};

struct Signature {
  mlir::func::FuncOp function;
  Mesh mesh; ///< of one device unless the function is per device
  std::vector<Port> arguments, results;
};

/// The ports, buckets as their members.
std::vector<Port> valuesOf(llvm::ArrayRef<Port> ports);

/// Reads the signature of a function with one block. Buckets of tensors that axes cut are refused.
llvm::FailureOr<Signature> readSignature(mlir::func::FuncOp function);

/// The function called `name`; without a name "step", "loss", or the only one.
llvm::FailureOr<mlir::func::FuncOp> findFunction(mlir::ModuleOp module, llvm::StringRef name);

/// Global tensors by key.
using Tensors = std::map<std::string, Tensor>;

/// What a run returned, in global terms.
struct GlobalOutcome {
  Tensors results;
  Tensors gradients; ///< by path; only those of programs for one device
};

/// Cuts the inputs for the ranks, runs, and puts the results together.
llvm::FailureOr<GlobalOutcome> runGlobal(const Signature &signature, const Tensors &inputs,
                                         const RunOptions &options);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_SIGNATURE_H
