//===- MaskRows.cpp - Keep padding out of folds ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rows are independent of each other until they are added up. So it is enough
// to mask the operands of sums over the batch, forward and backward alike; and
// it is needed in each operand, since padding may be anything: 0 * infinity.
// The masks' cuts have no axes yet: partitioning adds them.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Grad/MaskRows.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::grad;

/// Returns the operands of `op` whose rows are added up.
static SmallVector<OpOperand *> foldedOperands(Operation &op, const PieceDims &dims) {
  SmallVector<OpOperand *> folded;
  if (isa<ptl::YieldOp>(op))
    return folded;
  for (Value result : op.getResults()) {
    if (dims.hasRows(result.getType()))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      if (dims.hasRows(operand.get().getType()) && !llvm::is_contained(folded, &operand))
        folded.push_back(&operand);
    }
  }
  return folded;
}

/// Indices become -1, which adds nothing; everything else 0.
static double fillFor(OpOperand &operand) {
  auto scatter = dyn_cast<ptl::ScatterAddOp>(operand.getOwner());
  return scatter && operand.get() == scatter.getIds() ? -1 : 0;
}

void grad::maskRows(Block &body, const PieceDims &dims) {
  if (!dims.isUneven())
    return;
  llvm::DenseMap<std::pair<Value, int>, Value> masked; ///< by value and what padding becomes
  for (Operation &op : llvm::make_early_inc_range(body)) {
    for (OpOperand *operand : foldedOperands(op, dims)) {
      double fill = fillFor(*operand);
      Value value = operand->get();
      Value &known = masked[{value, int(fill)}];
      if (!known) {
        OpBuilder builder(&op);
        known = spmd::MaskOp::create(builder, op.getLoc(), value.getType(), value,
                                     builder.getF64FloatAttr(fill), dims.cutsOf(value.getType()),
                                     FlatSymbolRefAttr::get(op.getContext(), "mesh"));
      }
      operand->set(known);
    }
  }
}
