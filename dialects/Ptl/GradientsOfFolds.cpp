//===- GradientsOfFolds.cpp - Derivatives of contractions and composites --===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Emitter.h"
#include "dialects/Ptl/Infer.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;
using K = ElementwiseKind;

LogicalResult DotOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                   ArrayRef<bool> needed, MutableArrayRef<Value> grads) {
  Emitter e(builder, getLoc());
  Value dy = gradResults[0];
  for (unsigned side : {0u, 1u}) {
    if (!needed[side])
      continue;
    Value self = getOperand(side), other = getOperand(1 - side);
    // Sum over all that this operand lacks; what only it had and was summed gets equal shares.
    SmallVector<StringAttr> known = unionDims(getDims(dy), getDims(other));
    SmallVector<StringAttr> over = unionDims(known, {}, getDims(self));
    SmallVector<StringAttr> missing = unionDims(getDims(self), {}, known);
    SmallVector<StringAttr> kept = unionDims(getDims(self), {}, missing);
    grads[side] = e.to(DotOp::create(builder, getLoc(), dy, other, over, kept), self.getType());
  }
  return success();
}

/// The gradient of a maximum or minimum of x over one dimension: all of it to the lowest index that
/// attains it.
static Value extremumGradient(Emitter &e, FoldKind kind, Value x, StringAttr over, Value dy) {
  Value ordered = kind == FoldKind::Max ? x : e.neg(x);
  Value index = ArgmaxOp::create(e.builder, e.loc, ordered, over);
  Value position = e.iota(over, getDimSize(x, over.getValue()), x.getType());
  Value hit = e.map(K::Eq, {position, e.to(index, x.getType())});
  return e.select(hit, e.to(dy, x.getType()), e.like(x, 0));
}

LogicalResult ReduceOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                      ArrayRef<bool>, MutableArrayRef<Value> grads) {
  Emitter e(builder, getLoc());
  if (!isFloatTensor(getX().getType()))
    return success();
  if (getKind() == FoldKind::Sum) {
    grads[0] = e.to(gradResults[0], getX().getType());
    return success();
  }
  // Dimension by dimension, the last one first, so that ties go to the lowest row-major index.
  SmallVector<Value> partial{getX()};
  ArrayRef<StringAttr> over = getOver().getNames();
  for (StringAttr dim : llvm::reverse(over))
    partial.push_back(ReduceOp::create(builder, getLoc(), getKind(), partial.back(), dim));
  Value grad = gradResults[0];
  partial.pop_back();
  for (StringAttr dim : over)
    grad = extremumGradient(e, getKind(), partial.pop_back_val(), dim, grad);
  grads[0] = grad;
  return success();
}

LogicalResult TopKOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults, ArrayRef<bool>,
                                    MutableArrayRef<Value> grads) {
  if (gradResults[0])
    grads[0] = ScatterAddOp::create(builder, getLoc(), getX().getType(), getIndices(),
                                    gradResults[0], getFromAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

/// Only the first result of a composite has a gradient: the others are for its X_grad.
static LogicalResult expectFirstOnly(Operation *op, ArrayRef<Value> gradResults) {
  for (Value grad : gradResults.drop_front())
    if (grad)
      return op->emitOpError(
          "only the first result can be differentiated; expand the operation before");
  return success();
}

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                       ArrayRef<bool>, MutableArrayRef<Value> grads) {
  grads[0] = SoftmaxGradOp::create(builder, getLoc(), getResult(), gradResults[0], getOverAttr());
  return success();
}

LogicalResult LogSoftmaxOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                          ArrayRef<bool>, MutableArrayRef<Value> grads) {
  grads[0] =
      LogSoftmaxGradOp::create(builder, getLoc(), getResult(), gradResults[0], getOverAttr());
  return success();
}

LogicalResult LayerNormOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                         ArrayRef<bool>, MutableArrayRef<Value> grads) {
  if (failed(expectFirstOnly(*this, gradResults)))
    return failure();
  grads[0] = LayerNormGradOp::create(builder, getLoc(), getX().getType(), gradResults[0], getX(),
                                     getMean(), getRstd(), getOverAttr());
  return success();
}

LogicalResult RmsNormOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                       ArrayRef<bool>, MutableArrayRef<Value> grads) {
  if (failed(expectFirstOnly(*this, gradResults)))
    return failure();
  grads[0] = RmsNormGradOp::create(builder, getLoc(), getX().getType(), gradResults[0], getX(),
                                   getRstd(), getOverAttr());
  return success();
}

LogicalResult CrossEntropyOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                            ArrayRef<bool>, MutableArrayRef<Value> grads) {
  if (failed(expectFirstOnly(*this, gradResults)))
    return failure();
  grads[0] = CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), gradResults[0],
                                        getLogits(), getTargets(), getLse(), getOverAttr(),
                                        getIgnoreAttr());
  return success();
}

LogicalResult AttentionOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                         ArrayRef<bool>, MutableArrayRef<Value> grads) {
  if (failed(expectFirstOnly(*this, gradResults)))
    return failure();
  auto grad = AttentionGradOp::create(builder, getLoc(), *this, gradResults[0]);
  for (unsigned index : {0u, 1u, 2u})
    grads[index] = grad.getResult(index);
  return success();
}

LogicalResult RopeOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults, ArrayRef<bool>,
                                    MutableArrayRef<Value> grads) {
  grads[0] = RopeOp::create(builder, getLoc(), gradResults[0], getOverAttr(), getAlongAttr(),
                            getTheta().convertToDouble(), !getInverse());
  return success();
}
