//===- Rules.h - What is stored in bf16 -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_PRECISION_RULES_H
#define PTLC_COMPILER_TRANSFORMS_PRECISION_RULES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

namespace ptlc::precision {

/// The `precision` directives of a plan, read from `ptl.plan`. Of several rules the one with the
/// longest path holds; without any, everything is f32.
class Rules {
public:
  explicit Rules(mlir::ModuleOp module);

  bool any() const { return !rules.empty(); }
  /// Whether operations of a part (a path such as "blocks.0.attn"; empty: the model itself) store
  /// their results in bf16.
  bool isBf16Part(llvm::StringRef part) const;
  /// Whether computation reads the weight in bf16.
  bool isBf16Weight(llvm::StringRef path) const;

private:
  struct Rule {
    bool bf16 = false;
    int64_t strength = 0; ///< names of the path; 0: everything
    std::vector<llvm::StringRef> parts;
    llvm::StringSet<> weights;
  };
  std::vector<Rule> rules; ///< ascending strength
};

} // namespace ptlc::precision

#endif // PTLC_COMPILER_TRANSFORMS_PRECISION_RULES_H
