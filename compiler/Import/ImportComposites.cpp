//===- ImportComposites.cpp - Norms, losses, attention, random numbers ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Import/GraphImporter.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::import;
using namespace mlir;
using ptl::ElementwiseKind;

/// The op gives a loss per target; the mean is a sum divided by the count of valid targets, so that
/// it is the same however the batch is cut.
Value GraphImporter::buildCrossEntropy(const sema::Node &node) {
  const auto &attrs = std::get<sema::CrossEntropyAttrs>(node.attrs);
  Value logits = operand(node, 0), targets = operand(node, 1);
  auto op =
      ptl::CrossEntropyOp::create(builder, loc, logits, targets, nameOf(attrs.over), attrs.ignore);
  if (!attrs.reduce)
    return op.getLoss();
  const sema::DimList &dims = graph.type(node.operands[1]).dims;
  RankedTensorType scalar = resultType(node);
  Value mask = validMask(dims);
  if (mask)
    mask = align(mask, mlir::cast<RankedTensorType>(targets.getType()));
  if (attrs.ignore) {
    Value counted = elementwise(
        ElementwiseKind::Ne, {targets, constantLike(static_cast<double>(*attrs.ignore), targets)});
    mask = mask ? elementwise(ElementwiseKind::And, {mask, counted}) : counted;
  }
  Value losses = op.getLoss();
  if (!mask)
    return elementwise(ElementwiseKind::Mul,
                       {sumAll(losses), constant(1.0 / sizeOf(dims), scalar)});
  return elementwise(ElementwiseKind::Div,
                     {sumAll(masked(losses, mask, 0)), countOf(mask, dims, scalar)});
}

/// Returns the name of v's depth: the one that k hasn't, or k's own depth.
static StringAttr valueDepth(Value k, Value v, StringAttr depth) {
  for (StringAttr name : ptl::getDims(v.getType()))
    if (!llvm::is_contained(ptl::getDims(k.getType()), name))
      return name;
  return depth;
}

Value GraphImporter::buildAttention(const sema::Node &node) {
  const auto &attrs = std::get<sema::AttentionAttrs>(node.attrs);
  Value q = operand(node, 0), k = operand(node, 1), v = operand(node, 2);
  Value mask = node.operands.size() > 3 ? operand(node, 3) : Value();
  ptl::ArrowAttr group;
  if (attrs.group)
    group = ptl::ArrowAttr::get(builder.getContext(), namesOf(attrs.group->from),
                                namesOf(attrs.group->to));
  StringAttr depth = nameOf(attrs.depth);
  return ptl::AttentionOp::create(builder, loc, q, k, v, mask, nameOf(attrs.over), depth,
                                  valueDepth(k, v, depth), attrs.scale, group, attrs.causal,
                                  attrs.window)
      .getY();
}

/// Keeps an element where u >= p and scales it by 1/(1 - p), with u uniform in [0, 1).
Value GraphImporter::buildDropout(const sema::Node &node) {
  const auto &attrs = std::get<sema::RandomAttrs>(node.attrs);
  Value x = operand(node, 0);
  if (!context.dropout || attrs.p == 0)
    return x;
  RankedTensorType type = resultType(node);
  Value uniform =
      ptl::RandomOp::create(builder, loc, type, ptl::RandomKind::Uniform,
                            builder.getStringAttr(attrs.place), context.step, Attribute());
  Value keep = elementwise(ElementwiseKind::Ge, {uniform, constant(attrs.p, type)});
  Value scale = constant(attrs.p < 1 ? 1 / (1 - attrs.p) : 0, type);
  return elementwise(ElementwiseKind::Select,
                     {keep, elementwise(ElementwiseKind::Mul, {x, scale}), constant(0, type)});
}

Value GraphImporter::buildComposite(const sema::Node &node) {
  switch (node.op) {
  case sema::Op::ArgMax:
    return ptl::ArgmaxOp::create(builder, loc, operand(node, 0),
                                 nameOf(std::get<sema::DimsAttrs>(node.attrs).dims[0]));
  case sema::Op::Softmax:
    return ptl::SoftmaxOp::create(builder, loc, operand(node, 0),
                                  nameOf(std::get<sema::DimsAttrs>(node.attrs).dims[0]));
  case sema::Op::LogSoftmax:
    return ptl::LogSoftmaxOp::create(builder, loc, operand(node, 0),
                                     nameOf(std::get<sema::DimsAttrs>(node.attrs).dims[0]));
  case sema::Op::LayerNorm: {
    const auto &attrs = std::get<sema::NormAttrs>(node.attrs);
    return ptl::LayerNormOp::create(builder, loc, operand(node, 0), nameOf(attrs.over), attrs.eps)
        .getY();
  }
  case sema::Op::RmsNorm: {
    const auto &attrs = std::get<sema::NormAttrs>(node.attrs);
    return ptl::RmsNormOp::create(builder, loc, operand(node, 0), nameOf(attrs.over), attrs.eps)
        .getY();
  }
  case sema::Op::Rope: {
    const auto &attrs = std::get<sema::RopeAttrs>(node.attrs);
    return ptl::RopeOp::create(builder, loc, operand(node, 0), nameOf(attrs.over),
                               nameOf(attrs.along), attrs.theta);
  }
  case sema::Op::CrossEntropy:
    return buildCrossEntropy(node);
  case sema::Op::Attention:
    return buildAttention(node);
  case sema::Op::Dropout:
    return buildDropout(node);
  case sema::Op::StopGradient:
    return ptl::StopGradientOp::create(builder, loc, operand(node, 0));
  case sema::Op::RandomNormal:
  case sema::Op::RandomUniform: {
    auto kind =
        node.op == sema::Op::RandomNormal ? ptl::RandomKind::Normal : ptl::RandomKind::Uniform;
    const auto &attrs = std::get<sema::RandomAttrs>(node.attrs);
    return ptl::RandomOp::create(builder, loc, resultType(node), kind,
                                 builder.getStringAttr(attrs.place), context.step, Attribute());
  }
  default:
    emitError(loc) << "'" << sema::opName(node.op) << "' can't be translated";
    return {};
  }
}
