//===- Compare.cpp - The same numbers into two programs -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Compare.h"

#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace ptlc::run {

/// Below this, a tensor's differences are judged absolutely: all of it may be rounding.
static constexpr double kSmallestScale = 1e-3;
/// Past the first steps, where optimizers have special cases.
static constexpr int64_t kStep = 3;

bool Difference::within(double tolerance) const {
  return error <= tolerance * std::fmax(scale, kSmallestScale);
}

Difference difference(const Tensor &a, const Tensor &b) {
  Difference result;
  for (int64_t i = 0; i < a.count(); ++i) {
    if (std::isfinite(a[i]))
      result.scale = std::fmax(result.scale, std::fabs(a[i]));
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
      continue;
    double error = std::fabs(a[i] - b[i]);
    if (!std::isfinite(error))
      return {INFINITY, result.scale, i};
    if (error > result.error) {
      result.error = error;
      result.at = i;
    }
  }
  return result;
}

namespace {
/// Counts and reports.
struct Comparison {
  double tolerance;
  int64_t compared = 0, failed = 0;
  double worst = 0;

  void compare(const std::string &key, const Tensor &a, const Tensor &b);
  void compareAll(llvm::StringRef what, const Tensors &a, const Tensors &b, bool mustMatch);
};
} // namespace

void Comparison::compare(const std::string &key, const Tensor &a, const Tensor &b) {
  ++compared;
  if (a.type().sizes != b.type().sizes) {
    llvm::outs() << key << ": shapes differ, " << a.type().str() << " and " << b.type().str()
                 << "\n";
    ++failed;
    return;
  }
  Difference d = difference(a, b);
  worst = std::fmax(worst, d.error / std::fmax(d.scale, kSmallestScale));
  if (d.within(tolerance))
    return;
  ++failed;
  llvm::outs() << key << ": differs by " << number(d.error) << " of " << number(d.scale)
               << " at element " << d.at << ": " << number(a[d.at]) << " and " << number(b[d.at])
               << "\n";
}

void Comparison::compareAll(llvm::StringRef what, const Tensors &a, const Tensors &b,
                            bool mustMatch) {
  for (const auto &[key, tensor] : a) {
    auto other = b.find(key);
    if (other != b.end()) {
      compare(what.str() + key, tensor, other->second);
    } else if (mustMatch) {
      ++failed;
      llvm::outs() << what << key << ": only in the first program\n";
    }
  }
  for (const auto &[key, tensor] : b)
    if (mustMatch && !a.count(key)) {
      ++failed;
      llvm::outs() << what << key << ": only in the second program\n";
    }
}

/// Both programs must accept the same integers.
static void shareRanges(Signature &a, Signature &b) {
  for (Port &left : a.arguments)
    for (Port &right : b.arguments)
      if (left.key() == right.key() && (left.range || right.range)) {
        int64_t least = std::min(left.range.value_or(INT64_MAX), right.range.value_or(INT64_MAX));
        left.range = right.range = least;
      }
}

llvm::LogicalResult compareModules(mlir::func::FuncOp a, mlir::func::FuncOp b, Inputs &inputs,
                                   const RunOptions &options, double tolerance) {
  llvm::FailureOr<Signature> left = readSignature(a), right = readSignature(b);
  if (failed(left) || failed(right))
    return llvm::failure();
  shareRanges(*left, *right);
  Tensors values;
  if (llvm::Error error = inputs.fill(*left, kStep, values))
    return a.emitError(llvm::toString(std::move(error)));
  if (llvm::Error error = inputs.fill(*right, kStep, values))
    return b.emitError(llvm::toString(std::move(error)));
  llvm::FailureOr<GlobalOutcome> first = runGlobal(*left, values, options);
  if (failed(first))
    return llvm::failure();
  llvm::FailureOr<GlobalOutcome> second = runGlobal(*right, values, options);
  if (failed(second))
    return llvm::failure();
  Comparison comparison{tolerance};
  comparison.compareAll("", first->results, second->results, true);
  comparison.compareAll("gradient ", first->gradients, second->gradients, false);
  llvm::outs() << (comparison.failed ? "DIFFERENT" : "equal") << ": " << comparison.compared
               << " compared, " << comparison.failed << " failed, largest relative difference "
               << number(comparison.worst) << "\n";
  return llvm::success(comparison.failed == 0);
}

} // namespace ptlc::run
