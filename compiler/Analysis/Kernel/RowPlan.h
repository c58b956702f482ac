//===- RowPlan.h - Loops and storage of a row kernel ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A row kernel treats one tuple of indices of `iterate` (a row) after the other.
// What it does for a row is a list of loops over the other (inner) dimensions,
// ordered by depth: the depth of a node is the number of reductions below it, a
// reduction runs in the loop of its operand's depth and is available at the
// next. Loops of equal depth and dimensions are one. Between loops a value is
// either computed again from the inputs (most are cheap) or, if that is dear,
// kept in a scratch row.
//
// Reductions over row dimensions add each row to their result in memory; such
// kernels are `sequential`: the caller runs all rows in order in one piece.
//
// The plan says nothing of vectors or threads; every back end follows it.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_ROWPLAN_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_ROWPLAN_H

#include "compiler/Analysis/Kernel/Graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace ptlc::kernel {

struct Action {
  enum Kind : uint8_t {
    Reduce,     ///< to a value of the row (no inner dimension is left)
    Accumulate, ///< a reduction of which inner dimensions are left: into scratch
    AddRow,     ///< a reduction over rows: into output `output`
    Scatter,    ///< ScatterAdd: into output `output`
    Select,     ///< TopK: into scratch
    Keep,       ///< a dear value: into scratch
    Store       ///< into output `output`
  } kind;
  Node *node;
  unsigned output = 0;
};

struct Loop {
  unsigned depth;
  DimList dims; ///< outermost first; empty: once per row
  llvm::SmallVector<Action, 4> actions;
  /// Of the last dimensions, those that every action, an `Accumulate`, folds.
  unsigned folded = 0;
};

/// Memory of one row, `dims` in order.
struct Scratch {
  DimList dims;
};

/// The most bytes that a row may keep.
inline constexpr int64_t kScratchLimit = 1 << 20;

class RowPlan {
public:
  /// Plans `graph`. On failure `error` says what does not fit the form of a row kernel.
  static std::optional<RowPlan> create(const Graph &graph, std::string &error);

  llvm::ArrayRef<Loop> loops() const { return loops_; }
  /// Where a reduction, a selection or a dear value lies; null: nowhere.
  const Scratch *scratch(const Node *node) const;
  llvm::ArrayRef<const Node *> scratchNodes() const { return scratchNodes_; }
  /// The loop that makes the value of a materialised node.
  std::optional<unsigned> madeIn(const Node *node) const;
  /// All rows must run in order, in one piece.
  bool sequential() const { return sequential_; }
  /// True if `output` may lie in the memory of argument `argument`, given equal layouts: no loop
  /// reads what an earlier one has overwritten, even where kept values are computed again.
  bool mayOverwrite(unsigned argument, unsigned output) const;

private:
  explicit RowPlan(const Graph &graph) : graph(graph) {}
  std::string plan();
  std::string addOutput(unsigned index);
  std::string addReduction(Node *node);
  std::string checkRows(const Node *node, DimList moved, unsigned budget) const;
  void keepDearValues();
  void keep(Node *node, unsigned firstLoop, bool before);
  void add(unsigned depth, DimList dims, Action action, unsigned folded = 0);
  unsigned depthOf(const Node *node);
  std::string visit(Node *node);
  /// At which indices a loop evaluates a value: its own, others of the row, those of another row.
  enum Access : unsigned { InPlace, Moved, OtherRow };
  /// What lies below a value that an earlier loop has kept counts as well (a back end may compute
  /// it again), or doesn't.
  enum class Kept : uint8_t { Computed, Loaded };
  /// Calls `f` for what loop `loop` evaluates.
  void forEachNeeded(unsigned loop, Kept kept, llvm::function_ref<void(Node *, Access)> f) const;
  bool isMaterialised(const Node *node) const;

  const Graph &graph;
  std::vector<Loop> loops_;
  llvm::DenseMap<const Node *, Scratch> scratch_;
  llvm::SmallVector<const Node *> scratchNodes_;
  llvm::DenseMap<const Node *, unsigned> depths;
  llvm::DenseMap<const Node *, bool> visited;
  int64_t scratchBytes = 0;
  bool sequential_ = false;
};

/// True for nodes whose operands are evaluated at other indices than their own.
bool movesIndices(const Node &node);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_ROWPLAN_H
