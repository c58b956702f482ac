//===- ExpandSlices.cpp - A device's shard as a lookup --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keeping one's own shard of a whole value moves memory inside of a device only:
// it is a lookup of the rows whose numbers in the whole the device knows, and
// fuses like any other.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/OutlineRest.h"

#include "dialects/Ptl/Emitter.h"
#include "dialects/Spmd/Spmd.h"

using namespace mlir;
using namespace ptlc;

/// The numbers, in the whole, of the elements of `dim` that this device keeps. Those of padding are
/// the last valid one, so that nothing outside of the value is read.
static Value keptIndices(ptl::Emitter &e, spmd::SliceOp op, StringAttr dim) {
  int64_t whole = ptl::getDimSize(op.getX(), dim);
  auto cut = spmd::CutAttr::get(op.getContext(), dim, whole, op.getAxes().getNames(), /*micro=*/1,
                                /*chunks=*/1);
  auto index = ptl::IotaOp::create(e.builder, e.loc, dim, ptl::getDimSize(op.getResult(), dim));
  index.setCutAttr(spmd::CutsAttr::get(op.getContext(), cut));
  Value last = e.constant(index.getType(), static_cast<double>(whole - 1));
  return e.map(ptl::ElementwiseKind::Min, {index, last});
}

void fuse::expandSlices(Operation *function) {
  function->walk([](spmd::SliceOp op) {
    OpBuilder builder(op);
    ptl::Emitter e(builder, op.getLoc());
    StringAttr dim = op.getDimAttr(), whole = e.name(dim.getValue() + ".whole");
    Value table = e.rename(op.getX(), dim, whole);
    op.replaceAllUsesWith(
        ptl::GatherOp::create(builder, op.getLoc(), table, keptIndices(e, op, dim), whole)
            .getResult());
    op.erase();
  });
}
