//===- ChunkGroup.h - Kernels around a large value --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_FUSE_CHUNKGROUP_H
#define PTLC_COMPILER_TRANSFORMS_FUSE_CHUNKGROUP_H

#include "dialects/Rt/Rt.h"
#include "llvm/ADT/SetVector.h"

namespace ptlc::fuse {

/// The kernels that make and read a large value, and values half as large that hang together with
/// it along the same outermost dimension.
class ChunkGroup {
public:
  /// The group around `large`, a kernel's result; none if it can't run piece by piece along the
  /// value's outermost dimension. Values whose groups would hold this one, if they aren't larger,
  /// go to `hopeless` then.
  static std::optional<ChunkGroup> create(mlir::Value large, llvm::DenseSet<mlir::Value> &hopeless);

  /// The kernels that build() replaces.
  llvm::ArrayRef<mlir::Operation *> getKernels() const { return kernels.getArrayRef(); }

  /// Replaces the kernels by a loop over `pieces` pieces; the size of `dim` must be a multiple.
  rt::ChunksOp build(int64_t pieces);

  mlir::StringAttr dim; ///< along which pieces are cut
  int64_t size = 1;     ///< of `dim`
  int64_t bytes = 0;    ///< of the large value
  int64_t rows = 1;     ///< that the large value has along its leading dimensions

private:
  bool grow(mlir::Value large);
  bool addLarge(mlir::Value value);
  bool addKernel(mlir::Operation *op);
  bool readsSums() const;
  bool findUsersBetween();
  bool canCut(mlir::Type type) const;
  bool fits(rt::KernelOp kernel) const;
  llvm::SmallVector<mlir::Value> resultsOutside() const;
  void cloneKernel(mlir::OpBuilder &builder, rt::KernelOp kernel, mlir::IRMapping &map,
                   int64_t pieces) const;
  mlir::Type sumType(mlir::Type type) const;
  mlir::Type pieceType(mlir::Type type, int64_t pieces) const;
  void setChunks(mlir::Operation *op, int64_t pieces) const;

  llvm::SetVector<mlir::Value> values;        ///< the large ones
  llvm::SetVector<mlir::Operation *> kernels; ///< in the block's order once the group is complete
  llvm::SmallVector<mlir::Operation *> later; ///< between them, but after them by their operands
};

} // namespace ptlc::fuse

#endif // PTLC_COMPILER_TRANSFORMS_FUSE_CHUNKGROUP_H
