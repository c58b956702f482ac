//===- Storage.h - Which values share memory, and for how long ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A storage is memory for one or more values: a value, its views, and the
// results that kernels write over it when it is no longer needed. Storages of
// the function's own block are persistent, since the next stage function, the
// runtime or the next step reads them; those of a loop body or of a forward
// function live from the operation that makes them to the last that reads them.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_MEMORY_STORAGE_H
#define PTLC_COMPILER_TRANSFORMS_MEMORY_STORAGE_H

#include "compiler/Transforms/Memory/Layouts.h"
#include "compiler/Transforms/Memory/Packing.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::memory {

struct Storage {
  int64_t bytes = 0;
  rt::MemoryLevel level = rt::MemoryLevel::Micro;
  bool shared = false;          ///< a collective works here, at one place for all micro-batches
  bool argument = false;        ///< of the function: nothing else may be written to it
  bool pinned = false;          ///< a result of the block: its memory outlives it
  unsigned first = 0, last = 0; ///< operations of the block
  std::optional<int64_t> offset;
  bool bucket = false; ///< holds all tensors of a bucket
  int64_t step = 0;    ///< bytes from one piece of rt.chunks to the next
  int64_t pool = -1;   ///< level slots: of which slots
  mlir::Block *block = nullptr;
};

class StorageMap {
public:
  explicit StorageMap(const Layouts &layouts) : layouts(layouts) {}

  /// Finds the storages of a function. Values of its own block are persistent if `persistentBody`;
  /// arguments always are.
  mlir::LogicalResult build(mlir::func::FuncOp function, bool persistentBody);

  Storage &of(mlir::Value value) { return storages[find(ids.lookup(value))]; }
  unsigned idOf(mlir::Value value) { return find(ids.lookup(value)); }
  /// Bytes from the beginning of its storage to a value.
  int64_t positionOf(mlir::Value value) const { return shiftOf(ids.lookup(value)); }
  bool has(mlir::Value value) const { return ids.contains(value); }
  Storage &operator[](unsigned id) { return storages[id]; }
  /// The storage of all that lives inside of a loop over pieces; its size isn't known here.
  std::optional<unsigned> bodyOf(rt::ChunksOp op) const {
    auto it = bodies.find(op);
    return it == bodies.end() ? std::nullopt : std::optional<unsigned>(it->second);
  }
  /// The storages that are not part of others, in order of creation.
  llvm::SmallVector<unsigned> roots();
  /// All values with a place, in order.
  llvm::ArrayRef<mlir::Value> values() const { return order; }

private:
  mlir::LogicalResult buildBlock(mlir::Block &block, rt::MemoryLevel level);
  unsigned add(int64_t bytes, rt::MemoryLevel level, mlir::Block *block, unsigned position);
  void create(mlir::Value value, rt::MemoryLevel level, unsigned position);
  bool comesOfDirections(mlir::OpResult result);
  void placeInSlots(mlir::Operation *op);
  void join(unsigned id, unsigned into, int64_t shift = 0);
  unsigned find(unsigned id) const;
  int64_t shiftOf(unsigned id) const;
  mlir::LogicalResult aliasBucket(mlir::Operation *op, mlir::ValueRange tensors, mlir::Value part,
                                  bool isInPlace);
  mlir::LogicalResult aliasOperation(mlir::Operation *op);
  void reuseOperands(rt::KernelOp kernel, unsigned position);
  void aliasChunks(rt::ChunksOp chunks);
  mlir::LogicalResult aliasOptimizer(rt::KernelOp kernel);
  void setLastUses(mlir::Block &block);

  const Layouts &layouts;
  std::vector<Storage> storages;
  std::vector<unsigned> parents;
  std::vector<int64_t> shifts; ///< bytes from the beginning of the parent
  llvm::DenseMap<mlir::Value, unsigned> ids;
  std::vector<mlir::Value> order;
  llvm::DenseSet<mlir::Value> ofDirections;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<mlir::Operation *, unsigned> bodies;
};

/// Lays storages of one block out by lifetime.
Packing placeByLifetime(StorageMap &map, llvm::ArrayRef<unsigned> ids);

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_STORAGE_H
