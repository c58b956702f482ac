//===- Groups.h - Which operations share a kernel -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations of a block are taken in order; each joins the latest group that
// computes one of its operands, else one that reads the same values, or starts
// a group. It may join if it has the group's row dimensions, folds only inner
// ones (or is a sum over rows, which then only leaves the kernel, and whose order
// the rows must have), and depends on no operation outside of the group that
// depends on the group itself. What has rows joins no group without any.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_FUSE_GROUPS_H
#define PTLC_COMPILER_TRANSFORMS_FUSE_GROUPS_H

#include "dialects/Rt/Rt.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ptlc::fuse {

struct Group {
  llvm::SmallVector<mlir::Operation *> operations; ///< in block order
  llvm::SmallVector<mlir::StringAttr> iterate;
};

class Groups {
public:
  explicit Groups(mlir::Block &block);

  std::vector<Group> &all() { return groups; }
  /// The group of `op`, or none.
  std::optional<unsigned> of(mlir::Operation *op) const;
  /// Puts `op`, which stands in the block, at the front of group `number`.
  void addClone(mlir::Operation *op, unsigned number);
  /// Orders the block so that each group is contiguous. Returns false, and does nothing, if groups
  /// depend on each other.
  bool sortBlock();

private:
  void place(mlir::Operation *op);
  bool canJoin(mlir::Operation *op, unsigned number) const;
  bool dependsAround(llvm::ArrayRef<mlir::Operation *> operations,
                     llvm::ArrayRef<unsigned> inside) const;
  bool canMerge(unsigned a, unsigned b) const;
  void merge(unsigned from, unsigned into);
  void mergeProducers(mlir::Operation *op, unsigned number);
  llvm::SmallVector<unsigned> candidates(mlir::Operation *op) const;

  mlir::Block &block;
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers, positions;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> earlier; ///< of exchanges: the one before
};

/// Operations that a fused rows kernel may hold.
bool isFusable(mlir::Operation *op);

/// True if the operation sums over row dimensions, so that its result only leaves the kernel.
bool isRowSum(mlir::Operation *op, llvm::ArrayRef<mlir::StringAttr> iterate);

} // namespace ptlc::fuse

#endif // PTLC_COMPILER_TRANSFORMS_FUSE_GROUPS_H
