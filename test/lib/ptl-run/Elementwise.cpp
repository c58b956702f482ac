//===- Elementwise.cpp - Element-wise operations --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One table of scalar functions over doubles. Integer kinds use the same
// functions where the exact double result is the integer result; division,
// remainder and casts look at the kind.
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Elementwise.h"

#include "llvm/ADT/Twine.h"
#include <cmath>

namespace ptlc::run {

using Function = double (*)(const double *);
namespace {
struct Entry {
  llvm::StringRef kind;
  unsigned arity;
  Function function;
};
} // namespace

static double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

double gelu(double x) {
  double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

double geluDerivative(double x) {
  double slope = std::sqrt(2 / M_PI);
  double t = std::tanh(slope * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope * (1 + 3 * 0.044715 * x * x);
}

static double siluDerivative(double x) {
  double s = sigmoid(x);
  return s * (1 + x * (1 - s));
}

static double sign(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }

/// The value unless an operand is junk.
static double guarded(const double *a, double value) {
  return std::isnan(a[0]) || std::isnan(a[1]) ? poison() : value;
}

static double logicalAnd(const double *a) {
  if (a[0] == 0 || a[1] == 0)
    return 0;
  return guarded(a, 1);
}

static double logicalOr(const double *a) {
  if ((!std::isnan(a[0]) && a[0] != 0) || (!std::isnan(a[1]) && a[1] != 0))
    return 1;
  return guarded(a, 0);
}

static double select(const double *a) {
  return std::isnan(a[0]) ? poison() : (a[0] != 0 ? a[1] : a[2]);
}

/// The remainder has the sign of the divisor, for floats as for integers.
static double mod(const double *a) {
  double rest = std::fmod(a[0], a[1]);
  return rest != 0 && (rest < 0) != (a[1] < 0) ? rest + a[1] : rest;
}

static const Entry kEntries[] = {
    {"add", 2, [](const double *a) { return a[0] + a[1]; }},
    {"sub", 2, [](const double *a) { return a[0] - a[1]; }},
    {"mul", 2, [](const double *a) { return a[0] * a[1]; }},
    {"div", 2, [](const double *a) { return a[0] / a[1]; }},
    {"mod", 2, mod},
    {"pow", 2, [](const double *a) { return guarded(a, std::pow(a[0], a[1])); }},
    {"max", 2, [](const double *a) { return guarded(a, std::fmax(a[0], a[1])); }},
    {"min", 2, [](const double *a) { return guarded(a, std::fmin(a[0], a[1])); }},
    {"neg", 1, [](const double *a) { return -a[0]; }},
    {"exp", 1, [](const double *a) { return std::exp(a[0]); }},
    {"log", 1, [](const double *a) { return std::log(a[0]); }},
    {"sqrt", 1, [](const double *a) { return std::sqrt(a[0]); }},
    {"rsqrt", 1, [](const double *a) { return 1 / std::sqrt(a[0]); }},
    {"sin", 1, [](const double *a) { return std::sin(a[0]); }},
    {"cos", 1, [](const double *a) { return std::cos(a[0]); }},
    {"tanh", 1, [](const double *a) { return std::tanh(a[0]); }},
    {"sigmoid", 1, [](const double *a) { return sigmoid(a[0]); }},
    {"abs", 1, [](const double *a) { return std::fabs(a[0]); }},
    {"relu", 1, [](const double *a) { return a[0] < 0 ? 0 : a[0]; }},
    {"gelu", 1, [](const double *a) { return gelu(a[0]); }},
    {"silu", 1, [](const double *a) { return a[0] * sigmoid(a[0]); }},
    {"floor", 1, [](const double *a) { return std::floor(a[0]); }},
    {"ceil", 1, [](const double *a) { return std::ceil(a[0]); }},
    {"recip", 1, [](const double *a) { return 1 / a[0]; }},
    {"sign", 1, [](const double *a) { return sign(a[0]); }},
    {"gelu_grad", 2, [](const double *a) { return geluDerivative(a[0]) * a[1]; }},
    {"silu_grad", 2, [](const double *a) { return siluDerivative(a[0]) * a[1]; }},
    {"eq", 2, [](const double *a) { return guarded(a, a[0] == a[1]); }},
    {"ne", 2, [](const double *a) { return guarded(a, a[0] != a[1]); }},
    {"lt", 2, [](const double *a) { return guarded(a, a[0] < a[1]); }},
    {"le", 2, [](const double *a) { return guarded(a, a[0] <= a[1]); }},
    {"gt", 2, [](const double *a) { return guarded(a, a[0] > a[1]); }},
    {"ge", 2, [](const double *a) { return guarded(a, a[0] >= a[1]); }},
    {"and", 2, logicalAnd},
    {"or", 2, logicalOr},
    {"not", 1, [](const double *a) { return std::isnan(a[0]) ? a[0] : a[0] == 0; }},
    {"select", 3, select},
    {"cast", 1, [](const double *a) { return a[0]; }},
};

static double castToInteger(const double *a) { return std::trunc(a[0]); }
static double castToBool(const double *a) { return std::isnan(a[0]) ? a[0] : a[0] != 0; }
static double integerDivide(const double *a) { return std::floor(a[0] / a[1]); }

static Function adaptToKind(const Entry &entry, Element element) {
  bool integer = element == Element::I32 || element == Element::I64;
  if (entry.kind == "cast" && integer)
    return castToInteger;
  if (entry.kind == "cast" && element == Element::I1)
    return castToBool;
  if (entry.kind == "div" && integer)
    return integerDivide;
  return entry.function;
}

llvm::Expected<Tensor> elementwise(llvm::StringRef kind, llvm::ArrayRef<Tensor> operands,
                                   const Type &type) {
  const Entry *entry = nullptr;
  for (const Entry &candidate : kEntries)
    if (candidate.kind == kind)
      entry = &candidate;
  if (!entry)
    return makeError("unknown element-wise operation '" + kind + "'");
  if (operands.size() != entry->arity)
    return makeError("'" + kind + "' takes " + llvm::Twine(entry->arity) + " operands, got " +
                     llvm::Twine(operands.size()));
  Function function = adaptToKind(*entry, type.element);
  Tensor result(type);
  double *out = result.mutableData();
  const Tensor &a = operands[0], &b = operands[entry->arity > 1 ? 1 : 0],
               &c = operands[entry->arity > 2 ? 2 : 0];
  std::array<Sizes, 3> strides = {a.type().stridesAlong(type.names),
                                  b.type().stridesAlong(type.names),
                                  c.type().stridesAlong(type.names)};
  int64_t at = 0;
  walk<3>(type.sizes, strides, [&](const std::array<int64_t, 3> &offset) {
    double arguments[3] = {a[offset[0]], b[offset[1]], c[offset[2]]};
    out[at++] = function(arguments);
  });
  return result;
}

} // namespace ptlc::run
