//===- Builders.cpp - Builders that infer the result's type ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Infer.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

void ConstantOp::build(OpBuilder &builder, OperationState &state, Type type, double value) {
  build(builder, state, type, builder.getF64FloatAttr(value));
}

void IotaOp::build(OpBuilder &builder, OperationState &state, StringAttr dim, int64_t size) {
  build(builder, state, getTensorType({size}, builder.getI32Type(), {dim}), dim,
        /*cut=*/Attribute());
}

void ElementwiseOp::build(OpBuilder &builder, OperationState &state, ElementwiseKind kind,
                          ValueRange operands) {
  Type type = kind == ElementwiseKind::Select ? operands[1].getType() : operands[0].getType();
  if (isComparison(kind))
    type = withElement(type, builder.getI1Type());
  build(builder, state, type, kind, operands);
}

unsigned ElementwiseOp::arity(ElementwiseKind kind) {
  using K = ElementwiseKind;
  switch (kind) {
  case K::Add:
  case K::Sub:
  case K::Mul:
  case K::Div:
  case K::Mod:
  case K::Pow:
  case K::Max:
  case K::Min:
  case K::GeluGrad:
  case K::SiluGrad:
  case K::Eq:
  case K::Ne:
  case K::Lt:
  case K::Le:
  case K::Gt:
  case K::Ge:
  case K::And:
  case K::Or:
    return 2;
  case K::Select:
    return 3;
  default:
    return 1;
  }
}

bool ElementwiseOp::isComparison(ElementwiseKind kind) {
  return kind >= ElementwiseKind::Eq && kind <= ElementwiseKind::Ge;
}

void ReshapeOp::build(OpBuilder &builder, OperationState &state, Value x,
                      ArrayRef<ArrowAttr> arrows, ArrayRef<int64_t> sizes) {
  SmallVector<Attribute> list(arrows.begin(), arrows.end());
  build(builder, state, inferReshape(x.getType(), arrows, sizes), x, builder.getArrayAttr(list));
}

void ReshapeOp::build(OpBuilder &builder, OperationState &state, Value x, StringAttr from,
                      StringAttr to) {
  ArrowAttr arrow = ArrowAttr::get(builder.getContext(), from, to);
  build(builder, state, x, ArrayRef<ArrowAttr>(arrow),
        ArrayRef<int64_t>(getDimSize(x, from.getValue())));
}

void ConcatOp::build(OpBuilder &builder, OperationState &state, ValueRange operands,
                     ArrayRef<StringAttr> from, StringAttr to) {
  int64_t size = 0;
  for (auto [operand, dim] : llvm::zip_equal(operands, from))
    size += getDimSize(operand, dim.getValue());
  Type type = replaceDim(operands.front().getType(), from.front(), to, size);
  SmallVector<Attribute> list(from.begin(), from.end());
  build(builder, state, type, operands, builder.getArrayAttr(list), to);
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value x, StringAttr from,
                    StringAttr to, int64_t size, int64_t offset) {
  build(builder, state, replaceDim(x.getType(), from, to, size), x, from, to,
        builder.getI64IntegerAttr(offset));
}

void PadOp::build(OpBuilder &builder, OperationState &state, Value x, StringAttr from,
                  StringAttr to, int64_t size, int64_t offset, double value) {
  build(builder, state, replaceDim(x.getType(), from, to, size), x, from, to,
        builder.getI64IntegerAttr(offset), builder.getF64FloatAttr(value));
}

void GatherOp::build(OpBuilder &builder, OperationState &state, Value table, Value ids,
                     StringAttr dim) {
  build(builder, state, inferGather(table.getType(), ids.getType(), dim), table, ids, dim,
        /*cut=*/Attribute());
}

void ScatterAddOp::build(OpBuilder &builder, OperationState &state, Type type, Value ids,
                         Value updates, StringAttr dim, Value init) {
  build(builder, state, type, ids, updates, init, dim, /*cut=*/Attribute());
}

void DotOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                  ArrayRef<StringAttr> over) {
  build(builder, state, lhs, rhs, over, unionDims(getDims(lhs), getDims(rhs), over));
}

void DotOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                  ArrayRef<StringAttr> over, ArrayRef<StringAttr> resultDims) {
  Type type = collectType(resultDims, {lhs, rhs}, elementType(lhs));
  build(builder, state, type, lhs, rhs, DimsAttr::get(builder.getContext(), over));
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, FoldKind kind, Value x,
                     ArrayRef<StringAttr> over) {
  build(builder, state, withoutDims(x.getType(), over), kind, x,
        DimsAttr::get(builder.getContext(), over));
}

void ArgmaxOp::build(OpBuilder &builder, OperationState &state, Value x, StringAttr over) {
  build(builder, state, withElement(withoutDims(x.getType(), over), builder.getI32Type()), x, over);
}

