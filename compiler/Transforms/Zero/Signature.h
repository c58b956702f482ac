//===- Signature.h - Parts of buckets as arguments --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_SIGNATURE_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_SIGNATURE_H

#include "compiler/Transforms/Zero/Bucket.h"

namespace ptlc::zero {

/// Replaces arguments and results of a function, weights and their states, by parts of buckets.
class Signature {
public:
  explicit Signature(mlir::func::FuncOp step) : step(step) {}

  /// Adds an argument of the type of `bucket`'s parts in the place of `old`, with these attributes
  /// and those that say how parts are cut.
  mlir::Value add(const Bucket &bucket, const Plan &plan, mlir::ValueRange old,
                  mlir::NamedAttrList attributes);
  /// The attributes of an argument for states of one kind.
  mlir::NamedAttrList stateAttributes(const Bucket &bucket, mlir::ValueRange old);
  /// Returns `value`, the new value of `argument`, which was added, in the place of `old`.
  void returns(mlir::Value argument, mlir::Value value, mlir::ValueRange old);
  /// Removes the results that were replaced and adds the new ones.
  void finish();
  /// Removes the arguments that were replaced; nothing may read them any more.
  void eraseArguments();

private:
  mlir::func::FuncOp step;
  llvm::SmallVector<mlir::BlockArgument> oldArguments;
  struct Result {
    mlir::Value value;
    mlir::DictionaryAttr attributes;
  };
  llvm::SmallVector<Result> added;
  llvm::SmallVector<mlir::Value> oldResults;
};

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_SIGNATURE_H
