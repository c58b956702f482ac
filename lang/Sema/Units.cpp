//===- Units.cpp - 80 GB, 900 GB/s, 989 TFLOP/s ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A unit is a prefix and B or FLOP, or a time. k M G T P are powers of 1000 (K
// is k), Ki Mi Gi Ti Pi of 1024.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Entry.h"

namespace ptlc::sema {

namespace {
struct Unit {
  llvm::StringRef name;
  double factor;
  Quantity quantity;
};
} // namespace

static constexpr double kKi = 1024.0;
static constexpr Unit kUnits[] = {
    {"B", 1, Quantity::Bytes},
    {"kB", 1e3, Quantity::Bytes},
    {"KB", 1e3, Quantity::Bytes},
    {"MB", 1e6, Quantity::Bytes},
    {"GB", 1e9, Quantity::Bytes},
    {"TB", 1e12, Quantity::Bytes},
    {"PB", 1e15, Quantity::Bytes},
    {"KiB", kKi, Quantity::Bytes},
    {"MiB", kKi * kKi, Quantity::Bytes},
    {"GiB", kKi * kKi * kKi, Quantity::Bytes},
    {"TiB", kKi * kKi * kKi * kKi, Quantity::Bytes},
    {"PiB", kKi * kKi * kKi * kKi * kKi, Quantity::Bytes},
    {"FLOP", 1, Quantity::Flops},
    {"kFLOP", 1e3, Quantity::Flops},
    {"MFLOP", 1e6, Quantity::Flops},
    {"GFLOP", 1e9, Quantity::Flops},
    {"TFLOP", 1e12, Quantity::Flops},
    {"PFLOP", 1e15, Quantity::Flops},
    {"ns", 1e-9, Quantity::Seconds},
    {"us", 1e-6, Quantity::Seconds},
    {"ms", 1e-3, Quantity::Seconds},
    {"s", 1, Quantity::Seconds},
};

std::optional<double> unitFactor(Context &ctx, const ast::MeasureExpr &measure,
                                 Quantity &quantity) {
  llvm::SmallVector<llvm::StringRef> candidates;
  const Unit *found = nullptr;
  for (const Unit &unit : kUnits) {
    candidates.push_back(unit.name);
    if (unit.name == measure.unit.text)
      found = &unit;
  }
  if (!found) {
    ctx.error(measure.unit.range, "unknown unit '" + measure.unit.text + "'" +
                                      lang::didYouMean(measure.unit.text, candidates));
    return std::nullopt;
  }
  quantity = found->quantity;
  if (measure.per.empty())
    return found->factor;
  if (measure.per.text != "s") {
    ctx.error(measure.per.range, "a rate is per second: '" + measure.unit.text + "/s'");
    return std::nullopt;
  }
  if (found->quantity == Quantity::Seconds) {
    ctx.error(measure.range, "a rate is of bytes or operations per second");
    return std::nullopt;
  }
  quantity =
      found->quantity == Quantity::Bytes ? Quantity::BytesPerSecond : Quantity::FlopsPerSecond;
  return found->factor;
}

/// An example of each quantity, for messages.
static llvm::StringRef example(Quantity quantity) {
  switch (quantity) {
  case Quantity::Bytes:
    return "80 GB";
  case Quantity::BytesPerSecond:
    return "50 GB/s";
  case Quantity::Flops:
    return "1 TFLOP";
  case Quantity::FlopsPerSecond:
    return "989 TFLOP/s";
  case Quantity::Seconds:
    return "20 ms";
  }
  return "";
}

std::optional<double> EntryReader::measure(const ast::Expr &expr, Quantity quantity) {
  const auto *measure = llvm::dyn_cast<ast::MeasureExpr>(&expr);
  if (!measure) {
    ctx.error(expr.range, "'" + name + "' needs a unit, such as " + example(quantity));
    return std::nullopt;
  }
  Quantity found = quantity;
  std::optional<double> factor = unitFactor(ctx, *measure, found);
  if (!factor)
    return std::nullopt;
  if (found != quantity) {
    ctx.error(measure->range, "'" + name + "' is given as in " + example(quantity) + ", not in '" +
                                  ctx.sources.text(measure->range) + "'");
    return std::nullopt;
  }
  double number = 0;
  if (llvm::StringRef(measure->number->digits()).getAsDouble(number)) {
    ctx.error(measure->range, "the number is out of range");
    return std::nullopt;
  }
  return number * *factor;
}

} // namespace ptlc::sema
