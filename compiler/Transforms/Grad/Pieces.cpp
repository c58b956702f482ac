//===- Pieces.cpp - Dimensions that micro-batches divide ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Grad/Pieces.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::grad;

LogicalResult PieceDims::add(Operation *op, StringAttr dim, int64_t size) {
  if (uneven)
    return op->emitError() << "the batch can't be reshaped into '" << dim.getValue()
                           << "' in micro-batches of different sizes: " << sizes.lookup(kBatch)
                           << " samples in " << pieces << " pieces";
  if (size % pieces != 0)
    return op->emitError() << pieces << " micro-batches can't divide '" << dim.getValue()
                           << "', which has " << size << " elements";
  sizes[dim.getValue()] = size;
  return success();
}

LogicalResult PieceDims::addReshape(ptl::ReshapeOp reshape) {
  for (ptl::ArrowAttr arrow : reshape.getArrowRange()) {
    auto divided =
        llvm::find_if(arrow.getFrom(), [&](StringAttr dim) { return isDivided(dim.getValue()); });
    if (divided == arrow.getFrom().end())
      continue;
    if (divided != arrow.getFrom().begin())
      return reshape.emitError() << "the batch can't be cut into micro-batches: '"
                                 << divided->getValue()
                                 << "' isn't the major part of what it is merged into";
    StringAttr major = arrow.getTo().front();
    if (failed(add(reshape, major, ptl::getDimSize(reshape.getResult(), major.getValue()))))
      return failure();
  }
  return success();
}

/// An operation may treat rows alike or add them up; anything else needs all rows at once.
LogicalResult PieceDims::check(Operation *op) const {
  auto sharded = dyn_cast<ShardingRuleInterface>(op);
  if (!sharded || isa<ptl::ReshapeOp>(op))
    return success();
  for (const Factor &factor : sharded.getShardingRule().factors) {
    if (!isDivided(factor.name.getValue()))
      continue;
    bool gathers = false;
    if (auto gather = dyn_cast<ptl::GatherOp>(op))
      gathers = gather.getDimAttr() == factor.name;
    if (gathers || (factor.kind != FactorKind::Pass && factor.kind != FactorKind::Sum))
      return op->emitError() << "the batch can't be cut into micro-batches: this needs all of '"
                             << factor.name.getValue() << "' at once";
  }
  return success();
}

FailureOr<PieceDims> PieceDims::find(func::FuncOp loss, int64_t pieces) {
  PieceDims dims;
  dims.pieces = pieces;
  for (Type type : loss.getArgumentTypes())
    if (ptl::hasDim(type, kBatch))
      dims.sizes[kBatch] = ptl::getDimSize(type, kBatch);
  auto batch = dims.sizes.find(kBatch);
  dims.uneven = batch != dims.sizes.end() && batch->second % pieces != 0;
  if (pieces == 1)
    return dims;
  for (Operation &op : loss.getBody().front()) {
    auto reshape = dyn_cast<ptl::ReshapeOp>(op);
    if ((reshape && failed(dims.addReshape(reshape))) || failed(dims.check(&op)))
      return failure();
  }
  return dims;
}

bool PieceDims::hasRows(Type type) const {
  return llvm::any_of(ptl::getDims(type),
                      [&](StringAttr dim) { return isDivided(dim.getValue()); });
}

Type PieceDims::pieceType(Type type) const {
  for (StringAttr dim : ptl::getDims(type))
    if (isDivided(dim.getValue()))
      type =
          ptl::replaceDim(type, dim, dim, llvm::divideCeil(sizes.lookup(dim.getValue()), pieces));
  return type;
}

spmd::CutsAttr PieceDims::cutsOf(Type type) const {
  SmallVector<spmd::CutAttr> cuts;
  for (StringAttr dim : ptl::getDims(type))
    if (isDivided(dim.getValue()))
      cuts.push_back(spmd::CutAttr::get(type.getContext(), dim, sizes.lookup(dim.getValue()),
                                        ArrayRef<StringAttr>(), pieces, /*chunks=*/1));
  return cuts.empty() || pieces == 1 ? spmd::CutsAttr()
                                     : spmd::CutsAttr::get(type.getContext(), cuts);
}
