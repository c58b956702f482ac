//===- GraphImporter.cpp - One function of the model ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The walk over the nodes, their places, and element-wise operations. Other
// families of nodes are in Import{Shapes,Reductions,Composites}.cpp.
//===----------------------------------------------------------------------===//
#include "compiler/Import/GraphImporter.h"

using namespace ptlc;
using namespace ptlc::import;
using namespace mlir;
using ptl::ElementwiseKind;

StringAttr GraphImporter::nameOf(sema::DimId dim) const {
  return builder.getStringAttr(program.dims[dim].qualified);
}

SmallVector<StringAttr> GraphImporter::namesOf(const sema::DimList &dims) const {
  SmallVector<StringAttr> names;
  for (sema::DimId dim : dims)
    names.push_back(nameOf(dim));
  return names;
}

int64_t GraphImporter::sizeOf(const sema::DimList &dims) const {
  int64_t size = 1;
  for (sema::DimId dim : dims)
    size *= program.size(dim);
  return size;
}

RankedTensorType GraphImporter::tensorType(const sema::Type &type) const {
  mlir::Type element = type.kind == sema::Kind::Float ? mlir::Type(builder.getF32Type())
                       : type.kind == sema::Kind::Int ? builder.getI32Type()
                                                      : builder.getI1Type();
  return ptl::getTensorType(program.shape(type), element, namesOf(type.dims));
}

Location GraphImporter::location(lang::SourceRange range, sema::CallId call) const {
  auto place = [&](lang::SourceRange at) -> Location {
    if (!at.file.isValid())
      return builder.getUnknownLoc();
    return FileLineColLoc::get(builder.getContext(), sources.name(at.file), at.begin.line,
                               at.begin.column);
  };
  Location result = place(range);
  if (call == sema::kNone || call >= graph.calls.size())
    return result;
  const std::string &part = program.parts[graph.calls[call].part].path;
  if (!part.empty())
    result = NameLoc::get(builder.getStringAttr(part), result);
  // An expression of a library means little to a user without the call that led there.
  lang::FileId file = range.file;
  for (sema::CallId at = call; at != sema::kNone; at = graph.calls[at].parent) {
    const sema::Call &caller = graph.calls[at];
    if (!caller.range.file.isValid() || !sources.name(file).starts_with("std/"))
      break;
    result = CallSiteLoc::get(result, place(caller.range));
    file = caller.range.file;
  }
  return result;
}

Value GraphImporter::align(Value x, RankedTensorType like) {
  auto type = cast<RankedTensorType>(x.getType());
  RankedTensorType target =
      ptl::getTensorType(like.getShape(), type.getElementType(), ptl::getDims(like));
  return type == target ? x : ptl::BroadcastOp::create(builder, loc, x, target).getResult();
}

Value GraphImporter::elementwise(ElementwiseKind kind, ValueRange operands) {
  return ptl::ElementwiseOp::create(builder, loc, kind, operands);
}

Value GraphImporter::cast(Value x, mlir::Type element) {
  auto type = mlir::cast<RankedTensorType>(x.getType());
  if (type.getElementType() == element)
    return x;
  RankedTensorType target = ptl::getTensorType(type.getShape(), element, ptl::getDims(type));
  return ptl::ElementwiseOp::create(builder, loc, target, ElementwiseKind::Cast, ValueRange{x});
}

Value GraphImporter::constant(double value, RankedTensorType type) {
  return ptl::ConstantOp::create(builder, loc, type, value);
}

Value GraphImporter::constantLike(double value, Value like) {
  return constant(value, mlir::cast<RankedTensorType>(like.getType()));
}

Value GraphImporter::masked(Value x, Value mask, double other) {
  auto type = mlir::cast<RankedTensorType>(x.getType());
  return elementwise(ElementwiseKind::Select, {align(mask, type), x, constant(other, type)});
}

/// Operations behind `before` (null: all of the block) were built for a node of `call`.
void GraphImporter::noteCalls(Operation *before, sema::CallId call) {
  Block *block = builder.getInsertionBlock();
  for (Operation *op = before ? before->getNextNode() : &block->front(); op; op = op->getNextNode())
    callOf[op] = call;
}

LogicalResult GraphImporter::run(const GraphContext &functionContext) {
  context = functionContext;
  size_t errors = diags.errorCount();
  for (const sema::Node &node : graph.nodes) {
    loc = location(node.range, node.call);
    Block *block = builder.getInsertionBlock();
    Operation *before = block->empty() ? nullptr : &block->back();
    Value result = build(node);
    if (!result)
      return failure();
    auto type = resultType(node);
    // Operations have an order of dimensions of their own; the graph's type has the last word.
    if (result.getType() != type)
      result = align(result, type);
    values[node.results[0]] = result;
    if (!block->empty())
      noteCalls(before, node.call);
  }
  for (const sema::NamedValue &named : graph.names) {
    Operation *op = values[named.value] ? values[named.value].getDefiningOp() : nullptr;
    const std::string &part = program.parts[named.part].path;
    if (op && !op->hasAttr("ptl.name"))
      op->setAttr("ptl.name",
                  builder.getStringAttr(part.empty() ? named.name : part + "." + named.name));
  }
  return success(diags.errorCount() == errors);
}

