//===- Scatter.cpp - Pending gradients become parts of a bucket -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums over several axes go from the inner axis of the mesh to the outer one, at
// every level, so that all levels round alike: axes inside of those that split
// the bucket are summed before, the others behind.
//===----------------------------------------------------------------------===//
#include "compiler/Support/Location.h"
#include "compiler/Transforms/Zero/Bucket.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

/// The axes of a bucket's sums that don't split it, inside or outside of those that do.
static Axes others(const Bucket &bucket, const zero::Plan &plan, bool inside) {
  Axes result;
  size_t last = plan.numberOf(bucket.axes.front());
  for (StringAttr axis : bucket.pending)
    if (!llvm::is_contained(bucket.axes, axis) && (plan.numberOf(axis) > last) == inside)
      result.push_back(axis);
  return result;
}

static StringAttr reasonOf(const Member &member) {
  for (Operation *op : llvm::reverse(member.gradient.sums))
    if (auto reason = op->getAttrOfType<StringAttr>("reason"))
      return reason;
  return StringAttr::get(member.weight.getContext(), "");
}

static Value allReduce(OpBuilder &builder, Location loc, Value value, ArrayRef<StringAttr> axes,
                       const zero::Plan &plan, StringAttr reason) {
  MLIRContext *context = builder.getContext();
  return spmd::AllReduceOp::create(builder, loc, TypeRange{value.getType()},
                                   ptl::FoldKindAttr::get(context, ptl::FoldKind::Sum),
                                   ValueRange{value}, FlatSymbolRefAttr::get(context, "mesh"),
                                   plan.attribute(axes), reason, /*members=*/nullptr)
      .getResult(0);
}

/// A gradient with padding of 0, summed over the axes inside.
static Value prepare(OpBuilder &builder, const Bucket &bucket, const zero::Plan &plan,
                     const Member &member, Value value) {
  Location loc = member.gradient.whole.getLoc();
  if (spmd::MaskOp mask = member.gradient.mask)
    value = spmd::MaskOp::create(builder, loc, value.getType(), value, mask.getFillAttr(),
                                 mask.getCutsAttr(), mask.getMeshAttr());
  if (!bucket.isPending())
    return value;
  Axes inside = others(bucket, plan, /*inside=*/true);
  return inside.empty() ? value : allReduce(builder, loc, value, inside, plan, reasonOf(member));
}

Value zero::scatter(OpBuilder &builder, const Bucket &bucket, const Plan &plan,
                    ArrayRef<Value> gradients) {
  MLIRContext *context = builder.getContext();
  SmallVector<Value> inputs;
  SmallVector<Attribute> ledger;
  SmallVector<Location> places;
  for (auto [member, value] : llvm::zip_equal(bucket.members, gradients)) {
    inputs.push_back(prepare(builder, bucket, plan, member, value));
    places.push_back(member.gradient.whole.getLoc());
    ledger.push_back(spmd::MemberAttr::get(context, builder.getStringAttr(lineOf(places.back())),
                                           reasonOf(member), /*instead=*/nullptr));
  }
  Type part = ptl::withElement(bucket.part, ptl::elementType(inputs.front()));
  auto mesh = FlatSymbolRefAttr::get(context, "mesh");
  spmd::AxesAttr axes = plan.attribute(bucket.axes);
  Location loc = builder.getFusedLoc(places);
  if (!bucket.isPending())
    return spmd::BucketSliceOp::create(builder, loc, part, inputs, mesh, axes);
  auto reason = builder.getStringAttr(Twine(inputs.size()) + " gradients are summed; each rank " +
                                      "keeps its part ('zero " + Twine(bucket.level) + "')");
  return spmd::BucketReduceScatterOp::create(
      builder, loc, part, ptl::FoldKindAttr::get(context, ptl::FoldKind::Sum), inputs, mesh, axes,
      reason, builder.getArrayAttr(ledger));
}

Value zero::finishPart(OpBuilder &builder, const Bucket &bucket, const Plan &plan, Value part) {
  Axes outside = bucket.isPending() ? others(bucket, plan, /*inside=*/false) : Axes();
  if (outside.empty())
    return part;
  auto reason = builder.getStringAttr("parts of gradients are summed over the ranks that keep "
                                      "the same part");
  return allReduce(builder, bucket.place, part, outside, plan, reason);
}
