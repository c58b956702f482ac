//===- VerifyComposites.cpp - Verifiers of composite operations -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Infer.h"
#include "dialects/Ptl/Verify.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

/// (C1) and (C2) of operations along one dimension: all `others` have the first one's float type.
static LogicalResult verifyAlong(Operation *op, StringRef over, Value first, ValueRange others) {
  if (failed(expectDim(op, "operand", first.getType(), over)) || failed(expectFloat(op, first)))
    return failure();
  for (Value other : others)
    if (failed(expectType(op, "operand or result", first.getType(), other.getType())))
      return failure();
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifyAlong(*this, getOver(), getX(), getResult()); }
LogicalResult LogSoftmaxOp::verify() { return verifyAlong(*this, getOver(), getX(), getResult()); }
LogicalResult SoftmaxGradOp::verify() {
  return verifyAlong(*this, getOver(), getY(), {getDy(), getDx()});
}
LogicalResult LogSoftmaxGradOp::verify() {
  return verifyAlong(*this, getOver(), getY(), {getDy(), getDx()});
}

/// Row statistics have x's type without `over`.
static LogicalResult verifyStatistics(Operation *op, StringAttr over, Value x,
                                      ValueRange statistics) {
  for (Value value : statistics)
    if (failed(expectType(op, "statistic", withoutDims(x.getType(), over), value.getType())))
      return failure();
  return success();
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyAlong(*this, getOver(), getX(), getY())))
    return failure();
  return verifyStatistics(*this, getOverAttr(), getX(), {getMean(), getRstd()});
}
LogicalResult LayerNormGradOp::verify() {
  if (failed(verifyAlong(*this, getOver(), getX(), {getDy(), getDx()})))
    return failure();
  return verifyStatistics(*this, getOverAttr(), getX(), {getMean(), getRstd()});
}
LogicalResult RmsNormOp::verify() {
  if (failed(verifyAlong(*this, getOver(), getX(), getY())))
    return failure();
  return verifyStatistics(*this, getOverAttr(), getX(), getRstd());
}
LogicalResult RmsNormGradOp::verify() {
  if (failed(verifyAlong(*this, getOver(), getX(), {getDy(), getDx()})))
    return failure();
  return verifyStatistics(*this, getOverAttr(), getX(), getRstd());
}

/// Cross entropy and its gradient: logits, targets, and values per target.
static LogicalResult verifyTargets(Operation *op, StringAttr over, Value logits, Value targets,
                                   ValueRange rows) {
  if (failed(expectDim(op, "operand", logits.getType(), over.getValue())) ||
      failed(expectFloat(op, logits))) // C1
    return failure();
  if (!elementType(targets).isInteger(32))
    return op->emitOpError() << "targets must be i32, are " << elementType(targets); // C2
  RankedTensorType expected = withoutDims(logits.getType(), over);
  bool same = getDims(expected).size() == getDims(targets).size();
  for (StringAttr dim : getDims(expected))
    same = same && hasDim(targets, dim.getValue()) &&
           getDimSize(targets, dim.getValue()) == getDimSize(expected, dim.getValue());
  if (!same) // C2
    return op->emitOpError() << "targets must have the dimensions " << printDims(getDims(expected))
                             << " of " << logits.getType() << ", found " << targets.getType();
  Type row = withElement(targets.getType(), elementType(logits));
  for (Value value : rows)
    if (failed(expectType(op, "value per target", row, value.getType()))) // C3
      return failure();
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  return verifyTargets(*this, getOverAttr(), getLogits(), getTargets(), {getLoss(), getLse()});
}
LogicalResult CrossEntropyGradOp::verify() {
  if (failed(
          verifyTargets(*this, getOverAttr(), getLogits(), getTargets(), {getDloss(), getLse()})))
    return failure();
  return expectType(*this, "result", getLogits().getType(), getDlogits().getType()); // C3
}

