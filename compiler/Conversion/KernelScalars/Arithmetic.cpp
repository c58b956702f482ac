//===- Arithmetic.cpp - Scalar code of element-wise functions -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Straight-line arith and math operations, which LLVM's loop vectoriser widens.
// A value has the same bits in whichever kernel it is computed: the gradient of a
// maximum finds the elements that equal it, and several kernels may compute those.
// So products are contracted into additions only within one function (as in GELU),
// never across operations. Only sums that are folds may be reordered, since a vector
// fold needs that; how is up to the loop around them. Transcendental functions become polynomials
// later (see Codegen/CPU).
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelScalars/Arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

Type kernel::typeOf(MLIRContext *context, Elem elem) {
  switch (elem) {
  case Elem::F32:
  case Elem::BF16:
    return Float32Type::get(context);
  case Elem::I32:
    return IntegerType::get(context, 32);
  case Elem::I1:
    return IntegerType::get(context, 1);
  case Elem::I64:
    return IntegerType::get(context, 64);
  }
  return {};
}

Value kernel::number(ImplicitLocOpBuilder &b, Elem elem, double value) {
  Type type = typeOf(b.getContext(), elem);
  if (elem == Elem::BF16) {
    APFloat rounded(static_cast<float>(value));
    bool inexact = false;
    rounded.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven, &inexact);
    value = rounded.convertToDouble();
  }
  if (isFloat(elem))
    return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(value)));
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value kernel::integer(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}

Type kernel::memoryTypeOf(MLIRContext *context, Elem elem) {
  if (elem == Elem::I1)
    return IntegerType::get(context, 8);
  return elem == Elem::BF16 ? Type(IntegerType::get(context, 16)) : typeOf(context, elem);
}

Value kernel::fromMemory(ImplicitLocOpBuilder &b, Value value, Elem elem) {
  if (elem == Elem::I1) {
    Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
  }
  if (elem != Elem::BF16)
    return value;
  Value sixteen = arith::ConstantOp::create(b, b.getI32IntegerAttr(16));
  Value bits = arith::ExtUIOp::create(b, b.getI32Type(), value);
  return arith::BitcastOp::create(b, b.getF32Type(), arith::ShLIOp::create(b, bits, sixteen));
}

Value kernel::toMemory(ImplicitLocOpBuilder &b, Value value, Elem elem) {
  if (elem == Elem::I1)
    return arith::ExtUIOp::create(b, b.getI8Type(), value);
  if (elem != Elem::BF16)
    return value;
  Value sixteen = arith::ConstantOp::create(b, b.getI32IntegerAttr(16));
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), value);
  return arith::TruncIOp::create(b, b.getI16Type(), arith::ShRUIOp::create(b, bits, sixteen));
}

Value kernel::roundToBf16(ImplicitLocOpBuilder &b, Value value) {
  auto word = [&](uint32_t bits) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(bits)));
  };
  // A carry out of the significand goes into the exponent, as it should: up to infinity.
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), value);
  Value last = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, word(16)), word(1));
  Value up = arith::AddIOp::create(b, arith::AddIOp::create(b, bits, word(0x7fff)), last);
  Value quiet = arith::OrIOp::create(b, bits, word(0x400000));
  Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  Value result = arith::SelectOp::create(b, isNan, quiet, up);
  result = arith::AndIOp::create(b, result, word(0xffff0000));
  return arith::BitcastOp::create(b, b.getF32Type(), result);
}

static constexpr arith::FastMathFlags kContract = arith::FastMathFlags::contract;

namespace {
/// Builds expressions on scalars of one type.
struct Expr {
  ImplicitLocOpBuilder &b;

  Value constant(double value) { return number(b, Elem::F32, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y, kContract); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y, kContract); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y, kContract); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value recip(Value x) { return div(constant(1), x); }
  Value sigmoid(Value x) {
    return recip(add(constant(1), math::ExpOp::create(b, arith::NegFOp::create(b, x))));
  }

  // The argument of tanh in GELU: sqrt(2 / pi) (x + 0.044715 x^3).
  static constexpr double kScale = 0.7978845608028654, kCubic = 0.044715;
  Value geluTanh(Value x) {
    Value inner = add(mul(constant(kCubic), mul(x, x)), constant(1));
    return math::TanhOp::create(b, mul(mul(constant(kScale), x), inner));
  }
  Value gelu(Value x) { return mul(mul(constant(0.5), x), add(constant(1), geluTanh(x))); }
  Value geluGrad(Value x, Value dy) {
    Value t = geluTanh(x);
    Value slope = mul(constant(kScale), add(constant(1), mul(constant(3 * kCubic), mul(x, x))));
    Value left = add(constant(1), t);
    Value right = mul(mul(x, sub(constant(1), mul(t, t))), slope);
    return mul(dy, mul(constant(0.5), add(left, right)));
  }
  Value siluGrad(Value x, Value dy) {
    Value s = sigmoid(x);
    return mul(dy, mul(s, add(constant(1), mul(x, sub(constant(1), s)))));
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, c, x, y); }
  Value sign(Value x) {
    Value zero = constant(0);
    Value negative = select(compare(arith::CmpFPredicate::OLT, x, zero), constant(-1), x);
    return select(compare(arith::CmpFPredicate::OGT, x, zero), constant(1), negative);
  }
  Value mod(Value x, Value y) {
    // The remainder of truncated division, moved to the sign of the divisor.
    Value zero = constant(0), r = arith::RemFOp::create(b, x, y);
    Value differs = arith::XOrIOp::create(b, compare(arith::CmpFPredicate::OLT, r, zero),
                                          compare(arith::CmpFPredicate::OLT, y, zero));
    Value nonzero = compare(arith::CmpFPredicate::UNE, r, zero);
    return select(arith::AndIOp::create(b, differs, nonzero), add(r, y), r);
  }
};
} // namespace

