//===- Gradients.cpp - Derivatives of element-wise and shape operations ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Emitter.h"
#include "dialects/Ptl/Infer.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;
using K = ElementwiseKind;

// Operations whose results don't depend differentiably on any operand.
#define PTLC_NO_GRADIENT(OpT)                                                                      \
  LogicalResult OpT::buildGradient(OpBuilder &, ArrayRef<Value>, ArrayRef<bool>,                   \
                                   MutableArrayRef<Value>) {                                       \
    return success();                                                                              \
  }
PTLC_NO_GRADIENT(ConstantOp)
PTLC_NO_GRADIENT(IotaOp)
PTLC_NO_GRADIENT(RandomOp)
PTLC_NO_GRADIENT(StopGradientOp)
PTLC_NO_GRADIENT(ArgmaxOp)
#undef PTLC_NO_GRADIENT

/// dy * f'(x) for functions of one operand; y is f(x). Null: the derivative is zero everywhere.
static Value unaryGradient(Emitter &e, K kind, Value x, Value y, Value dy) {
  switch (kind) {
  case K::Neg:
    return e.neg(dy);
  case K::Exp:
    return e.mul(dy, y);
  case K::Log:
    return e.div(dy, x);
  case K::Sqrt:
    return e.div(e.scale(dy, 0.5), y);
  case K::Rsqrt:
    return e.mul(e.scale(dy, -0.5), e.mul(y, e.mul(y, y)));
  case K::Sin:
    return e.mul(dy, e.map(K::Cos, x));
  case K::Cos:
    return e.neg(e.mul(dy, e.map(K::Sin, x)));
  case K::Tanh:
    return e.mul(dy, e.sub(e.like(y, 1), e.mul(y, y)));
  case K::Sigmoid:
    return e.mul(dy, e.mul(y, e.sub(e.like(y, 1), y)));
  case K::Abs:
    return e.mul(dy, e.map(K::Sign, x));
  case K::Relu:
    return e.select(e.map(K::Gt, {x, e.like(x, 0)}), dy, e.like(dy, 0));
  case K::Gelu:
    return e.map(K::GeluGrad, {x, dy});
  case K::Silu:
    return e.map(K::SiluGrad, {x, dy});
  case K::Recip:
    return e.neg(e.mul(dy, e.mul(y, y)));
  case K::Cast:
    return isFloatTensor(x.getType()) ? e.cast(dy, elementType(x)) : Value();
  default:
    return {};
  }
}

/// Gradients of pow(a, b). d/da is 0 where b is 0; d/db is taken as 0 where a isn't positive.
static void powGradient(Emitter &e, Value a, Value b, Value y, Value dy, ArrayRef<bool> needed,
                        MutableArrayRef<Value> grads) {
  Value zero = e.like(a, 0);
  if (needed[0]) {
    Value slope = e.mul(b, e.map(K::Pow, {a, e.sub(b, e.like(b, 1))}));
    grads[0] = e.mul(dy, e.select(e.map(K::Eq, {b, zero}), zero, slope));
  }
  if (needed[1]) {
    Value positive = e.map(K::Gt, {a, zero});
    Value logA = e.log(e.select(positive, a, e.like(a, 1)));
    grads[1] = e.mul(dy, e.select(positive, e.mul(y, logA), zero));
  }
}

/// Gradients of max and min: to the operand that won, half to each at a tie.
static void extremumGradient(Emitter &e, K wins, Value a, Value b, Value dy, ArrayRef<bool> needed,
                             MutableArrayRef<Value> grads) {
  Value zero = e.like(dy, 0);
  Value tie = e.map(K::Eq, {a, b});
  Value half = e.scale(dy, 0.5);
  for (unsigned side : {0u, 1u}) {
    if (!needed[side])
      continue;
    Value won = side == 0 ? e.map(wins, {a, b}) : e.map(wins, {b, a});
    grads[side] = e.select(tie, half, e.select(won, dy, zero));
  }
}

