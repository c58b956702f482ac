//===- Directions.cpp - What Muon and LAMB do with whole tensors ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ordinary operations on the global view: how they are cut, and which products
// and sums are folded over ranks, the partitioner finds as for any others. Muon's
// iteration is torch.optim.Muon's (K. Jordan et al., "Muon", 2024), which
// multiplies in bf16, but in f32; the smaller of the two Gram matrices is used.
// The trust ratio is that of You et al., "Large batch optimization for deep
// learning" (2020), algorithm 2, with phi(x) = x.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Grad/Directions.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::grad;
using ptl::ElementwiseKind;

/// The square root of the sum of squares, a scalar.
static Value norm(ptl::Emitter &e, Value x) {
  return e.map(ElementwiseKind::Sqrt, e.sum(e.mul(x, x), ptl::getDims(x)));
}

static Value product(ptl::Emitter &e, Value lhs, Value rhs, StringAttr over) {
  return ptl::DotOp::create(e.builder, e.loc, lhs, rhs, over);
}

Value grad::orthogonalize(ptl::Emitter &e, Value x, const NewtonSchulz &settings) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<StringAttr> dims = llvm::to_vector(ptl::getDims(x));
  bool isTall = type.getDimSize(0) > type.getDimSize(1);
  StringAttr small = dims[isTall], large = dims[!isTall];
  StringAttr other = e.name(small.getValue() + "~"), third = e.name(small.getValue() + "~~");
  Value length = norm(e, x);
  length = e.map(ElementwiseKind::Max, {length, e.like(length, settings.eps)});
  x = e.div(x, e.to(length, x.getType()));
  for (int64_t i = 0; i < settings.steps; ++i) {
    Value renamed = e.rename(x, small, other);
    Value gram = product(e, x, renamed, large); // [small, other]
    Value square = product(e, gram, e.rename(e.rename(gram, other, third), small, other), other);
    Value polynomial =
        e.add(e.scale(gram, settings.b), e.scale(e.rename(square, third, other), settings.c));
    // Symmetric, so that it doesn't matter which of its dimensions is folded.
    Value moved =
        isTall ? product(e, renamed, polynomial, other) : product(e, polynomial, renamed, other);
    x = e.add(e.scale(x, settings.a), moved);
  }
  return x;
}

Value grad::trustRatio(ptl::Emitter &e, Value weight, Value direction) {
  Value size = norm(e, weight), step = norm(e, direction);
  auto isPositive = [&](Value x) { return e.map(ElementwiseKind::Gt, {x, e.like(x, 0)}); };
  Value both = e.map(ElementwiseKind::And, {isPositive(size), isPositive(step)});
  return e.select(both, e.div(size, step), e.like(size, 1));
}