static std::optional<arith::CmpFPredicate> floatPredicate(Map map) {
  switch (map) {
  case Map::Eq:
    return arith::CmpFPredicate::OEQ;
  case Map::Ne:
    return arith::CmpFPredicate::UNE;
  case Map::Lt:
    return arith::CmpFPredicate::OLT;
  case Map::Le:
    return arith::CmpFPredicate::OLE;
  case Map::Gt:
    return arith::CmpFPredicate::OGT;
  case Map::Ge:
    return arith::CmpFPredicate::OGE;
  default:
    return std::nullopt;
  }
}

static arith::CmpIPredicate intPredicate(Map map, bool isBool) {
  switch (map) {
  case Map::Eq:
    return arith::CmpIPredicate::eq;
  case Map::Ne:
    return arith::CmpIPredicate::ne;
  case Map::Lt:
    return isBool ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  case Map::Le:
    return isBool ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle;
  case Map::Gt:
    return isBool ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
  default:
    return isBool ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge;
  }
}

static Value mapFloat(ImplicitLocOpBuilder &b, Map map, ValueRange x) {
  Expr e{b};
  switch (map) {
  case Map::Add:
    return arith::AddFOp::create(b, x[0], x[1]);
  case Map::Sub:
    return arith::SubFOp::create(b, x[0], x[1]);
  case Map::Mul:
    return arith::MulFOp::create(b, x[0], x[1]);
  case Map::Div:
    return e.div(x[0], x[1]);
  case Map::Mod:
    return e.mod(x[0], x[1]);
  case Map::Pow:
    return math::PowFOp::create(b, x[0], x[1]);
  case Map::Max:
    return arith::MaximumFOp::create(b, x[0], x[1]);
  case Map::Min:
    return arith::MinimumFOp::create(b, x[0], x[1]);
  case Map::Neg:
    return arith::NegFOp::create(b, x[0]);
  case Map::Exp:
    return math::ExpOp::create(b, x[0]);
  case Map::Log:
    return math::LogOp::create(b, x[0]);
  case Map::Sqrt:
    return math::SqrtOp::create(b, x[0]);
  case Map::Rsqrt:
    return e.recip(math::SqrtOp::create(b, x[0]));
  case Map::Sin:
    return math::SinOp::create(b, x[0]);
  case Map::Cos:
    return math::CosOp::create(b, x[0]);
  case Map::Tanh:
    return math::TanhOp::create(b, x[0]);
  case Map::Sigmoid:
    return e.sigmoid(x[0]);
  case Map::Abs:
    return math::AbsFOp::create(b, x[0]);
  case Map::Relu:
    return arith::MaximumFOp::create(b, x[0], e.constant(0));
  case Map::Gelu:
    return e.gelu(x[0]);
  case Map::Silu:
    return e.mul(x[0], e.sigmoid(x[0]));
  case Map::Floor:
    return math::FloorOp::create(b, x[0]);
  case Map::Ceil:
    return math::CeilOp::create(b, x[0]);
  case Map::Recip:
    return e.recip(x[0]);
  case Map::Sign:
    return e.sign(x[0]);
  case Map::GeluGrad:
    return e.geluGrad(x[0], x[1]);
  case Map::SiluGrad:
    return e.siluGrad(x[0], x[1]);
  default:
    llvm_unreachable("not an arithmetic function");
  }
}

/// Rounds down; the remainder has the divisor's sign.
static Value floorDivision(ImplicitLocOpBuilder &b, Value x, Value y, bool remainder) {
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(x.getType(), 0));
  Value r = arith::RemSIOp::create(b, x, y);
  Value differs =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, arith::XOrIOp::create(b, r, y), zero);
  Value nonzero = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, r, zero);
  Value adjust = arith::AndIOp::create(b, differs, nonzero);
  if (remainder)
    return arith::SelectOp::create(b, adjust, arith::AddIOp::create(b, r, y), r);
  Value one = arith::ConstantOp::create(b, b.getIntegerAttr(x.getType(), 1));
  Value q = arith::DivSIOp::create(b, x, y);
  return arith::SelectOp::create(b, adjust, arith::SubIOp::create(b, q, one), q);
}

