//===- Loop.cpp - Results of the loop over micro-batches ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Loop.h"

using namespace mlir;
using namespace ptlc;

static constexpr StringLiteral kGradients = "ptl.grad";

/// Moves the body of `loop` to a new loop that yields `values`, whose gradients' paths are `paths`.
static ptl::AccumulateOp rebuild(ptl::AccumulateOp loop, ArrayRef<Value> values,
                                 ArrayRef<Attribute> paths) {
  OpBuilder builder(loop);
  auto fresh = ptl::AccumulateOp::create(builder, loop.getLoc(), ValueRange(values).getTypes(),
                                         loop.getPieces());
  fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (loop->hasAttr(kGradients))
    fresh->setAttr(kGradients, builder.getArrayAttr(paths));
  Operation *old = loop.getBody().front().getTerminator();
  builder.setInsertionPoint(old);
  ptl::YieldOp::create(builder, old->getLoc(), values);
  old->erase();
  fresh.getBody().takeBody(loop.getBody());
  return fresh;
}

static SmallVector<Attribute> pathsOf(ptl::AccumulateOp loop) {
  auto list = loop->getAttrOfType<ArrayAttr>(kGradients);
  return list
             ? SmallVector<Attribute>(list.getValue())
             : SmallVector<Attribute>(loop.getNumResults(), StringAttr::get(loop.getContext(), ""));
}

ptl::AccumulateOp zero::addResults(ptl::AccumulateOp loop, ValueRange added) {
  SmallVector<Value> values(loop.getBody().front().getTerminator()->getOperands());
  SmallVector<Attribute> paths = pathsOf(loop);
  llvm::append_range(values, added);
  paths.resize(values.size(), StringAttr::get(loop.getContext(), ""));
  ptl::AccumulateOp fresh = rebuild(loop, values, paths);
  loop->replaceAllUsesWith(fresh->getResults().take_front(loop.getNumResults()));
  loop.erase();
  return fresh;
}

void zero::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && isOpTriviallyDead(&op))
      op.erase();
}

void zero::dropUnusedResults(ptl::AccumulateOp loop) {
  SmallVector<Value> values;
  SmallVector<Attribute> paths;
  SmallVector<Value> kept;
  SmallVector<Attribute> all = pathsOf(loop);
  for (auto [number, value] :
       llvm::enumerate(loop.getBody().front().getTerminator()->getOperands()))
    if (!loop.getResult(number).use_empty()) {
      kept.push_back(loop.getResult(number));
      values.push_back(value);
      paths.push_back(all[number]);
    }
  if (values.size() == all.size())
    return;
  ptl::AccumulateOp fresh = rebuild(loop, values, paths);
  for (auto [old, result] : llvm::zip_equal(kept, fresh->getResults()))
    old.replaceAllUsesWith(result);
  loop.erase();
  eraseDead(fresh.getBody().front());
}
