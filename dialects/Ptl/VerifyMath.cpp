//===- VerifyMath.cpp - Verifiers of element-wise and shape operations ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Infer.h"
#include "dialects/Ptl/Verify.h"
#include <cmath>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

LogicalResult ptl::expectDim(Operation *op, StringRef what, Type type, StringRef dim) {
  if (hasDim(type, dim))
    return success();
  return op->emitOpError() << what << " " << printDims(getDims(type)) << " has no dimension '"
                           << dim << "'";
}

LogicalResult ptl::expectType(Operation *op, StringRef what, Type expected, Type found) {
  if (expected == found)
    return success();
  return op->emitOpError() << what << " must be " << expected << ", is " << found;
}

LogicalResult ptl::expectFloat(Operation *op, Value value) {
  if (isFloatTensor(value.getType()))
    return success();
  return op->emitOpError() << "needs floating-point elements, found " << value.getType();
}

LogicalResult ConstantOp::verify() {
  double value = getValue().convertToDouble();
  auto integer = dyn_cast<IntegerType>(elementType(getResult()));
  if (!integer)
    return success();
  double limit = std::ldexp(1.0, integer.getWidth() - 1);
  bool fits = integer.getWidth() == 1
                  ? (value == 0 || value == 1)
                  : value == std::floor(value) && value >= -limit && value < limit;
  if (!fits) // C1
    return emitOpError() << "number " << value << " is no value of type " << integer;
  return success();
}

LogicalResult IotaOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  Type element = type.getElementType();
  if (type.getRank() != 1 || !hasDim(type, getDim()) ||
      !(element.isInteger(32) || element.isInteger(64)))
    return emitOpError() << "result must be a tensor of i32 or i64 along '" << getDim() << "', is "
                         << type; // C1
  return success();
}

LogicalResult RandomOp::verify() {
  if (failed(expectFloat(*this, getResult()))) // C1
    return failure();
  return expectType(*this, "step", getScalarType(IntegerType::get(getContext(), 64)),
                    getStep().getType()); // C2
}

LogicalResult StopGradientOp::verify() {
  return expectType(*this, "result", getX().getType(), getResult().getType()); // C1
}

/// (C3): element types of operands and result.
static LogicalResult verifyElements(ElementwiseOp op) {
  using K = ElementwiseKind;
  K kind = op.getKind();
  ValueRange operands = op.getOperands();
  Type i1 = IntegerType::get(op.getContext(), 1);
  Type result = elementType(op.getResult());
  auto fail = [&](StringRef expected) {
    return op.emitOpError() << "'" << stringifyElementwiseKind(kind) << "' needs " << expected
                            << ", found operands (" << operands.getTypes() << ") and result "
                            << op.getResult().getType();
  };
  auto allAre = [&](Type type) {
    return llvm::all_of(operands, [&](Value x) { return elementType(x) == type; });
  };
  if (kind == K::Cast)
    return success();
  if (kind == K::Select) {
    bool fits = elementType(operands[0]) == i1 && elementType(operands[1]) == result &&
                elementType(operands[2]) == result;
    return fits ? success() : fail("an i1 condition and two operands of the result's type");
  }
  if (ElementwiseOp::isComparison(kind))
    return allAre(elementType(operands[0])) && result == i1
               ? success()
               : fail("operands of one type and an i1 result");
  if (kind == K::And || kind == K::Or || kind == K::Not)
    return allAre(i1) && result == i1 ? success() : fail("i1 operands and result");
  bool integers = kind == K::Add || kind == K::Sub || kind == K::Mul || kind == K::Div ||
                  kind == K::Mod || kind == K::Max || kind == K::Min || kind == K::Neg ||
                  kind == K::Abs || kind == K::Sign;
  bool numbers = isa<FloatType>(result) || (integers && result != i1);
  return allAre(result) && numbers ? success() : fail("numbers of one type");
}

LogicalResult ElementwiseOp::verify() {
  if (getOperands().size() != arity(getKind())) // C1
    return emitOpError() << "'" << stringifyElementwiseKind(getKind()) << "' takes "
                         << arity(getKind()) << " operands, found " << getOperands().size();
  auto result = cast<RankedTensorType>(getResult().getType());
  for (Value operand : getOperands())
    if (withElement(operand.getType(), result.getElementType()) != result) // C2
      return emitOpError() << "operands need the result's dimensions in the same order, found "
                           << operand.getType() << " and " << result;
  return verifyElements(*this);
}

