//===- Norm.cpp - The norm of split gradients -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The partitioner takes a norm of the gradients that are cut alike, and makes one
// of their squares: norm, square, all-reduce, sum, root. All of it is replaced.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Norm.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

static SmallVector<ptl::GlobalNormOp> normsOf(func::FuncOp step) {
  return llvm::to_vector(step.getBody().front().getOps<ptl::GlobalNormOp>());
}

/// The norm as the rest of the step reads it: `norm`, or the root of the sum that its square is in.
static Value wholeNorm(ptl::GlobalNormOp norm) {
  Value value = norm.getResult();
  auto isSquare = [&](Operation *user) {
    auto op = dyn_cast<ptl::ElementwiseOp>(user);
    return op && op.getKind() == ptl::ElementwiseKind::Mul && op->getOperand(0) == value &&
           op->getOperand(1) == value;
  };
  auto square = llvm::find_if(value.getUsers(), isSquare);
  if (square == value.getUsers().end())
    return value;
  for (Operation *op = *square; op;) {
    if (auto map = dyn_cast<ptl::ElementwiseOp>(op);
        map && map.getKind() == ptl::ElementwiseKind::Sqrt)
      return map.getResult();
    op = op->getResult(0).hasOneUse() ? *op->getResult(0).getUsers().begin() : nullptr;
  }
  return value;
}

/// The axes over which the squares of one norm are added up: those that cut its operands.
static Axes axesBehind(ptl::GlobalNormOp norm, const zero::Plan &plan) {
  Axes axes;
  for (Operation *square : norm.getResult().getUsers())
    for (Operation *user : square->getUsers())
      if (auto sum = dyn_cast<spmd::AllReduceOp>(user); sum && isa<ptl::ElementwiseOp>(square))
        llvm::append_range(axes, sum.getAxes().getNames());
  return plan.sorted(axes);
}

llvm::DenseSet<Value> zero::gradientsOfNorm(func::FuncOp step) {
  llvm::DenseSet<Value> gradients;
  for (ptl::GlobalNormOp norm : normsOf(step))
    for (Value operand : norm.getOperands()) {
      auto mask = operand.getDefiningOp<spmd::MaskOp>();
      gradients.insert(mask ? mask.getX() : operand);
    }
  return gradients;
}

bool zero::hasSplitNorm(func::FuncOp step) {
  SmallVector<ptl::GlobalNormOp> norms = normsOf(step);
  return !norms.empty() && wholeNorm(norms.front()) != norms.front().getResult();
}

static RankedTensorType sumType(MLIRContext *context) {
  return ptl::getTensorType({spmd::kSumDigits}, IntegerType::get(context, 64),
                            {StringAttr::get(context, "digits")});
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
  Value sum = spmd::SquareSumOp::create(builder, loc, sumType(context), inputs,
                                        builder.getArrayAttr(members));
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
                       function_ref<std::optional<NormTerm>(Value)> termOf) {
  SmallVector<ptl::GlobalNormOp> norms = normsOf(step);
  if (norms.empty())
    return;
  std::map<SmallVector<size_t>, SmallVector<NormTerm>> groups;
  for (ptl::GlobalNormOp norm : norms)
    for (Value operand : norm.getOperands())
      if (std::optional<NormTerm> term = termOf(operand)) {
        if (term->members.empty())
          term->axes = axesBehind(norm, plan);
        SmallVector<size_t> key;
        for (StringAttr axis : term->axes)
          key.push_back(plan.numberOf(axis));
        groups[key].push_back(*term);
      }
  Value old = wholeNorm(norms.front());
  OpBuilder builder(old.getDefiningOp());
  SmallVector<Value> sums;
  for (auto &[key, terms] : groups)
    sums.push_back(squareSum(builder, old.getLoc(), terms, plan));
  Value root = spmd::RootOp::create(builder, old.getLoc(), old.getType(), sums);
  old.replaceAllUsesWith(root);
}
