//===- ExpandComposites.cpp - Definitions of composite operations ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// These expansions are the meaning of the composites: fused kernels, sharding
// rules of cut dimensions and masks are checked against them. Divisors are the
// sizes of the types at hand, so expand before types become local wherever the
// dimension is cut.
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Emitter.h"
#include "dialects/Ptl/Infer.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;
using K = ElementwiseKind;

SmallVector<Value> SoftmaxOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Type type = getX().getType();
  Value powers = e.exp(e.sub(getX(), e.to(e.maxStopped(getX(), getOverAttr()), type)));
  Value reciprocal = e.map(K::Recip, e.sum(powers, getOverAttr()));
  return {e.mul(powers, e.to(reciprocal, type))};
}

SmallVector<Value> SoftmaxGradOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value total = e.sum(e.mul(getY(), getDy()), getOverAttr());
  return {e.mul(getY(), e.sub(getDy(), e.to(total, getDy().getType())))};
}

SmallVector<Value> LogSoftmaxOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Type type = getX().getType();
  Value shifted = e.sub(getX(), e.to(e.maxStopped(getX(), getOverAttr()), type));
  Value logSum = e.log(e.sum(e.exp(shifted), getOverAttr()));
  return {e.sub(shifted, e.to(logSum, type))};
}

SmallVector<Value> LogSoftmaxGradOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value total = e.to(e.sum(getDy(), getOverAttr()), getDy().getType());
  return {e.sub(getDy(), e.mul(e.exp(getY()), total))};
}

/// Mean along `over`.
static Value meanOver(Emitter &e, Value x, StringAttr over) {
  return e.scale(e.sum(x, over), 1.0 / getDimSize(x, over.getValue()));
}

SmallVector<Value> LayerNormOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Type type = getX().getType();
  Value mean = meanOver(e, getX(), getOverAttr());
  Value centred = e.sub(getX(), e.to(mean, type));
  Value variance = meanOver(e, e.mul(centred, centred), getOverAttr());
  Value rstd = e.map(K::Rsqrt, e.add(variance, e.like(variance, getEps().convertToDouble())));
  return {e.mul(centred, e.to(rstd, type)), mean, rstd};
}

SmallVector<Value> LayerNormGradOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Type type = getX().getType();
  Value rstd = e.to(getRstd(), type);
  Value normalized = e.mul(e.sub(getX(), e.to(getMean(), type)), rstd);
  Value shift = e.to(meanOver(e, getDy(), getOverAttr()), type);
  Value slope = e.to(meanOver(e, e.mul(getDy(), normalized), getOverAttr()), type);
  return {e.mul(rstd, e.sub(e.sub(getDy(), shift), e.mul(normalized, slope)))};
}

SmallVector<Value> RmsNormOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value square = meanOver(e, e.mul(getX(), getX()), getOverAttr());
  Value rstd = e.map(K::Rsqrt, e.add(square, e.like(square, getEps().convertToDouble())));
  return {e.mul(getX(), e.to(rstd, getX().getType())), rstd};
}

SmallVector<Value> RmsNormGradOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Type type = getX().getType();
  Value rstd = e.to(getRstd(), type);
  Value normalized = e.mul(getX(), rstd);
  Value slope = e.to(meanOver(e, e.mul(getDy(), normalized), getOverAttr()), type);
  return {e.mul(rstd, e.sub(getDy(), e.mul(normalized, slope)))};
}

/// i1 of the logits' dimensions: whether the class is the target.
static Value isTarget(Emitter &e, Value logits, Value targets, StringAttr over) {
  Value classes = e.iota(over, getDimSize(logits, over.getValue()), logits.getType());
  return e.map(K::Eq, {classes, e.to(targets, logits.getType())});
}

/// `value`, but 0 where the target is `ignore`.
static Value withoutIgnored(Emitter &e, Value value, Value targets,
                            std::optional<uint64_t> ignore) {
  if (!ignore)
    return value;
  Value ignored = e.map(K::Eq, {targets, e.like(targets, double(int64_t(*ignore)))});
  return e.select(ignored, e.like(value, 0), value);
}

SmallVector<Value> CrossEntropyOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value z = getLogits();
  Type row = getLoss().getType();
  Value top = e.maxStopped(z, getOverAttr());
  Value shifted = e.sub(z, e.to(top, z.getType()));
  Value logSum = e.log(e.sum(e.exp(shifted), getOverAttr()));
  Value hit = isTarget(e, z, getTargets(), getOverAttr());
  Value picked = e.sum(e.select(hit, shifted, e.like(shifted, 0)), getOverAttr());
  Value loss = e.to(e.sub(logSum, picked), row);
  return {withoutIgnored(e, loss, getTargets(), getIgnore()), e.to(e.add(top, logSum), row)};
}

SmallVector<Value> CrossEntropyGradOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value z = getLogits();
  Value probability = e.exp(e.sub(z, e.to(getLse(), z.getType())));
  Value hit = e.cast(isTarget(e, z, getTargets(), getOverAttr()), elementType(z));
  Value dloss = withoutIgnored(e, getDloss(), getTargets(), getIgnore());
  return {e.mul(e.sub(probability, hit), e.to(dloss, z.getType()))};
}

SmallVector<Value> ArgmaxOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Type type = getX().getType();
  Value top = ReduceOp::create(builder, getLoc(), FoldKind::Max, getX(), getOverAttr());
  Value hit = e.map(K::Eq, {getX(), e.to(top, type)});
  Value index = e.iota(getOverAttr(), getDimSize(getX(), getOver()), type);
  Value candidates = e.select(hit, index, e.like(index, std::numeric_limits<int32_t>::max()));
  return {ReduceOp::create(builder, getLoc(), FoldKind::Min, candidates, getOverAttr())};
}

SmallVector<Value> RopeOp::expand(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  StringAttr half = e.name(getOver() + ".half");
  int64_t size = getDimSize(getX(), getOver()) / 2;
  Value low = SliceOp::create(builder, getLoc(), getX(), getOverAttr(), half, size, 0);
  Value high = SliceOp::create(builder, getLoc(), getX(), getOverAttr(), half, size, size);
  Type element = elementType(getX());
  Type angles =
      getTensorType({getDimSize(getX(), getAlong()), size}, element, {getAlongAttr(), half});
  Value index = IotaOp::create(builder, getLoc(), half, size);
  double rate = -std::log(getTheta().convertToDouble()) / double(size);
  Value frequency = e.exp(e.scale(e.cast(index, element), rate));
  Value position =
      IotaOp::create(builder, getLoc(), getAlongAttr(), getDimSize(getX(), getAlong()));
  if (getCut())
    position.getDefiningOp<IotaOp>().setCutAttr(getCutAttr());
  Value angle = e.mul(e.to(e.cast(position, element), angles), e.to(frequency, angles));
  Value cosine = e.to(e.map(K::Cos, angle), low.getType());
  Value sine = e.to(e.map(K::Sin, angle), low.getType());
  if (getInverse())
    sine = e.neg(sine);
  Value newLow = e.sub(e.mul(low, cosine), e.mul(high, sine));
  Value newHigh = e.add(e.mul(high, cosine), e.mul(low, sine));
  return {ConcatOp::create(builder, getLoc(), ValueRange{newLow, newHigh}, {half, half},
                           getOverAttr())};
}