Value GraphImporter::build(const sema::Node &node) {
  switch (node.op) {
  case sema::Op::Constant:
    return buildConstant(node);
  case sema::Op::Dot:
    return buildDot(node);
  case sema::Op::Sum:
  case sema::Op::Mean:
  case sema::Op::Max:
  case sema::Op::Min:
    return buildReduce(node);
  case sema::Op::Mse:
    return buildMse(node);
  case sema::Op::ArgMax:
  case sema::Op::Softmax:
  case sema::Op::LogSoftmax:
  case sema::Op::LayerNorm:
  case sema::Op::RmsNorm:
  case sema::Op::Rope:
  case sema::Op::CrossEntropy:
  case sema::Op::Attention:
  case sema::Op::Dropout:
  case sema::Op::RandomNormal:
  case sema::Op::RandomUniform:
  case sema::Op::StopGradient:
    return buildComposite(node);
  case sema::Op::IndexNumber:
  case sema::Op::Gather:
  case sema::Op::Reshape:
  case sema::Op::Reorder:
  case sema::Op::Concat:
  case sema::Op::Slice:
  case sema::Op::Pad:
  case sema::Op::Expand:
  case sema::Op::Stack:
  case sema::Op::OneHot:
  case sema::Op::Iota:
  case sema::Op::TopK:
    return buildShape(node);
  default:
    return buildElementwise(node);
  }
}

Value GraphImporter::buildConstant(const sema::Node &node) {
  const auto &attrs = std::get<sema::ConstantAttrs>(node.attrs);
  sema::Kind kind = graph.type(node.results[0]).kind;
  double value = kind == sema::Kind::Float ? attrs.real : static_cast<double>(attrs.integer);
  return constant(value, resultType(node));
}

static ElementwiseKind elementwiseKind(sema::Op op) {
  switch (op) {
  case sema::Op::Add:
    return ElementwiseKind::Add;
  case sema::Op::Sub:
    return ElementwiseKind::Sub;
  case sema::Op::Mul:
    return ElementwiseKind::Mul;
  case sema::Op::Div:
    return ElementwiseKind::Div;
  case sema::Op::Mod:
    return ElementwiseKind::Mod;
  case sema::Op::Pow:
    return ElementwiseKind::Pow;
  case sema::Op::Max2:
    return ElementwiseKind::Max;
  case sema::Op::Min2:
    return ElementwiseKind::Min;
  case sema::Op::Eq:
    return ElementwiseKind::Eq;
  case sema::Op::Ne:
    return ElementwiseKind::Ne;
  case sema::Op::Lt:
    return ElementwiseKind::Lt;
  case sema::Op::Le:
    return ElementwiseKind::Le;
  case sema::Op::Gt:
    return ElementwiseKind::Gt;
  case sema::Op::Ge:
    return ElementwiseKind::Ge;
  case sema::Op::And:
    return ElementwiseKind::And;
  case sema::Op::Or:
    return ElementwiseKind::Or;
  case sema::Op::Where:
    return ElementwiseKind::Select;
  case sema::Op::Neg:
    return ElementwiseKind::Neg;
  case sema::Op::Not:
    return ElementwiseKind::Not;
  case sema::Op::Abs:
    return ElementwiseKind::Abs;
  case sema::Op::Exp:
    return ElementwiseKind::Exp;
  case sema::Op::Log:
    return ElementwiseKind::Log;
  case sema::Op::Sqrt:
    return ElementwiseKind::Sqrt;
  case sema::Op::Rsqrt:
    return ElementwiseKind::Rsqrt;
  case sema::Op::Sin:
    return ElementwiseKind::Sin;
  case sema::Op::Cos:
    return ElementwiseKind::Cos;
  case sema::Op::Tanh:
    return ElementwiseKind::Tanh;
  case sema::Op::Sigmoid:
    return ElementwiseKind::Sigmoid;
  case sema::Op::Relu:
    return ElementwiseKind::Relu;
  case sema::Op::Gelu:
    return ElementwiseKind::Gelu;
  case sema::Op::Silu:
    return ElementwiseKind::Silu;
  case sema::Op::Floor:
    return ElementwiseKind::Floor;
  case sema::Op::Ceil:
    return ElementwiseKind::Ceil;
  default:
    return ElementwiseKind::Cast; // ToFloat, ToInt
  }
}

Value GraphImporter::buildElementwise(const sema::Node &node) {
  RankedTensorType type = resultType(node);
  ElementwiseKind kind = elementwiseKind(node.op);
  if (kind == ElementwiseKind::Cast)
    return cast(align(operand(node, 0), type), type.getElementType());
  SmallVector<Value> operands;
  for (unsigned i = 0; i < node.operands.size(); i++)
    operands.push_back(align(operand(node, i), type));
  return elementwise(kind, operands);
}