static Value mapInteger(ImplicitLocOpBuilder &b, Map map, ValueRange x) {
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(x[0].getType(), 0));
  switch (map) {
  case Map::Add:
    return arith::AddIOp::create(b, x[0], x[1]);
  case Map::Sub:
    return arith::SubIOp::create(b, x[0], x[1]);
  case Map::Mul:
    return arith::MulIOp::create(b, x[0], x[1]);
  case Map::Div:
  case Map::Mod:
    return floorDivision(b, x[0], x[1], map == Map::Mod);
  case Map::Max:
    return arith::MaxSIOp::create(b, x[0], x[1]);
  case Map::Min:
    return arith::MinSIOp::create(b, x[0], x[1]);
  case Map::Neg:
    return arith::SubIOp::create(b, zero, x[0]);
  case Map::Abs:
    return arith::MaxSIOp::create(b, x[0], arith::SubIOp::create(b, zero, x[0]));
  case Map::Relu:
    return arith::MaxSIOp::create(b, x[0], zero);
  case Map::And:
    return arith::AndIOp::create(b, x[0], x[1]);
  case Map::Or:
    return arith::OrIOp::create(b, x[0], x[1]);
  case Map::Not:
    return arith::XOrIOp::create(b, x[0],
                                 arith::ConstantOp::create(b, b.getIntegerAttr(x[0].getType(), 1)));
  case Map::Sign: {
    Type type = x[0].getType();
    Value one = arith::ConstantOp::create(b, b.getIntegerAttr(type, 1));
    Value low = arith::ConstantOp::create(b, b.getIntegerAttr(type, -1));
    return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, x[0], one), low);
  }
  default:
    return {};
  }
}

static Value castValue(ImplicitLocOpBuilder &b, Value x, Elem to) {
  if (to == Elem::BF16)
    return roundToBf16(b, castValue(b, x, Elem::F32));
  Type from = x.getType(), type = typeOf(b.getContext(), to);
  if (from == type)
    return x;
  if (isa<FloatType>(from)) {
    if (to == Elem::I1)
      return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x, number(b, Elem::F32, 0));
    return arith::FPToSIOp::create(b, type, x);
  }
  unsigned width = from.getIntOrFloatBitWidth();
  if (to == Elem::F32)
    return width == 1 ? Value(arith::UIToFPOp::create(b, type, x))
                      : Value(arith::SIToFPOp::create(b, type, x));
  if (to == Elem::I1) {
    Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(from, 0));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, zero);
  }
  if (width == 1)
    return arith::ExtUIOp::create(b, type, x);
  if (width < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, type, x);
  return arith::TruncIOp::create(b, type, x);
}

/// In f64, since for small exponents the difference cancels.
static Value oneMinusPower(ImplicitLocOpBuilder &b, Value base, Value exponent) {
  Type f64 = b.getF64Type();
  Value power = math::PowFOp::create(b, arith::ExtFOp::create(b, f64, base),
                                     arith::SIToFPOp::create(b, f64, exponent));
  Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  return arith::TruncFOp::create(b, b.getF32Type(), arith::SubFOp::create(b, one, power));
}

Value kernel::mapValue(ImplicitLocOpBuilder &b, Map map, ValueRange x, Elem result) {
  if (map == Map::OneMinusPower)
    return oneMinusPower(b, x[0], x[1]);
  if (map == Map::Select)
    return arith::SelectOp::create(b, x[0], x[1], x[2]);
  if (map == Map::Cast)
    return castValue(b, x[0], result);
  bool isFloat = isa<FloatType>(x[0].getType());
  if (std::optional<arith::CmpFPredicate> predicate = floatPredicate(map)) {
    if (isFloat)
      return arith::CmpFOp::create(b, *predicate, x[0], x[1]);
    return arith::CmpIOp::create(b, intPredicate(map, x[0].getType().isInteger(1)), x[0], x[1]);
  }
  if (!isFloat)
    return mapInteger(b, map, x);
  Value value = mapFloat(b, map, x);
  return result == Elem::BF16 ? roundToBf16(b, value) : value;
}

Value kernel::combineValues(ImplicitLocOpBuilder &b, Combine combine, Value a, Value x,
                            bool mayReorder) {
  bool isFloat = isa<FloatType>(x.getType());
  switch (combine) {
  case Combine::Sum:
    if (isFloat)
      return arith::AddFOp::create(
          b, a, x, mayReorder ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none);
    return arith::AddIOp::create(b, a, x);
  case Combine::Max:
    return isFloat ? Value(arith::MaximumFOp::create(b, a, x))
                   : Value(arith::MaxSIOp::create(b, a, x));
  case Combine::Min:
    return isFloat ? Value(arith::MinimumFOp::create(b, a, x))
                   : Value(arith::MinSIOp::create(b, a, x));
  }
  return {};
}

Value kernel::identityOf(ImplicitLocOpBuilder &b, Combine combine, Elem elem) {
  if (combine == Combine::Sum)
    return number(b, elem, 0);
  if (isFloat(elem)) {
    double infinity = std::numeric_limits<double>::infinity();
    return number(b, elem, combine == Combine::Max ? -infinity : infinity);
  }
  Type type = typeOf(b.getContext(), elem);
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value =
      combine == Combine::Max ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}
