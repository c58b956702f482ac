//===- Composites.h - Softmax, norms, cross entropy, rope -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each from its mathematical definition, in double throughout, and each
// derivative from its closed form: nothing here follows the compiler's
// expansions, so that comparing the two means something.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_COMPOSITES_H
#define PTLC_TEST_LIB_PTL_RUN_COMPOSITES_H

#include "test/lib/ptl-run/Shapes.h"
#include "test/lib/ptl-run/Tensor.h"
#include <optional>

namespace ptlc::run {

llvm::Expected<Tensor> softmax(const Tensor &x, Name over);
llvm::Expected<Tensor> softmaxGrad(const Tensor &y, const Tensor &dy, Name over);
llvm::Expected<Tensor> logSoftmax(const Tensor &x, Name over);
llvm::Expected<Tensor> logSoftmaxGrad(const Tensor &y, const Tensor &dy, Name over);

/// The normalised values and the statistics, one per row; `mean` is unset for the RMS norm.
struct Normalised {
  Tensor y, mean, rstd;
};
llvm::Expected<Normalised> layerNorm(const Tensor &x, Name over, double eps, const Type &row);
llvm::Expected<Normalised> rmsNorm(const Tensor &x, Name over, double eps, const Type &row);
/// The derivative of either norm (without `mean` of the RMS norm) with respect to x.
llvm::Expected<Tensor> normGrad(const Tensor &dy, const Tensor &x,
                                const std::optional<Tensor> &mean, const Tensor &rstd, Name over);

/// Per target -log softmax(logits)[target], 0 where the target equals `ignore`, and the
/// log-sum-exp, both of type `row`.
struct CrossEntropy {
  Tensor loss, lse;
};
llvm::Expected<CrossEntropy> crossEntropy(const Tensor &logits, const Tensor &targets, Name over,
                                          std::optional<int64_t> ignore, const Type &row);
llvm::Expected<Tensor> crossEntropyGrad(const Tensor &dloss, const Tensor &logits,
                                        const Tensor &targets, const Tensor &lse, Name over,
                                        std::optional<int64_t> ignore);

/// Rotates the halves of `over` by position along `along` times theta^(-2i / size).
llvm::Expected<Tensor> rope(const Tensor &x, Name over, Name along, double theta, bool inverse,
                            llvm::ArrayRef<Window> windows);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_COMPOSITES_H
