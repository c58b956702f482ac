//===- Gradients.cpp - Gradients against differences of the loss ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// With f(h) the loss h away along a direction, D(h) = (f(h) - f(-h)) / 2h is off
// by O(h^2), and R(h) = (4 D(h/2) - D(h)) / 3 by O(h^4): at h = 1e-2 .. 1e-6 its
// error and the rounding of f (1e-16 / h) are both far below 1e-6. Where the
// function has a kink between -h and h, the R of different h disagree, and a
// smaller h may have none.
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Gradients.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace ptlc::run {

/// Directions drawn for each that is wanted.
static constexpr int64_t kDraws = 4;

llvm::FailureOr<Slope> slopeAtZero(llvm::function_ref<llvm::FailureOr<double>(double)> function,
                                   double scale, double tolerance) {
  double previous = 0;
  bool first = true;
  for (double h : {1e-2, 2.5e-3, 6e-4, 1.5e-4, 4e-5, 1e-5, 2.5e-6, 6e-7}) {
    double difference[2];
    for (int i = 0; i < 2; ++i) {
      double width = i == 0 ? h : h / 2;
      llvm::FailureOr<double> above = function(width), below = function(-width);
      if (failed(above) || failed(below))
        return llvm::failure();
      difference[i] = (*above - *below) / (2 * width);
    }
    double value = (4 * difference[1] - difference[0]) / 3;
    if (!first && std::fabs(value - previous) <= tolerance * scale)
      return Slope{value, true};
    previous = value;
    first = false;
  }
  return Slope{previous, false};
}

namespace {
/// The state of a check.
struct Check {
  const Signature &loss;
  RunOptions options;
  Tensors values;
  int64_t directions;
  double tolerance;
  int64_t checked = 0, skipped = 0, failed = 0;

  llvm::FailureOr<double> lossAt(const std::string &key, const Tensor &direction, double h);
  llvm::LogicalResult checkWeight(const Port &port, const Tensor &gradient);
};
} // namespace

llvm::FailureOr<double> Check::lossAt(const std::string &key, const Tensor &direction, double h) {
  Tensors moved = values;
  Tensor &weight = moved[key];
  double *out = weight.mutableData();
  for (int64_t i = 0; i < weight.count(); ++i)
    out[i] += h * direction[i];
  llvm::FailureOr<GlobalOutcome> outcome = runGlobal(loss, moved, options);
  if (llvm::failed(outcome))
    return llvm::failure();
  auto value = outcome->results.find("loss");
  if (value == outcome->results.end())
    value = outcome->results.begin();
  return value->second.scalar();
}

/// A random direction of length 1.
static Tensor unitDirection(const Port &port, int64_t number) {
  RandomStream stream(static_cast<uint64_t>(number), port.path + "/direction", 0);
  Tensor direction(port.global);
  double *out = direction.mutableData(), length = 0;
  for (int64_t i = 0; i < direction.count(); ++i) {
    out[i] = stream.normal(i);
    length += out[i] * out[i];
  }
  for (int64_t i = 0; i < direction.count(); ++i)
    out[i] /= std::sqrt(length);
  return direction;
}

llvm::LogicalResult Check::checkWeight(const Port &port, const Tensor &gradient) {
  double length = 0, worst = 0, worstSlope = 0, worstClaim = 0;
  for (int64_t i = 0; i < gradient.count(); ++i)
    length += gradient[i] * gradient[i];
  // A random direction sees about length / sqrt(n) of the gradient.
  double scale = std::sqrt(length / gradient.count()) + 1e-6;
  // Others take the place of directions with a kink.
  for (int64_t n = 0, smooth = 0; smooth < directions && n < kDraws * directions; ++n) {
    Tensor direction = unitDirection(port, n);
    double claim = 0;
    for (int64_t i = 0; i < gradient.count(); ++i)
      claim += gradient[i] * direction[i];
    auto function = [&](double h) { return lossAt(port.key(), direction, h); };
    llvm::FailureOr<Slope> slope = slopeAtZero(function, scale, tolerance);
    if (llvm::failed(slope))
      return llvm::failure();
    if (!slope->smooth) {
      ++skipped;
      continue;
    }
    ++checked;
    ++smooth;
    double error = std::fabs(slope->value - claim) / scale;
    if (!(error <= worst)) {
      worst = error;
      worstSlope = slope->value;
      worstClaim = claim;
    }
  }
  if (worst <= tolerance)
    return llvm::success();
  ++failed;
  llvm::outs() << port.path << ": slope " << number(worstSlope) << ", by the gradient "
               << number(worstClaim) << ", relative error " << number(worst) << "\n";
  return llvm::success();
}

llvm::LogicalResult checkGradients(mlir::func::FuncOp lossFunction, mlir::func::FuncOp step,
                                   Inputs &inputs, RunOptions options, int64_t directions,
                                   double tolerance) {
  options.f64 = true;
  llvm::FailureOr<Signature> loss = readSignature(lossFunction), training = readSignature(step);
  if (failed(loss) || failed(training))
    return llvm::failure();
  Check check{*loss, options, {}, directions, tolerance};
  for (const Signature *signature : {&*loss, &*training})
    if (llvm::Error error = inputs.fill(*signature, 0, check.values))
      return step.emitError(llvm::toString(std::move(error)));
  llvm::FailureOr<GlobalOutcome> outcome = runGlobal(*training, check.values, options);
  if (failed(outcome))
    return llvm::failure();
  int64_t weights = 0;
  for (const Port &port : loss->arguments) {
    bool frozen = port.attributes && port.attributes.contains("ptl.frozen");
    if (port.role != "weight" || frozen)
      continue;
    auto gradient = outcome->gradients.find(port.path);
    if (gradient == outcome->gradients.end())
      return step.emitError("no value is marked as the gradient of '") << port.path << "'";
    ++weights;
    if (failed(check.checkWeight(port, gradient->second)))
      return llvm::failure();
  }
  llvm::outs() << (check.failed ? "WRONG" : "right") << ": gradients of " << weights << " weights, "
               << check.checked << " directions checked, " << check.skipped
               << " skipped (not smooth), " << check.failed << " weights failed\n";
  return llvm::success(check.failed == 0 && check.checked > 0);
}

} // namespace ptlc::run
