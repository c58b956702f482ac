//===- Recompute.cpp - Cheap values are computed where they are needed ----===//
// SPDX-License-Identifier: Apache-2.0
//
// The normalised input of a norm is the model case: forward makes it from x, mean
// and 1/std, which backward reads anyway; storing it would cost a tensor per norm
// and two passes over memory.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/Recompute.h"

#include "compiler/Analysis/Kernel/Outline.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::fuse;

static bool isCheap(Operation *op) {
  auto map = dyn_cast_or_null<ptl::ElementwiseOp>(op);
  if (!map)
    return false;
  switch (map.getKind()) {
  case ptl::ElementwiseKind::Add:
  case ptl::ElementwiseKind::Sub:
  case ptl::ElementwiseKind::Mul:
  case ptl::ElementwiseKind::Neg:
  case ptl::ElementwiseKind::Max:
  case ptl::ElementwiseKind::Min:
  case ptl::ElementwiseKind::Abs:
  case ptl::ElementwiseKind::Relu:
  case ptl::ElementwiseKind::Select:
    return true;
  case ptl::ElementwiseKind::Cast: // to bf16
    return ptl::isFloatTensor(map.getOperands()[0].getType()) &&
           ptl::isFloatTensor(map.getResult().getType());
  default:
    return ptl::ElementwiseOp::isComparison(map.getKind());
  }
}

static int64_t elements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

namespace {
class Recomputer {
public:
  Recomputer(Block &block, Groups &groups) : block(block), groups(groups) {}
  void run();

private:
  struct Recipe {
    llvm::SetVector<Operation *> operations; ///< to copy, producers first
    llvm::SetVector<Value> leaves;           ///< large values that it reads
  };
  bool collect(Value value, unsigned owner, Value whole, Recipe &recipe) const;
  void consider(Operation *op);
  bool isStored(Value value) const;
  void copyInto(const Recipe &recipe, Value value, unsigned group);
  bool reads(unsigned group, Value value) const;
  void redirect(Value from, Value to, unsigned group, ArrayRef<Operation *> clones);

  Block &block;
  Groups &groups;
};
} // namespace

/// True if something outside of the group that makes the value reads it.
bool Recomputer::isStored(Value value) const {
  Operation *producer = value.getDefiningOp();
  std::optional<unsigned> owner = producer ? groups.of(producer) : std::nullopt;
  if (!owner)
    return true;
  SmallVector<Operation *> users(value.getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (kernel::isFree(user))
      llvm::append_range(users, user->getUsers());
    else if (groups.of(user) != owner)
      return true;
  }
  return false;
}

/// True if a group reads the value, perhaps through free operations.
static bool isReadIn(Value value, unsigned group, const Groups &groups) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return kernel::isFree(user) ? isReadIn(user->getResult(0), group, groups)
                                : groups.of(user) == group;
  });
}

bool Recomputer::reads(unsigned group, Value value) const {
  if (ptl::elementType(value).isBF16())
    return isReadIn(value, group, groups);
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return groups.of(user) == group; });
}

/// What it takes to compute `value` again from values that lie in memory; false if that isn't
/// cheap.
bool Recomputer::collect(Value value, unsigned owner, Value whole, Recipe &recipe) const {
  Operation *producer = value.getDefiningOp();
  if (kernel::isFree(producer)) {
    for (Value operand : producer->getOperands())
      if (!collect(operand, owner, whole, recipe))
        return false;
    recipe.operations.insert(producer);
    return true;
  }
  bool own = producer && groups.of(producer) == owner;
  // Half the bytes of what is computed from it in f32.
  if (value != whole && ptl::elementType(value).isBF16()) {
    recipe.leaves.insert(value);
    return true;
  }
  // A value per row costs nothing to store.
  if (value != whole && elements(value) * 4 <= elements(whole))
    return true;
  if (value != whole && (!own || isStored(value))) {
    recipe.leaves.insert(value);
    return true;
  }
  if (!own || !isCheap(producer) || recipe.operations.size() > 8)
    return false;
  for (Value operand : producer->getOperands())
    if (!collect(operand, owner, whole, recipe))
      return false;
  recipe.operations.insert(producer);
  return true;
}

void Recomputer::copyInto(const Recipe &recipe, Value value, unsigned group) {
  IRMapping map;
  OpBuilder builder(groups.all()[group].operations.front());
  SmallVector<Operation *> clones;
  for (Operation *op : recipe.operations) {
    clones.push_back(builder.clone(*op, map));
    if (kernel::isFree(op))
      clones.pop_back();
  }
  for (Operation *clone : llvm::reverse(clones))
    groups.addClone(clone, group);
  redirect(value, map.lookup(value), group, clones);
}

/// Lets the group's operations, but `clones`, read `to` instead of `from`. Free operations between,
/// casts from bf16, are copied.
void Recomputer::redirect(Value from, Value to, unsigned group, ArrayRef<Operation *> clones) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : from.getUses())
    uses.push_back(&use);
  for (OpOperand *use : uses) {
    Operation *user = use->getOwner();
    if (groups.of(user) == group && !llvm::is_contained(clones, user)) {
      use->set(to);
    } else if (kernel::isFree(user) && user != to.getDefiningOp() &&
               isReadIn(user->getResult(0), group, groups)) {
      OpBuilder builder(groups.all()[group].operations.front());
      builder.setInsertionPointAfterValue(to);
      IRMapping map;
      map.map(from, to);
      redirect(user->getResult(0), builder.clone(*user, map)->getResult(0), group, clones);
    }
  }
}

void Recomputer::consider(Operation *op) {
  std::optional<unsigned> owner = groups.of(op);
  Value value = op->getResult(0);
  if (!owner || !isCheap(op) || !isStored(value))
    return;
  llvm::SetVector<unsigned> readers;
  SmallVector<Operation *> users(value.getUsers());
  bool isHalf = ptl::elementType(value).isBF16();
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (isHalf && kernel::isFree(user)) {
      llvm::append_range(users, user->getUsers());
      continue;
    }
    std::optional<unsigned> reader = groups.of(user);
    if (!reader)
      return;
    if (*reader != *owner)
      readers.insert(*reader);
  }
  Recipe recipe;
  if (!collect(value, *owner, value, recipe))
    return;
  unsigned fresh = llvm::count_if(recipe.leaves, [&](Value leaf) { return !isStored(leaf); });
  for (unsigned reader : readers) {
    unsigned more = llvm::count_if(recipe.leaves, [&](Value leaf) { return !reads(reader, leaf); });
    if (more > 1 || fresh > 1)
      return;
  }
  for (unsigned reader : readers)
    copyInto(recipe, value, reader);
}

void Recomputer::run() {
  SmallVector<Operation *> operations;
  for (Operation &op : block)
    operations.push_back(&op);
  // Users first: a value whose readers compute it again may make its operands stored.
  for (Operation *op : llvm::reverse(operations))
    consider(op);
}

void fuse::recomputeCheapValues(Block &block, Groups &groups) { Recomputer(block, groups).run(); }
