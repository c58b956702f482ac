//===- ImportShapes.cpp - Nodes that move elements ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Import/GraphImporter.h"

using namespace ptlc;
using namespace ptlc::import;
using namespace mlir;
using ptl::ElementwiseKind;

Value GraphImporter::buildReshape(const sema::Node &node) {
  SmallVector<ptl::ArrowAttr> arrows;
  SmallVector<int64_t> sizes;
  for (const sema::Arrow &arrow : std::get<sema::ReshapeAttrs>(node.attrs).arrows) {
    arrows.push_back(
        ptl::ArrowAttr::get(builder.getContext(), namesOf(arrow.from), namesOf(arrow.to)));
    for (sema::DimId dim : arrow.to)
      sizes.push_back(program.size(dim));
  }
  return ptl::ReshapeOp::create(builder, loc, operand(node, 0), arrows, sizes);
}

/// Indices along the dimension that they index put its elements into another order: the table's is
/// another dimension.
Value GraphImporter::buildGather(const sema::Node &node) {
  Value table = operand(node, 0), ids = operand(node, 1);
  StringAttr dim = nameOf(std::get<sema::DimsAttrs>(node.attrs).dims[0]);
  if (ptl::hasDim(ids, dim)) {
    StringAttr other = builder.getStringAttr(dim.getValue() + ".table");
    table = ptl::ReshapeOp::create(builder, loc, table, dim, other);
    dim = other;
  }
  return ptl::GatherOp::create(builder, loc, table, ids, dim);
}

/// Each operand gets a dimension of size 1, and these are joined.
Value GraphImporter::buildStack(const sema::Node &node) {
  sema::DimId dim = std::get<sema::DimsAttrs>(node.attrs).dims[0];
  RankedTensorType type = resultType(node);
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = 1;
  SmallVector<Value> pieces;
  SmallVector<StringAttr> from;
  for (unsigned i = 0; i < node.operands.size(); i++) {
    SmallVector<StringAttr> names(ptl::getDims(type));
    names[0] = builder.getStringAttr(names[0].getValue() + "." + Twine(i));
    pieces.push_back(
        align(operand(node, i), ptl::getTensorType(shape, type.getElementType(), names)));
    from.push_back(names[0]);
  }
  return ptl::ConcatOp::create(builder, loc, pieces, from, nameOf(dim));
}

Value GraphImporter::buildOneHot(const sema::Node &node) {
  sema::DimId dim = std::get<sema::DimsAttrs>(node.attrs).dims[0];
  RankedTensorType type = resultType(node);
  Value places = ptl::IotaOp::create(builder, loc, nameOf(dim), program.size(dim));
  Value same =
      elementwise(ElementwiseKind::Eq, {align(operand(node, 0), type), align(places, type)});
  return cast(same, type.getElementType());
}

Value GraphImporter::buildTopK(const sema::Node &node) {
  const auto &attrs = std::get<sema::ResizeAttrs>(node.attrs);
  auto op = ptl::TopKOp::create(builder, loc, operand(node, 0), nameOf(attrs.from),
                                nameOf(attrs.to), program.size(attrs.to));
  values[node.results[1]] = align(op.getIndices(), tensorType(graph.type(node.results[1])));
  return op.getValues();
}

Value GraphImporter::buildShape(const sema::Node &node) {
  switch (node.op) {
  case sema::Op::IndexNumber: {
    const auto &attrs = std::get<sema::IndexAttrs>(node.attrs);
    Value index = constant(attrs.index, RankedTensorType::get({}, builder.getI32Type()));
    return ptl::GatherOp::create(builder, loc, operand(node, 0), index, nameOf(attrs.dim));
  }
  case sema::Op::Gather:
    return buildGather(node);
  case sema::Op::Reshape:
    return buildReshape(node);
  case sema::Op::Reorder:
  case sema::Op::Expand:
    return align(operand(node, 0), resultType(node));
  case sema::Op::Concat: {
    const auto &attrs = std::get<sema::ConcatAttrs>(node.attrs);
    SmallVector<Value> pieces;
    // The first operand's order of dimensions holds for all; each has its own name along the cut.
    auto first = mlir::cast<RankedTensorType>(operand(node, 0).getType());
    for (unsigned i = 0; i < node.operands.size(); i++) {
      SmallVector<StringAttr> names(ptl::getDims(first));
      SmallVector<int64_t> shape(first.getShape());
      for (unsigned d = 0; d < names.size(); d++)
        if (names[d] == nameOf(attrs.from[0])) {
          names[d] = nameOf(attrs.from[i]);
          shape[d] = program.size(attrs.from[i]);
        }
      pieces.push_back(
          align(operand(node, i), ptl::getTensorType(shape, first.getElementType(), names)));
    }
    return ptl::ConcatOp::create(builder, loc, pieces, namesOf(attrs.from), nameOf(attrs.to));
  }
  case sema::Op::Slice: {
    const auto &attrs = std::get<sema::ResizeAttrs>(node.attrs);
    return ptl::SliceOp::create(builder, loc, operand(node, 0), nameOf(attrs.from),
                                nameOf(attrs.to), program.size(attrs.to), attrs.offset);
  }
  case sema::Op::Pad: {
    const auto &attrs = std::get<sema::ResizeAttrs>(node.attrs);
    return ptl::PadOp::create(builder, loc, operand(node, 0), nameOf(attrs.from), nameOf(attrs.to),
                              program.size(attrs.to), attrs.offset, attrs.value);
  }
  case sema::Op::Stack:
    return buildStack(node);
  case sema::Op::OneHot:
    return buildOneHot(node);
  case sema::Op::Iota: {
    sema::DimId dim = std::get<sema::DimsAttrs>(node.attrs).dims[0];
    return ptl::IotaOp::create(builder, loc, nameOf(dim), program.size(dim));
  }
  case sema::Op::TopK:
    return buildTopK(node);
  default:
    emitError(loc) << "'" << sema::opName(node.op) << "' is not an operation on shapes";
    return {};
  }
}
