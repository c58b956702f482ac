//===- ExpandAttention.cpp - Definition of attention and its gradient -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Scores are einsum(q, k) by names. Two steps make the names right: in
// self-attention the keys' dimension gets a name of its own, and heads that
// share key heads are split into (key heads, group). Masked scores are a large
// negative number rather than minus infinity, so that a row without any key
// gives finite numbers.
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Emitter.h"
#include "dialects/Ptl/Infer.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;
using K = ElementwiseKind;

static constexpr double kMasked = -1e30;

namespace {
/// The pieces that the forward and the backward share.
template <typename OpT> class AttentionExpansion {
public:
  AttentionExpansion(OpT op, OpBuilder &builder) : op(op), e(builder, op.getLoc()) {
    over = op.getOverAttr();
    key = op.isSelfAttention() ? e.name(op.getOver() + ".key") : over;
    if (op.getGroupAttr()) {
      heads = op.getGroupAttr().getFrom().front();
      keyHeads = op.getGroupAttr().getTo().front();
      inGroup = e.name(heads.getValue() + ".group");
    }
    q = split(wide(op.getQ()));
    k = e.rename(wide(op.getK()), over, key);
    v = e.rename(wide(op.getV()), over, key);
  }

  /// In f32, where it is bf16; and back, in the element type of `like`.
  Value wide(Value x) { return elementType(x).isBF16() ? e.cast(x, e.builder.getF32Type()) : x; }
  Value as(Value x, Value like) {
    return elementType(x) == elementType(like) ? x : e.cast(x, elementType(like));
  }

  /// [.., heads, ..] -> [.., key heads, group, ..].
  Value split(Value x) {
    if (!heads || !hasDim(x, heads.getValue()))
      return x;
    int64_t count = getDimSize(op.getK(), keyHeads.getValue());
    ArrowAttr arrow = ArrowAttr::get(e.builder.getContext(), heads, {keyHeads, inGroup});
    return ReshapeOp::create(e.builder, e.loc, x, arrow,
                             {count, getDimSize(x, heads.getValue()) / count});
  }
  /// The inverse of split.
  Value merge(Value x) {
    if (!heads)
      return x;
    int64_t size = getDimSize(x, keyHeads.getValue()) * getDimSize(x, inGroup.getValue());
    ArrowAttr arrow = ArrowAttr::get(e.builder.getContext(), {keyHeads, inGroup}, heads);
    return ReshapeOp::create(e.builder, e.loc, x, arrow, size);
  }

  /// Scaled and masked scores, keys last.
  Value scores() {
    SmallVector<StringAttr> dims = unionDims(getDims(q), {}, op.getDepthAttr());
    dims.push_back(key);
    Value scores = DotOp::create(e.builder, e.loc, q, k, op.getDepthAttr(), dims);
    scores = e.scale(scores, op.getScale().convertToDouble());
    if (Value visible = visibility(scores.getType()))
      scores = e.select(visible, scores, e.like(scores, kMasked));
    return scores;
  }

  /// dot(a, b) with the dimensions of `like` that are left, all others summed.
  Value contract(Value a, Value b, ArrayRef<StringAttr> dims) {
    SmallVector<StringAttr> summed = unionDims(getDims(a), getDims(b), dims);
    return DotOp::create(e.builder, e.loc, a, b, summed, dims);
  }

  OpT op;
  Emitter e;
  Value q, k, v;
  StringAttr over, key;

private:
  Value both(Value a, Value b) { return a ? e.map(K::And, {a, b}) : b; }

  Value position(StringAttr dim, Type scores) {
    auto iota = IotaOp::create(e.builder, e.loc, dim, getDimSize(scores, dim.getValue()));
    if (op.getCut() && dim == over)
      iota.setCutAttr(op.getCutAttr());
    return e.to(iota, scores);
  }

  /// i1 of the scores' dimensions: which keys a query sees; null if all.
  Value visibility(Type scores) {
    Value visible;
    if (Value mask = op.getMask()) {
      if (op.isSelfAttention()) {
        if (hasDim(mask, over.getValue()))
          mask = e.rename(mask, over, key);
        StringAttr query = e.name(over.getValue() + ".query");
        if (hasDim(mask, query.getValue()))
          mask = e.rename(mask, query, over);
      }
      visible = e.to(split(mask), scores);
    }
    if (op.getCausal())
      visible = both(visible, e.map(K::Le, {position(key, scores), position(over, scores)}));
    if (op.getWindow()) {
      Value query = position(over, scores);
      Value first = e.sub(query, e.like(query, double(*op.getWindow())));
      visible = both(visible, e.map(K::Gt, {position(key, scores), first}));
    }
    return visible;
  }

  StringAttr heads, keyHeads, inGroup;
};
} // namespace

SmallVector<Value> AttentionOp::expand(OpBuilder &builder) {
  AttentionExpansion<AttentionOp> parts(*this, builder);
  Emitter &e = parts.e;
  Value scores = parts.scores();
  Value top = e.maxStopped(scores, parts.key);
  Value powers = e.exp(e.sub(scores, e.to(top, scores.getType())));
  Value total = e.sum(powers, parts.key);
  Value probability = e.mul(powers, e.to(e.map(K::Recip, total), scores.getType()));
  auto dims = llvm::to_vector(getDims(parts.q));
  llvm::replace(dims, getDepthAttr(), getValueDepthAttr());
  Value y = parts.contract(probability, parts.v, dims);
  return {parts.as(parts.merge(y), getY()), parts.merge(e.add(top, e.log(total)))};
}

SmallVector<Value> AttentionGradOp::expand(OpBuilder &builder) {
  AttentionExpansion<AttentionGradOp> parts(*this, builder);
  Emitter &e = parts.e;
  Value scores = parts.scores();
  Type type = scores.getType();
  Value dy = parts.split(parts.wide(getDy()));
  Value probability = e.exp(e.sub(scores, e.to(parts.split(getLse()), type)));
  Value dv = parts.contract(probability, dy, getDims(parts.v));
  Value dprobability = parts.contract(dy, parts.v, getDims(type));
  // sum over keys of p * dp equals sum over the depth of dy * y.
  Value rows = e.sum(e.mul(dy, parts.split(parts.wide(getY()))), getValueDepthAttr());
  Value dscores = e.mul(probability, e.sub(dprobability, e.to(rows, type)));
  dscores = e.scale(dscores, getScale().convertToDouble());
  Value dq = parts.contract(dscores, parts.k, getDims(parts.q));
  Value dk = parts.contract(dscores, parts.q, getDims(parts.k));
  return {parts.as(parts.merge(dq), getQ()), parts.as(e.rename(dk, parts.key, parts.over), getK()),
          parts.as(e.rename(dv, parts.key, parts.over), getV())};
}
