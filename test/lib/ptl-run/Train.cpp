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
static constexpr llvm::StringLiteral kMuon[] = {"momentum", "scale"};
static constexpr llvm::StringLiteral kLamb[] = {"beta1", "beta2", "eps", "weight_decay", "scale"};
static constexpr llvm::StringLiteral kApply[] = {"lr", "weight_decay", "scale"};

llvm::ArrayRef<llvm::StringLiteral> hyperNames(Optimizer optimizer) {
  switch (optimizer) {
  case Optimizer::AdamW:
    return kAdamW;
  case Optimizer::Sgd:
    return kSgd;
  case Optimizer::Lion:
    return kLion;
  case Optimizer::Muon:
    return kMuon;
  case Optimizer::Lamb:
    return kLamb;
  case Optimizer::Apply:
    return kApply;
  }
  return {};
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

/// The step of Adam for a learning rate of 1.
static double adam(double &m, double &v, double g, const Hypers &h) {
  double count = static_cast<double>(h.step + 1);
  m = h.beta1 * m + (1 - h.beta1) * g;
  v = h.beta2 * v + (1 - h.beta2) * g * g;
  double correction1 = 1 - std::pow(h.beta1, count), correction2 = 1 - std::pow(h.beta2, count);
  return m / correction1 / (std::sqrt(v) / std::sqrt(correction2) + h.eps);
}

static void adamw(double &weight, double &m, double &v, double g, const Hypers &h) {
  weight *= 1 - h.lr * h.weightDecay;
  weight -= h.lr * adam(m, v, g, h);
}

static void lamb(double &weight, double &m, double &v, double g, const Hypers &h) {
  weight = adam(m, v, g, h) + h.weightDecay * weight;
}

static void muon(double &weight, double &m, double g, const Hypers &h) {
  m = h.momentum * m + (1 - h.momentum) * g;
  weight = h.nesterov ? h.momentum * m + (1 - h.momentum) * g : m;
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
    switch (optimizer) {
    case Optimizer::AdamW:
      adamw(weight[i], states[0][i], states[1][i], g, hypers);
      break;
    case Optimizer::Sgd:
      sgd(weight[i], states.empty() ? nullptr : states[0] + i, g, hypers);
      break;
    case Optimizer::Lion:
      lion(weight[i], states[0][i], g, hypers);
      break;
    case Optimizer::Muon:
      muon(weight[i], states[0][i], g, hypers);
      break;
    case Optimizer::Lamb:
      lamb(weight[i], states[0][i], states[1][i], g, hypers);
      break;
    case Optimizer::Apply:
      weight[i] = weight[i] * (1 - hypers.lr * hypers.weightDecay) - hypers.lr * g;
      break;
    }
  }
  return after;
}

} // namespace ptlc::run
