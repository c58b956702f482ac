//===- PieceBody.cpp - The loss of one micro-batch ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Grad/PieceBody.h"
#include "dialects/Ptl/Emitter.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::grad;

void PieceBody::bindArgument(BlockArgument argument, Value value, bool isData) {
  if (isData)
    dataOnly.insert(argument);
  if (isData && dims.hasRows(argument.getType()))
    value = ptl::MicrobatchOp::create(builder, argument.getLoc(), value, body.getArgument(0),
                                      dims.getPieces(), builder.getStringAttr(kBatch));
  mapping.map(argument, value);
}

Value PieceBody::divideByPieces(Value value) {
  return dims.getPieces() == 1
             ? value
             : ptl::Emitter(builder, value.getLoc()).scale(value, 1.0 / dims.getPieces());
}

Value PieceBody::shareOf(Value value) {
  Value copied = mapping.lookup(value);
  return isShare(value) ? copied : divideByPieces(copied);
}

Value PieceBody::totalOf(Value share) {
  Value &total = totals[share];
  if (total)
    return total;
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &body; };
  (void)getBackwardSlice(share, &slice, options);
  auto accumulate =
      ptl::AccumulateOp::create(outside, share.getLoc(), share.getType(), dims.getPieces());
  OpBuilder inner = OpBuilder::atBlockEnd(&accumulate.getBody().front());
  IRMapping own;
  own.map(body.getArgument(0), accumulate.getPiece());
  for (Operation &op : body)
    if (slice.contains(&op))
      inner.clone(op, own);
  ptl::YieldOp::create(inner, share.getLoc(), own.lookup(share));
  return total = accumulate.getResult(0);
}

LogicalResult PieceBody::useTotal(Operation &op, unsigned index, SmallVectorImpl<Value> &operands) {
  if (!dataOnly.contains(op.getOperand(index)))
    return op.emitError("a total over the batch is used non-linearly, so the batch can't be cut "
                        "into micro-batches");
  operands[index] = totalOf(operands[index]);
  return success();
}

FailureOr<bool> PieceBody::arrangeOperands(Operation &op, SmallVectorImpl<Value> &operands) {
  SmallVector<unsigned> found;
  bool hasRows = false;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    hasRows |= dims.hasRows(operand.getType());
    if (isShare(operand))
      found.push_back(index);
  }
  bool givesRows = llvm::any_of(op.getResultTypes(), [&](Type type) { return dims.hasRows(type); });
  bool folds = hasRows && !givesRows;
  auto rule = cast<ShardingRuleInterface>(op).getShardingRule();
  SmallVector<unsigned> kept;
  if (!givesRows && !folds)
    for (unsigned index : found)
      if (llvm::is_contained(rule.linearOperands, index) && rule.linearity != Linearity::None)
        kept.push_back(index);
  // Of a product, one factor stays a share: the last that must be.
  if (rule.linearity == Linearity::One && kept.size() > 1) {
    auto mustStay = llvm::find_if(
        kept, [&](unsigned index) { return !dataOnly.contains(op.getOperand(index)); });
    kept = {mustStay == kept.end() ? kept.front() : *mustStay};
  }
  // A whole number can't be divided among the pieces.
  bool mixes = llvm::any_of(rule.linearOperands,
                            [&](unsigned index) { return !llvm::is_contained(found, index); });
  if (rule.linearity == Linearity::All && mixes && !ptl::isFloatTensor(op.getResult(0).getType()))
    kept.clear();
  for (unsigned index : found)
    if (!llvm::is_contained(kept, index) && failed(useTotal(op, index, operands)))
      return failure();
  if (kept.empty())
    return folds;
  // Terms of a sum that are equal in all pieces count once in all.
  if (rule.linearity == Linearity::All)
    for (unsigned index : rule.linearOperands)
      if (!llvm::is_contained(kept, index))
        operands[index] = divideByPieces(operands[index]);
  return true;
}

LogicalResult PieceBody::copyOperation(Operation &op) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(mapping.lookup(operand));
  if (llvm::all_of(op.getOperands(), [&](Value operand) { return dataOnly.contains(operand); }))
    dataOnly.insert(op.result_begin(), op.result_end());
  if (!isa<ShardingRuleInterface>(op))
    return op.emitOpError("can't stand in a loss");
  if (dims.getPieces() > 1) {
    FailureOr<bool> share = arrangeOperands(op, operands);
    if (failed(share))
      return failure();
    if (*share)
      shares.insert(op.result_begin(), op.result_end());
  } // else the only piece is the whole, and its share of anything the thing itself
  Operation *copied = builder.clone(op, mapping);
  copied->setOperands(operands);
  for (Value result : copied->getResults())
    result.setType(dims.pieceType(result.getType()));
  if (isa<ptl::IotaOp, ptl::RandomOp>(op))
    if (spmd::CutsAttr cuts = dims.cutsOf(op.getResult(0).getType()))
      copied->setAttr("cut", cuts);
  return success();
}

LogicalResult PieceBody::copy(Block &loss) {
  for (Operation &op : loss.without_terminator())
    if (failed(copyOperation(op)))
      return failure();
  return success();
}

/// Whether some operation of `later` uses a result of `earlier`.
static bool uses(ptl::AccumulateOp later, ptl::AccumulateOp earlier) {
  return llvm::any_of(earlier->getUsers(),
                      [&](Operation *user) { return later->isAncestor(user); });
}

/// Moves the body of `second` behind that of `first`; both are replaced by their union.
static ptl::AccumulateOp join(ptl::AccumulateOp first, ptl::AccumulateOp second) {
  OpBuilder builder(second);
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  auto joined = ptl::AccumulateOp::create(builder, first.getLoc(), types, first.getPieces());
  Block &block = joined.getBody().front();
  SmallVector<Value> yielded;
  SmallVector<Value> results;
  for (ptl::AccumulateOp part : {first, second}) {
    Block &body = part.getBody().front();
    auto yield = cast<ptl::YieldOp>(body.getTerminator());
    llvm::append_range(yielded, yield.getValues());
    llvm::append_range(results, part.getResults());
    yield.erase();
    part.getPiece().replaceAllUsesWith(joined.getPiece());
    block.getOperations().splice(block.end(), body.getOperations());
  }
  builder.setInsertionPointToEnd(&block);
  ptl::YieldOp::create(builder, joined.getLoc(), yielded);
  for (auto [old, now] : llvm::zip_equal(results, joined.getResults()))
    old.replaceAllUsesWith(now);
  first.erase();
  second.erase();
  return joined;
}

void grad::joinAccumulates(Operation *last) {
  auto before = [](Operation *op) {
    return dyn_cast_or_null<ptl::AccumulateOp>(op->getPrevNode());
  };
  ptl::AccumulateOp later = before(last);
  while (later) {
    ptl::AccumulateOp earlier = before(later);
    later = earlier && !uses(later, earlier) ? join(earlier, later) : earlier;
  }
}
