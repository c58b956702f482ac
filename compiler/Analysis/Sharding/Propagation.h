//===- Propagation.h - Which axes cut which dimension -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A plan's directives cut dimensions of some values; propagation decides the
// rest, over the forward and the backward program together, to a fixed point.
// In each round only axes of a given strength spread: first through operations
// that merely pass elements on, then through all. A step takes for each factor of
// one operation the strongest vote of its operands and results, and appends it to
// dimensions that no directive has closed. Lists only grow and never past the
// size of the dimension, so there are at most values x axes changes. What is
// pending is not propagated: it follows from the cuts.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_SHARDING_PROPAGATION_H
#define PTLC_COMPILER_ANALYSIS_SHARDING_PROPAGATION_H

#include "compiler/Analysis/Sharding/Factors.h"
#include "dialects/Ptl/Ptl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace ptlc::sharding {

/// How much a cut has to say; smaller is stronger.
enum class Strength : uint8_t { Path, Between, Dimension, Advice, Derived };

/// Where the axes of a dimension came from.
struct Origin {
  Strength strength = Strength::Derived;
  std::string text;               ///< of the rule: "shard batch: dp"
  size_t rule = 0;                ///< its place in the list, where there is a text
  mlir::Operation *via = nullptr; ///< the operation that brought it here; null: the rule itself
};

/// `shard d: axes` for all dimensions that `dims` names. A rule of strength Dimension holds for all
/// values; the others for the weights and fields that they list, and for the values whose
/// `spmd.constrain` lists them.
struct DimRule {
  llvm::SmallVector<std::string, 1> dims; ///< names in types
  AxisList axes;                          ///< empty: not cut
  std::string text, line;
  Strength strength = Strength::Dimension;
  int64_t length = 0;                ///< of the path: of two, the longer is stronger
  llvm::StringSet<> weights, fields; ///< paths
};

/// Two rules of equal strength that cut two dimensions of a value, no weight and no data field, by
/// one axis.
struct Clash {
  size_t first, second; ///< their places in the list
  mlir::Value value;    ///< the first that both speak of
};
/// Of pairs of rules that clash, whether the second is taken. The first is, if nothing is decided.
using Decisions = std::map<std::pair<size_t, size_t>, bool>;

/// What one value should look like, by propagation.
struct ValueSharding {
  Sharding sharding;
  llvm::SmallVector<Origin, 4> origins; ///< one per dimension
  uint32_t closed = 0;                  ///< dimensions that a directive speaks of, as bits
};

class Propagation {
public:
  Propagation(mlir::func::FuncOp function, const Mesh &mesh) : function(function), mesh(mesh) {}

  /// Seeds the rules, the list of `ptl.plan`, and runs to the fixed point. Fails, with a
  /// diagnostic, if two rules cut two dimensions of a weight or data field by one axis.
  mlir::LogicalResult run(llvm::ArrayRef<DimRule> rules, const Decisions &decisions = {});

  /// The pairs of rules that clash on some value, decided or not.
  llvm::ArrayRef<Clash> getClashes() const { return clashes; }

  const ValueSharding &get(mlir::Value value) const { return values.find(value)->second; }

private:
  mlir::LogicalResult seed(llvm::ArrayRef<DimRule> rules);
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<DimRule> rules, size_t index);
  void followWeights();
  mlir::LogicalResult seedValue(mlir::Value value, llvm::ArrayRef<DimRule> rules, size_t index);
  bool isTaken(mlir::Value value, size_t known, size_t added);
  void collect();
  bool sweep(llvm::ArrayRef<mlir::Operation *> list, Strength strength);
  bool step(mlir::Operation *op, Strength strength);
  bool tie(mlir::Value a, mlir::Value b);
  bool append(mlir::Value value, unsigned dim, const AxisList &axes, const Origin &origin);

  mlir::func::FuncOp function;
  const Mesh &mesh;
  Decisions decisions;
  llvm::SmallVector<Clash> clashes;
  llvm::MapVector<mlir::Value, ValueSharding> values;
  llvm::DenseMap<mlir::Operation *, ShardingRule> ruleOf;
  llvm::SmallVector<mlir::Operation *> all, passing;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> ties; ///< alike dimension by dimension
};

} // namespace ptlc::sharding

#endif // PTLC_COMPILER_ANALYSIS_SHARDING_PROPAGATION_H
