//===- Norm.cpp - The norm of split gradients -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The partitioner adds up the squares of gradients that are cut alike; without cuts
// and stages it takes the norm at once. Parts of buckets take their gradients' place.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Norm.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

namespace {
/// The norm of a step, and what it is of.
struct WholeNorm {
  Value result;
  SmallVector<NormTerm> terms; ///< whole gradients
};
} // namespace

static WholeNorm normOf(func::FuncOp step, const zero::Plan &plan) {
  WholeNorm norm;
  Block &block = step.getBody().front();
  for (auto op : block.getOps<ptl::GlobalNormOp>()) {
    norm.result = op.getResult();
    for (Value operand : op.getOperands())
      norm.terms.push_back({operand, {}, {}});
  }
  for (auto root : block.getOps<spmd::RootOp>()) {
    norm.result = root.getResult();
    for (Value sum : root.getSums()) {
      Axes axes;
      if (auto reduced = sum.getDefiningOp<spmd::AllReduceOp>()) {
        axes = plan.sorted(reduced.getAxes().getNames());
        sum = reduced.getInputs()[cast<OpResult>(sum).getResultNumber()];
      }
      for (Value operand : sum.getDefiningOp<spmd::SquareSumOp>().getInputs())
        norm.terms.push_back({operand, {}, axes});
    }
  }
  return norm;
}

llvm::DenseSet<Value> zero::gradientsOfNorm(func::FuncOp step, const Plan &plan) {
  llvm::DenseSet<Value> gradients;
  for (const NormTerm &term : normOf(step, plan).terms) {
    auto mask = term.value.getDefiningOp<spmd::MaskOp>();
    gradients.insert(mask ? mask.getX() : term.value);
  }
  return gradients;
}

static Value squareSum(OpBuilder &builder, Location loc, ArrayRef<NormTerm> terms,
                       const zero::Plan &plan) {
  MLIRContext *context = builder.getContext();
  SmallVector<Value> inputs;
  SmallVector<Attribute> members;
  for (const NormTerm &term : terms) {
    inputs.push_back(term.value);
    members.push_back(builder.getTypeArrayAttr(term.members));
  }
  Value sum = spmd::SquareSumOp::create(builder, loc, inputs, members);
  const Axes &axes = terms.front().axes;
  if (axes.empty())
    return sum;
  std::string names =
      llvm::join(llvm::map_range(axes, [](StringAttr axis) { return axis.getValue(); }), ", ");
  auto reason =
      builder.getStringAttr("the norm is of all gradients, some of which are split over " + names);
  return spmd::AllReduceOp::create(builder, loc, TypeRange{sum.getType()},
                                   ptl::FoldKindAttr::get(context, ptl::FoldKind::Sum),
                                   ValueRange{sum}, FlatSymbolRefAttr::get(context, "mesh"),
                                   plan.attribute(axes), reason, /*members=*/nullptr)
      .getResult(0);
}

void zero::replaceNorm(func::FuncOp step, const Plan &plan,
                       function_ref<std::optional<NormTerm>(const NormTerm &)> termOf) {
  WholeNorm norm = normOf(step, plan);
  if (!norm.result)
    return;
  std::map<SmallVector<size_t>, SmallVector<NormTerm>> groups;
  for (const NormTerm &whole : norm.terms)
    if (std::optional<NormTerm> term = termOf(whole)) {
      SmallVector<size_t> key;
      for (StringAttr axis : term->axes)
        key.push_back(plan.numberOf(axis));
      groups[key].push_back(*term);
    }
  OpBuilder builder(norm.result.getDefiningOp());
  Location loc = norm.result.getLoc();
  SmallVector<Value> sums;
  for (auto &[key, terms] : groups)
    sums.push_back(squareSum(builder, loc, terms, plan));
  norm.result.replaceAllUsesWith(
      spmd::RootOp::create(builder, loc, norm.result.getType(), sums).getResult());
}
