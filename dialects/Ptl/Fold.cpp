//===- Fold.cpp - Folders and canonicalizations of ptl --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Infer.h"
#include <cmath>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

Operation *PtlDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                           Location loc) {
  auto number = dyn_cast<FloatAttr>(value);
  if (!number || !isNamedTensor(type))
    return nullptr;
  return ConstantOp::create(builder, loc, type, number.getValueAsDouble());
}

/// Returns the number that all elements of `attribute`'s value have.
static std::optional<double> numberOf(Attribute attribute) {
  auto number = dyn_cast_or_null<FloatAttr>(attribute);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// Evaluates functions whose result doesn't depend on how an element type approximates them.
static std::optional<double> evaluate(ElementwiseKind kind, ArrayRef<double> x) {
  using K = ElementwiseKind;
  switch (kind) {
  case K::Add:
    return x[0] + x[1];
  case K::Sub:
    return x[0] - x[1];
  case K::Mul:
    return x[0] * x[1];
  case K::Max:
    return std::max(x[0], x[1]);
  case K::Min:
    return std::min(x[0], x[1]);
  case K::Neg:
    return -x[0];
  case K::Abs:
    return std::abs(x[0]);
  case K::Floor:
    return std::floor(x[0]);
  case K::Ceil:
    return std::ceil(x[0]);
  case K::Eq:
    return x[0] == x[1];
  case K::Ne:
    return x[0] != x[1];
  case K::Lt:
    return x[0] < x[1];
  case K::Le:
    return x[0] <= x[1];
  case K::Gt:
    return x[0] > x[1];
  case K::Ge:
    return x[0] >= x[1];
  case K::And:
    return x[0] != 0 && x[1] != 0;
  case K::Or:
    return x[0] != 0 || x[1] != 0;
  case K::Not:
    return x[0] == 0;
  default:
    return std::nullopt;
  }
}

/// Folds constant operands. A constant is the number that was meant, in f64, whatever its element
/// type: it is rounded where it is used, once. Integer results that overflow stay.
static OpFoldResult foldConstants(ElementwiseOp op, ArrayRef<Attribute> operands) {
  SmallVector<double> numbers;
  for (Attribute operand : operands) {
    std::optional<double> number = numberOf(operand);
    if (!number)
      return {};
    numbers.push_back(*number);
  }
  Type element = elementType(op.getResult());
  std::optional<double> value = evaluate(op.getKind(), numbers);
  if (op.getKind() == ElementwiseKind::Cast)
    value = element.isInteger(1)        ? double(numbers[0] != 0)
            : isa<IntegerType>(element) ? std::trunc(numbers[0])
                                        : numbers[0];
  if (!value || !std::isfinite(*value) ||
      (!isa<FloatType>(element) && std::abs(*value) >= std::ldexp(1.0, 31)))
    return {};
  return FloatAttr::get(Float64Type::get(op.getContext()), *value);
}

OpFoldResult ElementwiseOp::fold(FoldAdaptor adaptor) {
  using K = ElementwiseKind;
  ArrayRef<Attribute> constants = adaptor.getOperands();
  if (OpFoldResult folded = foldConstants(*this, constants))
    return folded;
  std::optional<double> right = constants.size() == 2 ? numberOf(constants[1]) : std::nullopt;
  std::optional<double> left = constants.size() == 2 ? numberOf(constants[0]) : std::nullopt;
  Value first = getOperands()[0];
  switch (getKind()) {
  case K::Add:
    return right == 0.0  ? OpFoldResult(first)
           : left == 0.0 ? OpFoldResult(getOperands()[1])
                         : OpFoldResult();
  case K::Mul:
    return right == 1.0  ? OpFoldResult(first)
           : left == 1.0 ? OpFoldResult(getOperands()[1])
                         : OpFoldResult();
  case K::Sub:
    return right == 0.0 ? OpFoldResult(first) : OpFoldResult();
  case K::Div:
    return right == 1.0 ? OpFoldResult(first) : OpFoldResult();
  case K::Cast:
    return first.getType() == getResult().getType() ? OpFoldResult(first) : OpFoldResult();
  case K::Select:
    if (std::optional<double> condition = numberOf(constants[0]))
      return getOperands()[*condition != 0 ? 1 : 2];
    return getOperands()[1] == getOperands()[2] ? OpFoldResult(getOperands()[1]) : OpFoldResult();
  default:
    return {};
  }
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getResult().getType())
    return getX();
  return adaptor.getX(); // a constant stays that constant
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getResult().getType())
    return getX();
  return adaptor.getX();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getOver().getNames().empty() ? OpFoldResult(getX()) : OpFoldResult();
}

namespace {
/// broadcast(broadcast(x)) is one broadcast.
struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<BroadcastOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, inner.getX(), op.getResult().getType());
    return success();
  }
};

/// add(x, scatter_add(..)) is one scatter_add into x: the table isn't filled with zeros and added.
struct AddIntoScatter : OpRewritePattern<ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != ElementwiseKind::Add)
      return failure();
    for (unsigned side : {1u, 0u}) {
      auto scatter = op.getOperands()[side].getDefiningOp<ScatterAddOp>();
      if (!scatter || scatter.getInit() || !scatter->hasOneUse() ||
          scatter->getBlock() != op->getBlock())
        continue;
      rewriter.replaceOpWithNewOp<ScatterAddOp>(op, op.getResult().getType(), scatter.getIds(),
                                                scatter.getUpdates(), op.getOperands()[1 - side],
                                                scatter.getDimAttr(), scatter.getCutAttr());
      rewriter.eraseOp(scatter);
      return success();
    }
    return failure();
  }
};
} // namespace

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeBroadcasts>(context);
}

void ElementwiseOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AddIntoScatter>(context);
}
