//===- Train.cpp - Gradient norm and optimizers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Train.h"

#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace ptlc::run {

double globalNorm(llvm::ArrayRef<Tensor> tensors) {
  double sum = 0;
  for (const Tensor &tensor : tensors)
    for (int64_t i = 0; i < tensor.count(); ++i)
      sum += tensor[i] * tensor[i];
  return std::sqrt(sum);
}

static constexpr llvm::StringLiteral kAdamW[] = {"lr",  "beta1",        "beta2",
                                                 "eps", "weight_decay", "scale"};
static constexpr llvm::StringLiteral kSgd[] = {"lr", "momentum", "dampening", "weight_decay",
                                               "scale"};
static constexpr llvm::StringLiteral kLion[] = {"lr", "beta1", "beta2", "weight_decay", "scale"};

llvm::ArrayRef<llvm::StringLiteral> hyperNames(Optimizer optimizer) {
  if (optimizer == Optimizer::AdamW)
    return kAdamW;
  return optimizer == Optimizer::Sgd ? llvm::ArrayRef(kSgd) : llvm::ArrayRef(kLion);
}

void setHyper(Hypers &hypers, llvm::StringRef name, double value) {
  double ignored = 0;
  *llvm::StringSwitch<double *>(name)
       .Case("lr", &hypers.lr)
       .Case("beta1", &hypers.beta1)
       .Case("beta2", &hypers.beta2)
       .Case("eps", &hypers.eps)
       .Case("weight_decay", &hypers.weightDecay)
       .Case("momentum", &hypers.momentum)
       .Case("dampening", &hypers.dampening)
       .Case("scale", &hypers.scale)
       .Default(&ignored) = value;
}

static void adamw(double &weight, double &m, double &v, double g, const Hypers &h) {
  double count = static_cast<double>(h.step + 1);
  weight *= 1 - h.lr * h.weightDecay;
  m = h.beta1 * m + (1 - h.beta1) * g;
  v = h.beta2 * v + (1 - h.beta2) * g * g;
  double correction1 = 1 - std::pow(h.beta1, count), correction2 = 1 - std::pow(h.beta2, count);
  weight -= h.lr / correction1 * m / (std::sqrt(v) / std::sqrt(correction2) + h.eps);
}

/// `buffer` is null without momentum. The first gradient enters the buffer undamped.
static void sgd(double &weight, double *buffer, double g, const Hypers &h) {
  g += h.weightDecay * weight;
  if (buffer) {
    *buffer = h.step == 0 ? g : h.momentum * *buffer + (1 - h.dampening) * g;
    g = h.nesterov ? g + h.momentum * *buffer : *buffer;
  }
  weight -= h.lr * g;
}

static void lion(double &weight, double &m, double g, const Hypers &h) {
  double direction = h.beta1 * m + (1 - h.beta1) * g;
  weight *= 1 - h.lr * h.weightDecay;
  weight -= h.lr * (std::isnan(direction) ? direction : (direction > 0) - (direction < 0));
  m = h.beta2 * m + (1 - h.beta2) * g;
}

Update optimize(Optimizer optimizer, const Update &before, const Tensor &gradient,
                const Hypers &hypers) {
  Update after = before;
  double *weight = after.weight.mutableData();
  llvm::SmallVector<double *, 2> states;
  for (Tensor &state : after.states)
    states.push_back(state.mutableData());
  for (int64_t i = 0; i < gradient.count(); ++i) {
    double g = hypers.scale * gradient[i];
    if (optimizer == Optimizer::AdamW)
      adamw(weight[i], states[0][i], states[1][i], g, hypers);
    else if (optimizer == Optimizer::Sgd)
      sgd(weight[i], states.empty() ? nullptr : states[0] + i, g, hypers);
    else
      lion(weight[i], states[0][i], g, hypers);
  }
  return after;
}

} // namespace ptlc::run
