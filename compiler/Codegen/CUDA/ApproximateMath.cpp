//===- ApproximateMath.cpp - f32 functions by instructions of the GPU -----===//
// SPDX-License-Identifier: Apache-2.0
//
// The instructions' errors (PTX manual): ex2 2^-22 relative, lg2 2^-22 absolute
// near 1 and relative elsewhere, rcp and sqrt 1 to 2 units in the last place,
// sin and cos 2^-20.5 absolute in [-pi, pi]. So
//   exp(x)  = ex2(x log2 e)           the rounding of the product adds |x| 2^-24
//   log(x)  = lg2(x) ln 2
//   tanh(x) = 2 / (1 + exp(-2x)) - 1  absolute error 2^-23
//   sin(x)  of x - 2 pi round(x / 2 pi), 2 pi in three parts (Cody and Waite)
//   x ^ y   = ex2(y lg2 |x|), with the sign of x for odd y; products for small y
//   x mod y = x - y trunc(x / y), of magnitudes; one y more or less where the
//             quotient was rounded to another whole number
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Passes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numbers>

namespace ptlc::cuda {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "compiler/Codegen/CUDA/Passes.h.inc"
} // namespace ptlc::cuda

using namespace mlir;
using namespace ptlc;

namespace {
/// Builds formulas in f32.
class Formula {
public:
  explicit Formula(Operation *op) : b(op->getLoc(), op) {}

  /// The value that replaces `op`, or null if it stays.
  Value replace(Operation *op);

private:
  static constexpr arith::FastMathFlags kContract = arith::FastMathFlags::contract;

  Value constant(double x) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(x)));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y, kContract); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y, kContract); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y, kContract); }
  Value scale(Value x, double factor) { return mul(x, constant(factor)); }
  Value call(StringRef name, Value x) {
    return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                         b.getStringAttr("llvm.nvvm." + name.str()), ValueRange{x})
        .getResult(0);
  }
  Value exp2(Value x) { return call("ex2.approx.ftz.f32", x); }
  Value log2(Value x) { return call("lg2.approx.ftz.f", x); }
  Value recip(Value x) { return call("rcp.approx.ftz.f", x); }
  Value divide(Value x, Value y) {
    return matchPattern(x, m_OneFloat()) ? recip(y) : mul(x, recip(y));
  }
  Value exp(Value x) { return exp2(scale(x, std::numbers::log2e)); }
  Value tanh(Value x) {
    Value rest = add(exp2(scale(x, -2 * std::numbers::log2e)), constant(1));
    return sub(scale(recip(rest), 2), constant(1));
  }
  Value reduceAngle(Value x);
  Value power(Value x, Value y);
  Value remainder(Value x, Value y);
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }

  ImplicitLocOpBuilder b;
};
} // namespace

/// x modulo 2 pi, in [-pi, pi].
Value Formula::reduceAngle(Value x) {
  // The first two parts have few bits, so that their products with the turns are exact.
  constexpr double kFirst = 6.28125, kSecond = 0.0019340515136718750;
  constexpr double kThird = 2 * std::numbers::pi - kFirst - kSecond;
  Value turns = add(scale(x, 0.5 / std::numbers::pi), constant(0.5));
  turns = call("floor.ftz.f", turns);
  for (double part : {kFirst, kSecond, kThird})
    x = sub(x, scale(turns, part));
  return x;
}

Value Formula::power(Value x, Value y) {
  FloatAttr known;
  if (matchPattern(y, m_Constant(&known))) {
    double exponent = known.getValueAsDouble();
    if (exponent == 2 || exponent == 3)
      return exponent == 2 ? mul(x, x) : mul(x, mul(x, x));
    if (exponent == 0.5)
      return call("sqrt.approx.ftz.f", x);
  }
  Value zero = constant(0), size = exp2(mul(y, log2(call("fabs.ftz.f32", x))));
  // Of a negative base only whole powers exist, and odd ones are negative.
  Value half = scale(y, 0.5);
  Value isOdd = compare(arith::CmpFPredicate::UNE, half, call("floor.ftz.f", half));
  Value isWhole = compare(arith::CmpFPredicate::OEQ, y, call("floor.ftz.f", y));
  Value negative = select(isOdd, sub(zero, size), size);
  negative = select(isWhole, negative, constant(std::numeric_limits<double>::quiet_NaN()));
  Value result = select(compare(arith::CmpFPredicate::OLT, x, zero), negative, size);
  return select(compare(arith::CmpFPredicate::OEQ, y, zero), constant(1), result);
}

/// With the sign of x.
Value Formula::remainder(Value x, Value y) {
  Value zero = constant(0);
  Value dividend = call("fabs.ftz.f32", x), divisor = call("fabs.ftz.f32", y);
  Value rest = sub(dividend, mul(divisor, call("trunc.ftz.f", divide(dividend, divisor))));
  Value more = select(compare(arith::CmpFPredicate::OGE, rest, divisor), sub(rest, divisor), rest);
  rest = select(compare(arith::CmpFPredicate::OLT, rest, zero), add(rest, divisor), more);
  return select(compare(arith::CmpFPredicate::OLT, x, zero), sub(zero, rest), rest);
}

Value Formula::replace(Operation *op) {
  auto x = [&](unsigned i = 0) { return op->getOperand(i); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return exp(x()); })
      .Case([&](math::LogOp) { return scale(log2(x()), std::numbers::ln2); })
      .Case([&](math::TanhOp) { return tanh(x()); })
      .Case([&](math::SqrtOp) { return call("sqrt.approx.ftz.f", x()); })
      .Case([&](math::SinOp) { return call("sin.approx.ftz.f", reduceAngle(x())); })
      .Case([&](math::CosOp) { return call("cos.approx.ftz.f", reduceAngle(x())); })
      .Case([&](math::PowFOp) { return power(x(), x(1)); })
      .Case([&](math::AbsFOp) { return call("fabs.ftz.f32", x()); })
      .Case([&](math::FloorOp) { return call("floor.ftz.f", x()); })
      .Case([&](math::CeilOp) { return call("ceil.ftz.f", x()); })
      .Case([&](arith::DivFOp) { return divide(x(), x(1)); })
      .Case([&](arith::RemFOp) { return remainder(x(), x(1)); })
      .Default([](Operation *) { return Value(); });
}

namespace {
struct ApproximateMath : cuda::impl::ApproximateMathBase<ApproximateMath> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (op->getNumResults() != 1 || !op->getResult(0).getType().isF32())
        return;
      if (Value value = Formula(op).replace(op)) {
        op->getResult(0).replaceAllUsesWith(value);
        op->erase();
      }
    });
  }
};
} // namespace