LogicalResult ElementwiseOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                           ArrayRef<bool> needed, MutableArrayRef<Value> grads) {
  Emitter e(builder, getLoc());
  Value dy = gradResults[0], y = getResult();
  if (!isFloatTensor(y.getType()))
    return success();
  auto x = [&](unsigned index) { return getOperands()[index]; };
  auto set = [&](unsigned index, llvm::function_ref<Value()> build) {
    if (needed[index])
      grads[index] = build();
  };
  switch (getKind()) {
  case K::Add:
    set(0, [&] { return dy; });
    set(1, [&] { return dy; });
    return success();
  case K::Sub:
    set(0, [&] { return dy; });
    set(1, [&] { return e.neg(dy); });
    return success();
  case K::Mul:
    set(0, [&] { return e.mul(dy, x(1)); });
    set(1, [&] { return e.mul(dy, x(0)); });
    return success();
  case K::Div:
    set(0, [&] { return e.div(dy, x(1)); });
    set(1, [&] { return e.neg(e.div(e.mul(dy, y), x(1))); });
    return success();
  case K::Mod:
    set(0, [&] { return dy; });
    set(1, [&] { return e.neg(e.mul(dy, e.map(K::Floor, e.div(x(0), x(1))))); });
    return success();
  case K::Pow:
    powGradient(e, x(0), x(1), y, dy, needed, grads);
    return success();
  case K::Max:
  case K::Min:
    extremumGradient(e, getKind() == K::Max ? K::Gt : K::Lt, x(0), x(1), dy, needed, grads);
    return success();
  case K::Select:
    set(1, [&] { return e.select(x(0), dy, e.like(dy, 0)); });
    set(2, [&] { return e.select(x(0), e.like(dy, 0), dy); });
    return success();
  case K::GeluGrad:
  case K::SiluGrad:
    return emitOpError() << "'" << stringifyElementwiseKind(getKind())
                         << "' can't be differentiated again";
  default:
    set(0, [&] { return unaryGradient(e, getKind(), x(0), y, dy); });
    return success();
  }
}

//===----------------------------------------------------------------------===//
// Shape operations
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                         ArrayRef<bool>, MutableArrayRef<Value> grads) {
  Emitter e(builder, getLoc());
  SmallVector<StringAttr> added = unionDims(getDims(getResult()), {}, getDims(getX()));
  grads[0] = e.to(e.sum(gradResults[0], added), getX().getType());
  return success();
}

LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                       ArrayRef<bool>, MutableArrayRef<Value> grads) {
  Emitter e(builder, getLoc());
  SmallVector<ArrowAttr> arrows;
  SmallVector<int64_t> sizes;
  for (ArrowAttr arrow : getArrowRange()) {
    arrows.push_back(ArrowAttr::get(getContext(), arrow.getTo(), arrow.getFrom()));
    for (StringAttr dim : arrow.getFrom())
      sizes.push_back(getDimSize(getX(), dim.getValue()));
  }
  Value back = ReshapeOp::create(builder, getLoc(), gradResults[0], arrows, sizes);
  grads[0] = e.to(back, getX().getType());
  return success();
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                      ArrayRef<bool> needed, MutableArrayRef<Value> grads) {
  int64_t offset = 0;
  for (auto [index, dim] : llvm::enumerate(getFrom().getAsRange<StringAttr>())) {
    int64_t size = getDimSize(getOperands()[index], dim.getValue());
    if (needed[index])
      grads[index] =
          SliceOp::create(builder, getLoc(), gradResults[0], getToAttr(), dim, size, offset);
    offset += size;
  }
  return success();
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                     ArrayRef<bool>, MutableArrayRef<Value> grads) {
  grads[0] = PadOp::create(builder, getLoc(), gradResults[0], getToAttr(), getFromAttr(),
                           getDimSize(getX(), getFrom()), getOffset(), 0.0);
  return success();
}

LogicalResult PadOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults, ArrayRef<bool>,
                                   MutableArrayRef<Value> grads) {
  grads[0] = SliceOp::create(builder, getLoc(), gradResults[0], getToAttr(), getFromAttr(),
                             getDimSize(getX(), getFrom()), getOffset());
  return success();
}

LogicalResult GatherOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                      ArrayRef<bool> needed, MutableArrayRef<Value> grads) {
  if (needed[0])
    grads[0] = ScatterAddOp::create(builder, getLoc(), getTable().getType(), getIds(),
                                    gradResults[0], getDimAttr());
  return success();
}

LogicalResult ScatterAddOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                          ArrayRef<bool> needed, MutableArrayRef<Value> grads) {
  Emitter e(builder, getLoc());
  if (needed[1])
    grads[1] = e.to(GatherOp::create(builder, getLoc(), gradResults[0], getIds(), getDimAttr()),
                    getUpdates().getType());
  if (getInit() && needed[2])
    grads[2] = gradResults[0];
  return success();
}