LogicalResult BroadcastOp::verify() {
  for (StringAttr dim : getDims(getX())) {
    if (failed(expectDim(*this, "result", getResult().getType(), dim.getValue()))) // C1
      return failure();
    int64_t from = getDimSize(getX(), dim.getValue()), to = getDimSize(getResult(), dim.getValue());
    if (from != to)
      return emitOpError() << "size of '" << dim.getValue() << "' must stay " << from << ", is "
                           << to; // C1
  }
  if (elementType(getX()) != elementType(getResult())) // C2
    return emitOpError("operand and result need one element type");
  return success();
}

LogicalResult ReshapeOp::verify() {
  SmallVector<StringAttr> used;
  SmallVector<int64_t> sizes;
  for (ArrowAttr arrow : getArrowRange()) {
    int64_t from = 1, to = 1;
    for (StringAttr dim : arrow.getFrom()) {
      if (failed(expectDim(*this, "operand", getX().getType(), dim.getValue()))) // C1
        return failure();
      if (llvm::is_contained(used, dim))
        return emitOpError() << "dimension '" << dim.getValue() << "' is in two arrows"; // C1
      used.push_back(dim);
      from *= getDimSize(getX(), dim.getValue());
    }
    for (StringAttr dim : arrow.getTo()) {
      if (failed(expectDim(*this, "result", getResult().getType(), dim.getValue()))) // C3
        return failure();
      sizes.push_back(getDimSize(getResult(), dim.getValue()));
      to *= sizes.back();
    }
    if (arrow.getFrom().empty() || arrow.getTo().empty())
      return emitOpError("an arrow needs names on both sides"); // C1
    if (from != to)
      return emitOpError() << "sizes differ: " << printDims(arrow.getFrom()) << " has " << from
                           << " elements, " << printDims(arrow.getTo()) << " has " << to; // C2
  }
  Type expected = inferReshape(getX().getType(), llvm::to_vector(getArrowRange()), sizes);
  return expectType(*this, "result", expected, getResult().getType()); // C3
}

LogicalResult ConcatOp::verify() {
  auto names = llvm::to_vector(getFrom().getAsRange<StringAttr>());
  if (names.size() != getOperands().size() || names.empty()) // C1
    return emitOpError() << "needs one name per operand, found " << names.size() << " names for "
                         << getOperands().size() << " operands";
  int64_t size = 0;
  for (auto [operand, dim] : llvm::zip_equal(getOperands(), names)) {
    if (failed(expectDim(*this, "operand", operand.getType(), dim.getValue()))) // C1
      return failure();
    size += getDimSize(operand, dim.getValue());
  }
  for (auto [operand, dim] : llvm::zip_equal(getOperands(), names)) {
    Type expected = replaceDim(operand.getType(), dim, getToAttr(), size);
    if (failed(expectType(*this, "result", expected, getResult().getType()))) // C2, C3
      return failure();
  }
  return success();
}

LogicalResult SliceOp::verify() {
  if (failed(expectDim(*this, "operand", getX().getType(), getFrom())) || // C1
      failed(expectDim(*this, "result", getResult().getType(), getTo())))
    return failure();
  int64_t size = getDimSize(getResult(), getTo()), whole = getDimSize(getX(), getFrom());
  if (int64_t(getOffset()) < 0 || int64_t(getOffset()) + size > whole) // C2
    return emitOpError() << "elements " << int64_t(getOffset()) << " to "
                         << int64_t(getOffset()) + size - 1 << " aren't all in '" << getFrom()
                         << "', which has " << whole;
  Type expected = replaceDim(getX().getType(), getFromAttr(), getToAttr(), size);
  return expectType(*this, "result", expected, getResult().getType()); // C3
}

LogicalResult PadOp::verify() {
  if (failed(expectDim(*this, "operand", getX().getType(), getFrom())) || // C1
      failed(expectDim(*this, "result", getResult().getType(), getTo())))
    return failure();
  int64_t size = getDimSize(getResult(), getTo()), part = getDimSize(getX(), getFrom());
  if (int64_t(getOffset()) < 0 || int64_t(getOffset()) + part > size) // C2
    return emitOpError() << part << " elements at " << int64_t(getOffset()) << " don't fit into '"
                         << getTo() << "', which has " << size;
  Type expected = replaceDim(getX().getType(), getFromAttr(), getToAttr(), size);
  return expectType(*this, "result", expected, getResult().getType()); // C3
}
