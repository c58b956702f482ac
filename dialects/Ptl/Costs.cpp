//===- Costs.cpp - Work and traffic of operations of ptl ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Infer.h"
#include "dialects/Ptl/ByteSize.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

static int64_t elements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 0;
}

static int64_t bytesOf(Value value) { return getByteSize(value.getType()); }

static int64_t trafficOf(Operation *op) {
  int64_t bytes = 0;
  for (Value value : op->getOperands())
    bytes += bytesOf(value);
  for (Value value : op->getResults())
    bytes += bytesOf(value);
  return bytes;
}

// Bytes are always operands plus results; FLOPs are per element of the first operand or result.
#define PTLC_COST(OpT, FLOPS)                                                                      \
  int64_t OpT::getFlops() { return FLOPS; }                                                        \
  int64_t OpT::getBytes() { return trafficOf(*this); }

PTLC_COST(ConstantOp, 0)
PTLC_COST(IotaOp, 0)
PTLC_COST(RandomOp, elements(getResult()) * 20)
PTLC_COST(ElementwiseOp, elements(getResult()))
PTLC_COST(StopGradientOp, 0)
PTLC_COST(BroadcastOp, 0)
PTLC_COST(ReshapeOp, 0)
PTLC_COST(ConcatOp, 0)
PTLC_COST(SliceOp, 0)
PTLC_COST(PadOp, 0)
PTLC_COST(GatherOp, 0)
PTLC_COST(ScatterAddOp, elements(getUpdates()))
PTLC_COST(ReduceOp, elements(getX()))
PTLC_COST(ArgmaxOp, elements(getX()))
PTLC_COST(TopKOp, elements(getX()) * getDimSize(getValues(), getTo()))
PTLC_COST(SoftmaxOp, elements(getX()) * 5)
PTLC_COST(SoftmaxGradOp, elements(getY()) * 4)
PTLC_COST(LogSoftmaxOp, elements(getX()) * 5)
PTLC_COST(LogSoftmaxGradOp, elements(getY()) * 4)
PTLC_COST(LayerNormOp, elements(getX()) * 7)
PTLC_COST(LayerNormGradOp, elements(getX()) * 10)
PTLC_COST(RmsNormOp, elements(getX()) * 4)
PTLC_COST(RmsNormGradOp, elements(getX()) * 8)
PTLC_COST(CrossEntropyOp, elements(getLogits()) * 4)
PTLC_COST(CrossEntropyGradOp, elements(getLogits()) * 4)
PTLC_COST(RopeOp, elements(getX()) * 3)
PTLC_COST(MicrobatchOp, 0)
PTLC_COST(GlobalNormOp, [&] {
  int64_t count = 0;
  for (Value operand : getOperands())
    count += 2 * elements(operand);
  return count;
}())
PTLC_COST(OptimizeOp, [&] {
  int64_t count = 0;
  for (Value weight : getWeights())
    count += 12 * elements(weight);
  return count;
}())

/// A multiplication and an addition per point of the iteration space.
PTLC_COST(DotOp, [&] {
  int64_t points = 2 * elements(getResult());
  for (StringAttr dim : getOver().getNames())
    points *= hasDim(getLhs(), dim.getValue()) ? getDimSize(getLhs(), dim.getValue())
                                               : getDimSize(getRhs(), dim.getValue());
  return points;
}())

/// Two products over (queries x keys); causal attention skips half.
template <typename OpT> static int64_t attentionFlops(OpT op, int64_t products) {
  int64_t keys = getDimSize(op.getK(), op.getOver());
  if (op.getWindow())
    keys = std::min<int64_t>(keys, *op.getWindow());
  int64_t flops = products * keys * (elements(op.getQ()) + elements(op.getY()));
  return op.getCausal() ? flops / 2 : flops;
}
PTLC_COST(AttentionOp, attentionFlops(*this, 2))
PTLC_COST(AttentionGradOp, attentionFlops(*this, 5))
