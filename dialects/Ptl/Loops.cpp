//===- Loops.cpp - Loops over micro-batches with other results ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Loops.h"

using namespace mlir;
using namespace ptlc;

SmallVector<Attribute> ptl::gradientPaths(AccumulateOp loop) {
  auto list = loop->getAttrOfType<ArrayAttr>(kGradients);
  return list
             ? SmallVector<Attribute>(list.getValue())
             : SmallVector<Attribute>(loop.getNumResults(), StringAttr::get(loop.getContext(), ""));
}

ptl::AccumulateOp ptl::withResults(AccumulateOp loop, ArrayRef<Value> values,
                                   ArrayRef<Attribute> paths) {
  OpBuilder builder(loop);
  auto fresh =
      AccumulateOp::create(builder, loop.getLoc(), ValueRange(values).getTypes(), loop.getPieces());
  fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (loop->hasAttr(kGradients))
    fresh->setAttr(kGradients, builder.getArrayAttr(paths));
  Operation *old = loop.getBody().front().getTerminator();
  builder.setInsertionPoint(old);
  YieldOp::create(builder, old->getLoc(), values);
  old->erase();
  fresh.getBody().takeBody(loop.getBody());
  return fresh;
}
