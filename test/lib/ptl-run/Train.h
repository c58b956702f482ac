//===- Train.h - Gradient norm and optimizers -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_RUN_TRAIN_H
#define PTLC_TEST_LIB_PTL_RUN_TRAIN_H

#include "test/lib/ptl-run/Tensor.h"

namespace ptlc::run {

/// The square root of the sum of squares of all elements of all tensors.
double globalNorm(llvm::ArrayRef<Tensor> tensors);

enum class Optimizer : uint8_t { AdamW, Sgd, Lion, Muon, Lamb, Apply };

/// What one update reads besides the tensors; `scale` multiplies the gradient first. Unused fields
/// keep their defaults.
struct Hypers {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weightDecay = 0, momentum = 0, dampening = 0,
         scale = 1;
  bool nesterov = false;
  int64_t step = 0; ///< from 0
};
/// Names of the hyper-parameters of an optimizer, in the order of the operands.
llvm::ArrayRef<llvm::StringLiteral> hyperNames(Optimizer optimizer);
/// Sets the hyper-parameter `name`.
void setHyper(Hypers &hypers, llvm::StringRef name, double value);

/// A weight with its states: adamw and lamb m and v; sgd the momentum buffer or none; lion and muon
/// m. Of muon and lamb `weight` becomes the direction of the step.
struct Update {
  Tensor weight;
  llvm::SmallVector<Tensor, 2> states;
};
/// One step of torch.optim.AdamW, torch.optim.SGD, or Lion (Chen et al. 2023, algorithm 2); what
/// torch.optim.Muon and LAMB (You et al. 2020, algorithm 2) do element by element, or their step.
Update optimize(Optimizer optimizer, const Update &before, const Tensor &gradient,
                const Hypers &hypers);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_TRAIN_H
