//===- OutlineRest.cpp - Kernels for operations that were not fused -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/OutlineRest.h"

#include "compiler/Analysis/Kernel/Outline.h"
#include "compiler/Transforms/Fuse/RowShape.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace ptlc;

/// Reorders a value; nothing if it has that order.
static Value reorder(OpBuilder &builder, Location loc, Value value, ArrayRef<StringAttr> order) {
  if (ptl::getDims(value) == order)
    return value;
  SmallVector<int64_t> shape;
  for (StringAttr name : order)
    shape.push_back(ptl::getDimSize(value, name));
  Type type = ptl::getTensorType(shape, ptl::elementType(value), order);
  return kernel::createCopy(builder, loc, value, type);
}

/// A contraction that isn't a matrix product for the sake of orders alone: batch dimensions first,
/// then those of one operand. Copies are cheap against the product.
static void fixOrder(ptl::DotOp op) {
  std::string error;
  if (fuse::isMatrixProduct(op, error))
    return;
  SmallVector<StringAttr> batch, left, right, over(op.getOver().getNames());
  for (StringAttr name : ptl::getDims(op.getResult())) {
    bool inLeft = ptl::hasDim(op.getLhs(), name), inRight = ptl::hasDim(op.getRhs(), name);
    (inLeft && inRight ? batch : inLeft ? left : right).push_back(name);
  }
  for (StringAttr name : over)
    if (!ptl::hasDim(op.getLhs(), name) || !ptl::hasDim(op.getRhs(), name))
      return;
  auto volume = [&](ArrayRef<StringAttr> names, Value value) {
    int64_t result = 1;
    for (StringAttr name : names)
      result *= ptl::getDimSize(value, name);
    return result;
  };
  if (volume(left, op.getLhs()) == 1 || volume(right, op.getRhs()) == 1 ||
      volume(over, op.getLhs()) == 1)
    return;
  auto join = [&](ArrayRef<StringAttr> x, ArrayRef<StringAttr> y) {
    SmallVector<StringAttr> names(batch);
    llvm::append_range(names, x);
    llvm::append_range(names, y);
    return names;
  };
  OpBuilder builder(op);
  Value lhs = reorder(builder, op.getLoc(), op.getLhs(), join(left, over));
  Value rhs = reorder(builder, op.getLoc(), op.getRhs(), join(over, right));
  auto product = ptl::DotOp::create(builder, op.getLoc(), lhs, rhs, over, join(left, right));
  Type element = ptl::elementType(op.getResult()); // of bf16 operands it may be f32
  product.getResult().setType(ptl::withElement(product.getType(), element));
  op.replaceAllUsesWith(
      reorder(builder, op.getLoc(), product.getResult(), ptl::getDims(op.getResult())));
  op.erase();
}

namespace {
/// Remembers the indices that an expansion makes.
struct IndexListener : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto index = dyn_cast<ptl::IotaOp>(op))
      indices.push_back(index);
  }
  SmallVector<ptl::IotaOp> indices;
};
} // namespace

/// Padding gets the first place: it may be anything, but what comes out must be a number, since
/// gradients multiply it by 0.
static void numberPadding(ptl::IotaOp index) {
  if (!index.getCut())
    return;
  OpBuilder builder(index->getContext());
  builder.setInsertionPointAfter(index);
  auto valid = spmd::MaskOp::create(
      builder, index.getLoc(), index.getType(), index.getResult(), builder.getF64FloatAttr(0),
      cast<spmd::CutsAttr>(*index.getCut()), FlatSymbolRefAttr::get(index.getContext(), "mesh"));
  index.getResult().replaceAllUsesExcept(valid.getResult(), valid);
}

static void expandAttention(Operation *op) {
  IndexListener listener;
  OpBuilder builder(op);
  builder.setListener(&listener);
  op->replaceAllUsesWith(ValueRange(cast<ExpandInterface>(op).expand(builder)));
  op->erase();
  for (ptl::IotaOp index : listener.indices)
    numberPadding(index);
}

void fuse::expandUnsupported(Operation *function) {
  function->walk([](Operation *op) {
    if (isa<ptl::AttentionOp, ptl::AttentionGradOp>(op) && !isRuntimeAttention(op))
      expandAttention(op);
  });
  function->walk([](ptl::DotOp op) { fixOrder(op); });
}

static void outlineAlone(Operation *op) {
  std::string error;
  if (auto dot = dyn_cast<ptl::DotOp>(op); dot && fuse::isMatrixProduct(dot, error))
    kernel::outline(op, rt::KernelKind::Matmul, {});
  else if (isa<ptl::AttentionOp, ptl::AttentionGradOp>(op))
    kernel::outline(op, rt::KernelKind::Attention, {});
  else if (isa<ptl::OptimizeOp>(op))
    kernel::outline(op, rt::KernelKind::Flat, {});
  else
    kernel::outline(op, rt::KernelKind::Rows, fuse::iterateAlone(op));
}

void fuse::outlineRest(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (!staysOutside(&op) && !kernel::isFree(&op))
      outlineAlone(&op);
  // Users first, so that chains of free operations vanish; what is left is read outside of kernels.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (kernel::isFree(&op) && op.use_empty())
      op.erase();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (kernel::isFree(&op))
      outlineAlone(&op);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && isOpTriviallyDead(&op))
      op.erase();
}
