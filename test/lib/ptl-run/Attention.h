//===- Attention.h - Attention and its derivative -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_RUN_ATTENTION_H
#define PTLC_TEST_LIB_PTL_RUN_ATTENTION_H

#include "test/lib/ptl-run/Shapes.h"
#include "test/lib/ptl-run/Tensor.h"
#include <optional>

namespace ptlc::run {

/// y = softmax over the keys of (scale q k) times v. The keys lie along `over` of k and v. If q has
/// `over`, too, it is self-attention: position i of q and position j of k are then different names.
struct AttentionForm {
  Name over, depth, valueDepth;
  Name maskQuery{}; ////< what a mask calls the queries of self-attention; `over` names its keys
  bool causal = false;
  std::optional<int64_t> window = std::nullopt; ///< query i sees keys j with i - window < j
  double scale = 1;
  Name heads, keyHeads; ///< groups: query head h uses key head h / (heads / keyHeads); may be empty
  Windows queryWindows; ///< where the local positions of q along `over` lie
};

struct AttentionResult {
  Tensor y, lse;
};
/// `lse` is the log-sum-exp of the scores, one per query. A query that sees no key has y = 0.
llvm::Expected<AttentionResult> attention(const Tensor &q, const Tensor &k, const Tensor &v,
                                          const std::optional<Tensor> &mask,
                                          const AttentionForm &form, const Type &y,
                                          const Type &lse);

struct AttentionGradients {
  Tensor dq, dk, dv;
};
llvm::Expected<AttentionGradients> attentionGrad(const Tensor &dy, const Tensor &q, const Tensor &k,
                                                 const Tensor &v, const std::optional<Tensor> &mask,
                                                 const Tensor &y, const Tensor &lse,
                                                 const AttentionForm &form);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_ATTENTION_H
