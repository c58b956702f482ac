//===- Mutations.h - Mistakes that a partitioner could make -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_MUTATE_MUTATIONS_H
#define PTLC_TEST_LIB_PTL_MUTATE_MUTATIONS_H

#include "dialects/Spmd/Spmd.h"
#include <random>

namespace ptlc::mutate {

/// Choices that depend on a seed alone.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// A number below `count`, which is at least 1.
  size_t below(size_t count) { return engine() % count; }
  template <typename List> auto pick(const List &list) { return list[below(list.size())]; }
  template <typename List> void shuffle(List &list) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[below(i)]);
  }

private:
  std::mt19937_64 engine;
};

struct Mutation {
  llvm::StringRef kind;
  /// Makes the mistake at `op`; false, with nothing changed, where it can't be made. Types may stop
  /// to fit together.
  bool (*apply)(mlir::Operation *op, spmd::MeshOp mesh, Random &random);
};

/// Of collectives, slices and `keep`.
llvm::ArrayRef<Mutation> moveMutations();
/// Of operations of the global program, of their offsets, and of masks.
llvm::ArrayRef<Mutation> localMutations();

/// Whether the operation is one of those of moveMutations().
bool isMove(mlir::Operation *op);
/// Whether the operation is one of the global program with one result and no region.
bool isStep(mlir::Operation *op);
/// The axes of the mesh that aren't in `list` and are of the size of `instead`. If there are none:
/// all that aren't in `list`, unless the size must be the `same`.
llvm::SmallVector<mlir::StringAttr> otherAxes(spmd::MeshOp mesh,
                                              llvm::ArrayRef<mlir::StringAttr> list,
                                              mlir::StringAttr instead, bool same);

} // namespace ptlc::mutate

#endif // PTLC_TEST_LIB_PTL_MUTATE_MUTATIONS_H
