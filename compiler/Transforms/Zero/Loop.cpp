//===- Loop.cpp - Results of the loop over micro-batches ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Loop.h"

#include "dialects/Ptl/Loops.h"

using namespace mlir;
using namespace ptlc;

ptl::AccumulateOp zero::addResults(ptl::AccumulateOp loop, ValueRange added) {
  SmallVector<Value> values(loop.getBody().front().getTerminator()->getOperands());
  SmallVector<Attribute> paths = ptl::gradientPaths(loop);
  llvm::append_range(values, added);
  paths.resize(values.size(), StringAttr::get(loop.getContext(), ""));
  ptl::AccumulateOp fresh = ptl::withResults(loop, values, paths);
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
  SmallVector<Attribute> all = ptl::gradientPaths(loop);
  for (auto [number, value] :
       llvm::enumerate(loop.getBody().front().getTerminator()->getOperands()))
    if (!loop.getResult(number).use_empty()) {
      kept.push_back(loop.getResult(number));
      values.push_back(value);
      paths.push_back(all[number]);
    }
  if (values.size() == all.size())
    return;
  ptl::AccumulateOp fresh = ptl::withResults(loop, values, paths);
  for (auto [old, result] : llvm::zip_equal(kept, fresh->getResults()))
    old.replaceAllUsesWith(result);
  loop.erase();
  eraseDead(fresh.getBody().front());
}