void TopKOp::build(OpBuilder &builder, OperationState &state, Value x, StringAttr from,
                   StringAttr to, int64_t size) {
  RankedTensorType values = replaceDim(x.getType(), from, to, size);
  build(builder, state, values, withElement(values, builder.getI32Type()), x, from, to);
}

void LayerNormOp::build(OpBuilder &builder, OperationState &state, Value x, StringAttr over,
                        double eps) {
  Type row = withoutDims(x.getType(), over);
  build(builder, state, x.getType(), row, row, x, over, builder.getF64FloatAttr(eps));
}

void RmsNormOp::build(OpBuilder &builder, OperationState &state, Value x, StringAttr over,
                      double eps) {
  build(builder, state, x.getType(), withoutDims(x.getType(), over), x, over,
        builder.getF64FloatAttr(eps));
}

void CrossEntropyOp::build(OpBuilder &builder, OperationState &state, Value logits, Value targets,
                           StringAttr over, std::optional<int64_t> ignore) {
  Type row = withElement(targets.getType(), elementType(logits));
  build(builder, state, row, row, logits, targets, over,
        ignore ? builder.getI64IntegerAttr(*ignore) : IntegerAttr());
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value q, Value k, Value v,
                        Value mask, StringAttr over, StringAttr depth, StringAttr valueDepth,
                        double scale, ArrowAttr group, bool causal, std::optional<int64_t> window) {
  Type y = replaceDim(q.getType(), depth, valueDepth, getDimSize(v, valueDepth.getValue()));
  build(builder, state, y, withoutDims(q.getType(), depth), q, k, v, mask, over, depth, valueDepth,
        builder.getF64FloatAttr(scale), group, causal ? builder.getUnitAttr() : UnitAttr(),
        window ? builder.getI64IntegerAttr(*window) : IntegerAttr(), /*cut=*/Attribute());
}

bool AttentionOp::isSelfAttention() { return hasDim(getQ(), getOver()); }

void AttentionGradOp::build(OpBuilder &builder, OperationState &state, AttentionOp op, Value dy) {
  build(builder, state, op.getQ().getType(), op.getK().getType(), op.getV().getType(), dy,
        op.getQ(), op.getK(), op.getV(), op.getY(), op.getLse(), op.getMask(), op.getOverAttr(),
        op.getDepthAttr(), op.getValueDepthAttr(), op.getScaleAttr(), op.getGroupAttr(),
        op.getCausalAttr(), op.getWindowAttr(), op.getCutAttr());
}

bool AttentionGradOp::isSelfAttention() { return hasDim(getQ(), getOver()); }

void RopeOp::build(OpBuilder &builder, OperationState &state, Value x, StringAttr over,
                   StringAttr along, double theta, bool inverse) {
  build(builder, state, x.getType(), x, over, along, builder.getF64FloatAttr(theta),
        inverse ? builder.getUnitAttr() : UnitAttr(), /*cut=*/Attribute());
}

void MicrobatchOp::build(OpBuilder &builder, OperationState &state, Value x, Value piece,
                         int64_t pieces, StringAttr dim) {
  int64_t size = llvm::divideCeil(getDimSize(x, dim.getValue()), pieces);
  build(builder, state, replaceDim(x.getType(), dim, dim, size), x, piece,
        builder.getI64IntegerAttr(pieces), dim);
}

void AccumulateOp::build(OpBuilder &builder, OperationState &state, TypeRange types,
                         int64_t pieces) {
  build(builder, state, types, builder.getI64IntegerAttr(pieces));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(state.regions.front().get(), {}, builder.getIndexType(), state.location);
}

void OptimizeOp::build(OpBuilder &builder, OperationState &state, OptimizerKind kind,
                       ValueRange weights, ValueRange grads, ValueRange states, ValueRange hypers,
                       Value step, ArrayRef<StringRef> names, bool nesterov) {
  build(builder, state, weights.getTypes(), states.getTypes(),
        OptimizerKindAttr::get(builder.getContext(), kind), weights, grads, states, hypers, step,
        builder.getStrArrayAttr(names), nesterov ? builder.getUnitAttr() : UnitAttr());
}

unsigned OptimizeOp::getStatesPerWeight() {
  return getWeights().empty() ? 0 : getStates().size() / getWeights().size();
}

unsigned OptimizeOp::hyperCount(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::AdamW:
    return 6;
  case OptimizerKind::Sgd:
  case OptimizerKind::Lion:
  case OptimizerKind::Lamb:
    return 5;
  case OptimizerKind::Apply:
    return 3;
  case OptimizerKind::Muon:
    return 2;
  }
  llvm_unreachable("a kind of optimizer");
}