LogicalResult RopeOp::verify() {
  if (failed(verifyAlong(*this, getOver(), getX(), getResult()))) // C1, C3
    return failure();
  if (getOver() == getAlong())
    return emitOpError() << "needs two dimensions, found '" << getOver() << "' twice"; // C1
  if (getDimSize(getX(), getOver()) % 2 != 0)
    return emitOpError() << "size of '" << getOver() << "' must be even, is "
                         << getDimSize(getX(), getOver());          // C2
  return expectDim(*this, "operand", getX().getType(), getAlong()); // C1
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// (C2): k (or v) has `over`, `depth`, and else only dimensions of q, after `group`.
template <typename OpT>
static LogicalResult verifyKeys(OpT op, StringRef what, Value k, StringAttr depth) {
  SmallVector<StringAttr> allowed{op.getOverAttr(), depth};
  ArrowAttr group = op.getGroupAttr();
  for (StringAttr dim : getDims(op.getQ())) {
    if (dim == op.getDepthAttr() || dim == op.getOverAttr())
      continue;
    bool grouped = group && group.getFrom().front() == dim;
    allowed.push_back(grouped ? group.getTo().front() : dim);
    if (!grouped && hasDim(k, dim.getValue()) &&
        getDimSize(k, dim.getValue()) != getDimSize(op.getQ(), dim.getValue()))
      return op.emitOpError() << "sizes of '" << dim.getValue()
                              << "' differ in the queries and in the " << what;
  }
  for (StringAttr dim : getDims(k))
    if (!llvm::is_contained(allowed, dim))
      return op.emitOpError() << "the " << what << " have '" << dim.getValue()
                              << "', which the queries lack";
  return success();
}

template <typename OpT> static LogicalResult verifyGroup(OpT op) {
  ArrowAttr group = op.getGroupAttr();
  if (!group)
    return success();
  if (group.getFrom().size() != 1 || group.getTo().size() != 1)
    return op.emitOpError("'group' needs one name on each side");
  if (failed(expectDim(op, "query", op.getQ().getType(), group.getFrom().front().getValue())) ||
      failed(expectDim(op, "key", op.getK().getType(), group.getTo().front().getValue())))
    return failure();
  int64_t heads = getDimSize(op.getQ(), group.getFrom().front().getValue());
  int64_t keyHeads = getDimSize(op.getK(), group.getTo().front().getValue());
  if (heads % keyHeads != 0)
    return op.emitOpError() << heads << " query heads can't share " << keyHeads << " key heads";
  return success();
}

/// (C4): the mask's dimensions are dimensions of the scores.
template <typename OpT> static LogicalResult verifyMask(OpT op) {
  Value mask = op.getMask();
  if (!mask)
    return success();
  if (!elementType(mask).isInteger(1))
    return op.emitOpError() << "the mask must be i1, is " << elementType(mask);
  for (StringAttr dim : getDims(mask)) {
    bool query = op.isSelfAttention() && dim.getValue() == (op.getOver() + ".query").str();
    if (dim == op.getOverAttr() || query ||
        (dim != op.getDepthAttr() && hasDim(op.getQ(), dim.getValue())))
      continue;
    return op.emitOpError() << "the scores have no dimension '" << dim.getValue()
                            << "' of the mask";
  }
  return success();
}

template <typename OpT> static LogicalResult verifyAttention(OpT op) {
  for (auto [what, value, dim] :
       {std::tuple<StringRef, Value, StringRef>{"key", op.getK(), op.getOver()},
        {"value", op.getV(), op.getOver()},
        {"query", op.getQ(), op.getDepth()},
        {"key", op.getK(), op.getDepth()},
        {"value", op.getV(), op.getValueDepth()}})
    if (failed(expectDim(op, what, value.getType(), dim)) || failed(expectFloat(op, value))) // C1
      return failure();
  Type element = elementType(op.getQ());
  if (elementType(op.getK()) != element || elementType(op.getV()) != element) // C6
    return op.emitOpError("queries, keys and values need one element type");
  if (getDimSize(op.getQ(), op.getDepth()) != getDimSize(op.getK(), op.getDepth()))
    return op.emitOpError("queries and keys differ in depth");
  if (getDimSize(op.getK(), op.getOver()) != getDimSize(op.getV(), op.getOver()))
    return op.emitOpError("keys and values differ in number");
  if (failed(verifyGroup(op)) || failed(verifyKeys(op, "keys", op.getK(), op.getDepthAttr())) ||
      failed(verifyKeys(op, "values", op.getV(), op.getValueDepthAttr())) || failed(verifyMask(op)))
    return failure();
  if ((op.getCausal() || op.getWindow()) && !op.isSelfAttention()) // C3
    return op.emitOpError() << "'causal' and 'window' need queries along '" << op.getOver() << "'";
  Type y = replaceDim(op.getQ().getType(), op.getDepthAttr(), op.getValueDepthAttr(),
                      getDimSize(op.getV(), op.getValueDepth()));
  if (failed(expectType(op, "y", y, op.getY().getType()))) // C5
    return failure();
  Type rows = withoutDims(op.getQ().getType(), op.getDepthAttr());
  if (element.isBF16())
    rows = withElement(rows, Float32Type::get(op.getContext()));
  return expectType(op, "lse", rows, op.getLse().getType()); // C5
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)) ||
      failed(expectType(*this, "dy", getY().getType(), getDy().getType())))
    return failure();
  for (auto [what, value, grad] : {std::tuple<StringRef, Value, Value>{"dq", getQ(), getDq()},
                                   {"dk", getK(), getDk()},
                                   {"dv", getV(), getDv()}})
    if (failed(expectType(*this, what, value.getType(), grad.getType()))) // C2
      return failure();
  return success();
}
