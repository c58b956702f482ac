//===- Philox.cpp - Counter-based random numbers, inline ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", 2011) as straight-line code, so that a loop over elements is
// vectorised. A block of four words serves four elements; each element computes
// the block of its own and takes one word.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelScalars/Arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <array>
#include <numbers>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

namespace {
struct Words {
  ImplicitLocOpBuilder &b;
  Type i32 = b.getI32Type(), i64 = b.getI64Type();

  Value word(uint32_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }
  Value wide(uint64_t value) { return integer(b, int64_t(value)); }
  Value low(Value x) { return arith::TruncIOp::create(b, i32, x); }
  Value high(Value x) { return low(arith::ShRUIOp::create(b, x, wide(32))); }
  Value widen(Value x) { return arith::ExtUIOp::create(b, i64, x); }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }

  /// splitmix64 of `x` (Steele, Lea, Flood 2014).
  Value mix(Value x) {
    x = add(x, wide(0x9E3779B97F4A7C15ULL));
    x = mul(exclusiveOr(x, arith::ShRUIOp::create(b, x, wide(30))), wide(0xBF58476D1CE4E5B9ULL));
    x = mul(exclusiveOr(x, arith::ShRUIOp::create(b, x, wide(27))), wide(0x94D049BB133111EBULL));
    return exclusiveOr(x, arith::ShRUIOp::create(b, x, wide(31)));
  }
};
} // namespace

/// The four words of the block with counter (`block`, `step`).
static std::array<Value, 4> philox(Words &w, Value key, Value block, Value step) {
  std::array<Value, 4> c = {w.low(block), w.high(block), w.low(step), w.high(step)};
  Value k0 = w.low(key), k1 = w.high(key);
  for (int round = 0; round < 10; ++round) {
    Value p0 = w.mul(w.widen(c[0]), w.wide(0xD2511F53u));
    Value p1 = w.mul(w.widen(c[2]), w.wide(0xCD9E8D57u));
    c = {w.exclusiveOr(w.exclusiveOr(w.high(p1), c[1]), k0), w.low(p1),
         w.exclusiveOr(w.exclusiveOr(w.high(p0), c[3]), k1), w.low(p0)};
    k0 = w.add(k0, w.word(0x9E3779B9u));
    k1 = w.add(k1, w.word(0xBB67AE85u));
  }
  return c;
}

static Value pick(Words &w, const std::array<Value, 4> &words, Value number) {
  ImplicitLocOpBuilder &b = w.b;
  Value result = words[0];
  for (unsigned i = 1; i < 4; ++i) {
    Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, w.wide(i));
    result = arith::SelectOp::create(b, is, words[i], result);
  }
  return result;
}

/// Box-Muller in f64: words 2k and 2k+1 make elements 2k (cosine) and 2k+1 (sine).
static Value boxMuller(Words &w, Value first, Value second, Value isOdd) {
  ImplicitLocOpBuilder &b = w.b;
  Type f64 = b.getF64Type();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  };
  auto uniform = [&](Value word, double shift) -> Value {
    Value x = arith::AddFOp::create(b, arith::UIToFPOp::create(b, f64, word), constant(shift));
    return arith::MulFOp::create(b, x, constant(0x1p-32));
  };
  Value log = math::LogOp::create(b, uniform(first, 1.0));
  Value radius = math::SqrtOp::create(b, arith::MulFOp::create(b, constant(-2), log));
  Value angle = arith::MulFOp::create(b, uniform(second, 0), constant(2 * std::numbers::pi));
  Value direction = arith::SelectOp::create(b, isOdd, math::SinOp::create(b, angle),
                                            math::CosOp::create(b, angle));
  return arith::TruncFOp::create(b, b.getF32Type(), arith::MulFOp::create(b, radius, direction));
}

Value kernel::randomValue(ImplicitLocOpBuilder &b, bool normal, uint64_t place, Value seed,
                          Value step, Value index) {
  Words w{b};
  Value key = w.mix(w.exclusiveOr(seed, w.wide(place)));
  Value block = arith::ShRUIOp::create(b, index, w.wide(2));
  Value number = arith::AndIOp::create(b, index, w.wide(3));
  std::array<Value, 4> words = philox(w, key, block, step);
  if (!normal) {
    Value bits = arith::ShRUIOp::create(b, pick(w, words, number), w.word(8));
    return arith::MulFOp::create(b, arith::UIToFPOp::create(b, b.getF32Type(), bits),
                                 kernel::number(b, Elem::F32, 0x1p-24));
  }
  Value upper = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, number, w.wide(2));
  Value first = arith::SelectOp::create(b, upper, words[2], words[0]);
  Value second = arith::SelectOp::create(b, upper, words[3], words[1]);
  Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                      arith::AndIOp::create(b, number, w.wide(1)), w.wide(0));
  return boxMuller(w, first, second, isOdd);
}
