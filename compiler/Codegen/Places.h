//===- Places.h - Addresses of values in a rank's arena -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_PLACES_H
#define PTLC_COMPILER_CODEGEN_PLACES_H

#include "compiler/Analysis/Kernel/Layout.h"
#include "dialects/Rt/Rt.h"
#include "mlir/IR/BuiltinOps.h"

namespace ptlc::codegen {

/// Bytes of the arena's levels.
struct Arena {
  explicit Arena(mlir::ModuleOp module);
  int64_t total() const { return persistent + slots + micro + scratch; }
  int64_t begin(rt::MemoryLevel level) const;

  int64_t persistent = 0, slots = 0, micro = 0, scratch = 0;
  int64_t least = 0; ///< bytes of `micro` that hold values at once at most; the rest are gaps
};

/// Where a value lies: arena + offset + micro-batch * microStride + piece * chunkStride, if it has
/// a pool of slots + the slot in use * slotStride, and if it is a part of a bucket + the rank's
/// place in its group over `axes` * part.
struct Place {
  int64_t offset = 0;      ///< bytes from the arena's start
  int64_t microStride = 0; ///< bytes
  int64_t chunkStride = 0; ///< bytes
  int64_t slotStride = 0;  ///< bytes
  int64_t pool = -1;
  int64_t part = 0;  ///< bytes
  bool bf16 = false; ///< elements are bf16
  mlir::ArrayAttr axes;
  kernel::MatrixLayout layout;
  /// True if it begins at a multiple of 16 bytes in every micro-batch and piece, as an arena does.
  bool isAligned() const {
    return offset % 16 == 0 && microStride % 16 == 0 && chunkStride % 16 == 0 &&
           slotStride % 16 == 0 && part % 16 == 0;
  }
  bool sameMemory(const Place &other) const {
    return offset == other.offset && microStride == other.microStride &&
           chunkStride == other.chunkStride && pool == other.pool && part == other.part &&
           axes == other.axes;
  }
};

/// Reads the attributes that the memory planner left.
class Places {
public:
  explicit Places(mlir::ModuleOp module) : arena(module) {}
  Place of(mlir::Value value) const;
  /// The tensors of a bucket, of which a value at `part` is a part: where they would lie if all
  /// parts lay behind each other. `members` is what the memory planner left.
  static llvm::SmallVector<Place> inBucket(const Place &part, mlir::ArrayAttr members);
  const Arena arena;

private:
  Place at(rt::BufferAttr buffer, mlir::Value value) const;
};

} // namespace ptlc::codegen

#endif // PTLC_COMPILER_CODEGEN_PLACES_H
