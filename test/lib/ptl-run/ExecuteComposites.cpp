//===- ExecuteComposites.cpp - Composite operations on one rank -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Execute.h"

#include "dialects/Ptl/Ptl.h"
#include "test/lib/ptl-run/Attention.h"
#include "test/lib/ptl-run/Composites.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ptlc::run {

using Result = llvm::Expected<Results>;

static Result one(llvm::Expected<Tensor> result) {
  if (!result)
    return result.takeError();
  return Results{std::move(*result)};
}

static Result norm(llvm::Expected<Normalised> result, bool withMean) {
  if (!result)
    return result.takeError();
  if (withMean)
    return Results{result->y, result->mean, result->rstd};
  return Results{result->y, result->rstd};
}

template <typename Op> static std::optional<int64_t> ignored(Op op) {
  if (op.getIgnore())
    return static_cast<int64_t>(*op.getIgnore());
  return std::nullopt;
}

static Result runCrossEntropy(ptl::CrossEntropyOp op, const OpState &s) {
  auto result = crossEntropy(s[0], s[1], op.getOver(), ignored(op), typeOf(op.getLoss().getType()));
  if (!result)
    return result.takeError();
  return Results{result->loss, result->lse};
}

/// `maskQuery` keeps the text of a name that the form refers to.
template <typename Op>
static AttentionForm attentionForm(Op op, const OpState &state, std::string &maskQuery) {
  maskQuery = (op.getOver() + ".query").str();
  AttentionForm form;
  form.over = op.getOver();
  form.depth = op.getDepth();
  form.valueDepth = op.getValueDepth();
  form.maskQuery = maskQuery;
  form.causal = op.getCausal();
  if (op.getWindow())
    form.window = static_cast<int64_t>(*op.getWindow());
  form.scale = op.getScale().convertToDouble();
  if (op.getGroup()) {
    form.heads = op.getGroup()->getFrom()[0].getValue();
    form.keyHeads = op.getGroup()->getTo()[0].getValue();
  }
  form.queryWindows = state.windows;
  return form;
}

static Result runAttention(ptl::AttentionOp op, const OpState &s) {
  std::string maskQuery;
  AttentionForm form = attentionForm(op, s, maskQuery);
  std::optional<Tensor> mask;
  if (op.getMask())
    mask = s[3];
  auto result = attention(s[0], s[1], s[2], mask, form, typeOf(op.getY().getType()),
                          typeOf(op.getLse().getType()));
  if (!result)
    return result.takeError();
  return Results{result->y, result->lse};
}

static Result runAttentionGrad(ptl::AttentionGradOp op, const OpState &s) {
  std::string maskQuery;
  AttentionForm form = attentionForm(op, s, maskQuery);
  std::optional<Tensor> mask;
  if (op.getMask())
    mask = s[6];
  auto result = attentionGrad(s[0], s[1], s[2], s[3], mask, s[4], s[5], form);
  if (!result)
    return result.takeError();
  return Results{result->dq, result->dk, result->dv};
}

std::optional<Result> executeComposite(mlir::Operation *op, const OpState &s) {
  using Maybe = std::optional<Result>;
  return llvm::TypeSwitch<mlir::Operation *, Maybe>(op)
      .Case([&](ptl::SoftmaxOp op) -> Maybe { return one(softmax(s[0], op.getOver())); })
      .Case([&](ptl::SoftmaxGradOp op) -> Maybe {
        return one(softmaxGrad(s[0], s[1], op.getOver()));
      })
      .Case([&](ptl::LogSoftmaxOp op) -> Maybe { return one(logSoftmax(s[0], op.getOver())); })
      .Case([&](ptl::LogSoftmaxGradOp op) -> Maybe {
        return one(logSoftmaxGrad(s[0], s[1], op.getOver()));
      })
      .Case([&](ptl::LayerNormOp op) -> Maybe {
        return norm(layerNorm(s[0], op.getOver(), op.getEps().convertToDouble(),
                              typeOf(op.getMean().getType())),
                    true);
      })
      .Case([&](ptl::LayerNormGradOp op) -> Maybe {
        return one(normGrad(s[0], s[1], s[2], s[3], op.getOver()));
      })
      .Case([&](ptl::RmsNormOp op) -> Maybe {
        return norm(rmsNorm(s[0], op.getOver(), op.getEps().convertToDouble(),
                            typeOf(op.getRstd().getType())),
                    false);
      })
      .Case([&](ptl::RmsNormGradOp op) -> Maybe {
        return one(normGrad(s[0], s[1], std::nullopt, s[2], op.getOver()));
      })
      .Case([&](ptl::CrossEntropyOp op) -> Maybe { return runCrossEntropy(op, s); })
      .Case([&](ptl::CrossEntropyGradOp op) -> Maybe {
        return one(crossEntropyGrad(s[0], s[1], s[2], s[3], op.getOver(), ignored(op)));
      })
      .Case([&](ptl::AttentionOp op) -> Maybe { return runAttention(op, s); })
      .Case([&](ptl::AttentionGradOp op) -> Maybe { return runAttentionGrad(op, s); })
      .Case([&](ptl::RopeOp op) -> Maybe {
        return one(rope(s[0], op.getOver(), op.getAlong(), op.getTheta().convertToDouble(),
                        op.getInverse(), s.windows));
      })
      .Default([](mlir::Operation *) -> Maybe { return std::nullopt; });
}

} // namespace ptlc::run
