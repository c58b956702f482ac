//===- Forward.h - The forward of a micro-batch -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Forward is what the loss and the metrics are computed from; everything else in the
// body is backward. Forward operations that a rule speaks of form segments.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_MEMORY_FORWARD_H
#define PTLC_COMPILER_TRANSFORMS_MEMORY_FORWARD_H

#include "compiler/Transforms/Memory/RematRules.h"
#include "dialects/Ptl/Ptl.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace ptlc::memory {

class Forward {
public:
  /// The first `totals` values that the body yields are the loss and the metrics.
  Forward(mlir::Block &body, unsigned totals, const RematRules &rules)
      : body(body), totals(totals), rules(rules) {
    find();
  }

  /// Puts composites of segments, except attention that stays one kernel, in the form of
  /// primitives: rows' statistics are then values of their own, and are kept.
  void expandComposites();

  using Segments = llvm::MapVector<llvm::StringRef, std::vector<mlir::Operation *>>;
  /// Operations in block order, by the part that is computed again.
  const Segments &segments() const { return bySegment; }
  bool contains(mlir::Operation *op) const { return operations.contains(op); }
  /// "" for none.
  llvm::StringRef segmentOf(mlir::Operation *op) const { return choices.lookup(op).segment; }
  /// True if the rules and the nature of the operation let it be computed again.
  bool mayRepeat(mlir::Operation *op) const;
  /// True if something outside of the maker's segment computes forward values from it.
  bool leavesSegment(mlir::Value value) const;
  mlir::Block &block() const { return body; }

private:
  void find();
  void choose();
  void findScores();
  /// Computed from data, not from weights alone.
  bool isActivation(mlir::Value value) const { return activations.contains(value); }
  bool isProduct(mlir::Operation *op) const;

  mlir::Block &body;
  unsigned totals;
  const RematRules &rules;
  llvm::DenseSet<mlir::Operation *> operations;
  llvm::DenseSet<mlir::Value> activations;
  llvm::DenseMap<mlir::Operation *, RematChoice> choices;
  llvm::DenseSet<mlir::Operation *> scores, weightedSums; ///< of attentions written out
  Segments bySegment;
};

/// Operations that cost nothing, neither time nor memory: constants, indices, broadcasts, views.
bool isFreeOrView(mlir::Operation *op);

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_FORWARD_H
