//===- RematRules.h - What a plan lets be computed again --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The list `remat` of `ptl.plan`: a rule names kinds of operations and, by path, the
// parts or named values that it holds for. The longest path wins.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_MEMORY_REMATRULES_H
#define PTLC_COMPILER_TRANSFORMS_MEMORY_REMATRULES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace ptlc::memory {

/// Kinds of operations that may be computed again, as bits.
enum RematKinds : unsigned {
  kNothing = 0,
  kPointwise = 1,  ///< each element from elements: additions, activations, drop-out
  kScores = 2,     ///< between an attention's queries and keys and its weighted sum
  kAttention = 4,  ///< the weighted sum, too: all of an attention but what it reads
  kEverything = 8, ///< all but folds
  kGathers = 16,   ///< all-gathers, of values whose shards are kept instead
};

/// What the rules say of one operation.
struct RematChoice {
  unsigned kinds = kNothing;
  llvm::StringRef segment; ///< the part whose operations are computed again together
};

class RematRules {
public:
  explicit RematRules(mlir::ModuleOp module);

  bool empty() const { return rules.empty(); }
  RematChoice of(mlir::Operation *op) const;

private:
  struct Rule {
    unsigned kinds = kNothing;
    int64_t length = 0; ///< of its path; longer ones are stronger
  };

  std::vector<Rule> rules;
  /// Rules by the paths of parts and of named values.
  llvm::StringMap<llvm::SmallVector<unsigned, 2>> byPart, byValue;
};

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_REMATRULES_H
