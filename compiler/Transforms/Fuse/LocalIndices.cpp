//===- LocalIndices.cpp - Indices of a dimension that devices share -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A device that holds a part of a dimension knows the numbers of its elements in
// the whole. With them, keeping one's own shard is a lookup; looking up or adding
// to what others hold is left to them. All of it is arithmetic on indices, which
// fuses like any other.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/OutlineRest.h"

#include "dialects/Ptl/Emitter.h"
#include "dialects/Spmd/Spmd.h"

using namespace mlir;
using namespace ptlc;
using K = ptl::ElementwiseKind;

/// The numbers, in the whole, of the elements of `dim` that this device has.
static Value numbersOf(ptl::Emitter &e, StringAttr dim, int64_t size, spmd::CutsAttr cuts) {
  auto index = ptl::IotaOp::create(e.builder, e.loc, dim, size);
  index.setCutAttr(cuts);
  return index;
}

/// The rows that a device keeps of a value that is whole. Those of padding are the last valid one,
/// so that nothing outside of the value is read.
static void expandSlice(spmd::SliceOp op) {
  OpBuilder builder(op);
  ptl::Emitter e(builder, op.getLoc());
  StringAttr dim = op.getDimAttr(), whole = e.name(dim.getValue() + ".whole");
  int64_t size = ptl::getDimSize(op.getX(), dim);
  auto cut = spmd::CutAttr::get(op.getContext(), dim, size, op.getAxes().getNames(), /*micro=*/1,
                                /*chunks=*/1);
  Value index = numbersOf(e, dim, ptl::getDimSize(op.getResult(), dim),
                          spmd::CutsAttr::get(op.getContext(), cut));
  Value kept = e.map(K::Min, {index, e.like(index, static_cast<double>(size - 1))});
  Value table = e.rename(op.getX(), dim, whole);
  op.replaceAllUsesWith(
      ptl::GatherOp::create(builder, op.getLoc(), table, kept, whole).getResult());
  op.erase();
}

namespace {
/// Indices into this device's part of a dimension.
struct Local {
  Value index;  ///< anything elsewhere
  Value inside; ///< i1: whether it is this device's
};
} // namespace

/// The least or the largest number of the elements that this device has; `none` if it has none.
static Value boundOf(ptl::Emitter &e, ptl::FoldKind kind, StringAttr dim, int64_t size,
                     spmd::CutsAttr cuts, int64_t none) {
  Value numbers = numbersOf(e, dim, size, cuts);
  Value valid = spmd::MaskOp::create(e.builder, e.loc, numbers.getType(), numbers,
                                     e.builder.getF64FloatAttr(static_cast<double>(none)), cuts,
                                     FlatSymbolRefAttr::get(dim.getContext(), "mesh"));
  return ptl::ReduceOp::create(e.builder, e.loc, kind, valid, dim);
}

static Local localOf(ptl::Emitter &e, Value ids, StringAttr dim, int64_t size, Attribute cut) {
  auto cuts = cast<spmd::CutsAttr>(cut);
  int64_t beyond = cuts.find(dim).getGlobal();
  Value first = e.to(boundOf(e, ptl::FoldKind::Min, dim, size, cuts, beyond), ids.getType());
  Value last = e.to(boundOf(e, ptl::FoldKind::Max, dim, size, cuts, -1), ids.getType());
  Value inside = e.map(K::And, {e.map(K::Ge, {ids, first}), e.map(K::Le, {ids, last})});
  return {e.sub(ids, first), inside};
}

/// What another device holds counts as 0.
static void expandGather(ptl::GatherOp op) {
  OpBuilder builder(op);
  ptl::Emitter e(builder, op.getLoc());
  StringAttr dim = op.getDimAttr();
  Local local = localOf(e, op.getIds(), dim, ptl::getDimSize(op.getTable(), dim), *op.getCut());
  Value index = e.select(local.inside, local.index, e.like(local.index, 0));
  Value found = ptl::GatherOp::create(builder, op.getLoc(), op.getTable(), index, dim);
  op.replaceAllUsesWith(e.select(e.to(local.inside, found.getType()), found, e.like(found, 0)));
  op.erase();
}

/// What is for another device isn't added.
static void expandScatter(ptl::ScatterAddOp op) {
  OpBuilder builder(op);
  ptl::Emitter e(builder, op.getLoc());
  StringAttr dim = op.getDimAttr();
  Local local = localOf(e, op.getIds(), dim, ptl::getDimSize(op.getResult(), dim), *op.getCut());
  op.getIdsMutable().assign(e.select(local.inside, local.index, e.like(local.index, -1)));
  op.removeCutAttr();
}

/// The first device of a group is the one whose number in it is 0.
static void expandKeep(spmd::KeepOp op) {
  OpBuilder builder(op);
  ptl::Emitter e(builder, op.getLoc());
  StringAttr device = e.name("device");
  spmd::MeshOp mesh = spmd::findMesh(op->getParentOfType<ModuleOp>());
  int64_t devices = 1;
  for (StringAttr axis : op.getAxes().getNames())
    devices *= mesh.getAxisSize(axis.getValue()).value_or(1);
  auto cut = spmd::CutAttr::get(op.getContext(), device, devices, op.getAxes().getNames(),
                                /*micro=*/1, /*chunks=*/1);
  Value place = e.sum(numbersOf(e, device, 1, spmd::CutsAttr::get(op.getContext(), cut)), device);
  Value first = e.map(K::Eq, {place, e.like(place, 0)});
  Value x = op.getX();
  op.replaceAllUsesWith(e.select(e.to(first, x.getType()), x, e.like(x, 0)));
  op.erase();
}

void fuse::expandLocal(Operation *function) {
  function->walk([](Operation *op) {
    if (auto slice = dyn_cast<spmd::SliceOp>(op))
      expandSlice(slice);
    else if (auto gather = dyn_cast<ptl::GatherOp>(op); gather && gather.getCut())
      expandGather(gather);
    else if (auto scatter = dyn_cast<ptl::ScatterAddOp>(op); scatter && scatter.getCut())
      expandScatter(scatter);
    else if (auto keep = dyn_cast<spmd::KeepOp>(op))
      expandKeep(keep);
  });
}
