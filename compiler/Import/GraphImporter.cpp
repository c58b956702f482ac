//===- GraphImporter.cpp - One function of the model ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The walk over the nodes, their places, and element-wise operations. Other
// families of nodes are in Import{Shapes,Reductions,Composites}.cpp.
//===----------------------------------------------------------------------===//
#include "compiler/Import/GraphImporter.h"

#include "dialects/Spmd/Spmd.h"

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

void GraphImporter::constrain(sema::ValueId id) {
  auto found = context.constraints.find(id);
  if (found == context.constraints.end())
    return;
  loc = values[id].getLoc();
  values[id] =
      spmd::ConstrainOp::create(builder, loc, values[id], found->second.rules, found->second.held);
}

LogicalResult GraphImporter::run(const GraphContext &functionContext) {
  context = functionContext;
  size_t errors = diags.errorCount();
  for (const sema::Parameter &parameter : graph.parameters)
    constrain(parameter.value);
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
    constrain(node.results[0]);
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

static constexpr std::pair<sema::Op, ElementwiseKind> kElementwise[] = {
    {sema::Op::Add, ElementwiseKind::Add},      {sema::Op::Sub, ElementwiseKind::Sub},
    {sema::Op::Mul, ElementwiseKind::Mul},      {sema::Op::Div, ElementwiseKind::Div},
    {sema::Op::Mod, ElementwiseKind::Mod},      {sema::Op::Pow, ElementwiseKind::Pow},
    {sema::Op::Max2, ElementwiseKind::Max},     {sema::Op::Min2, ElementwiseKind::Min},
    {sema::Op::Eq, ElementwiseKind::Eq},        {sema::Op::Ne, ElementwiseKind::Ne},
    {sema::Op::Lt, ElementwiseKind::Lt},        {sema::Op::Le, ElementwiseKind::Le},
    {sema::Op::Gt, ElementwiseKind::Gt},        {sema::Op::Ge, ElementwiseKind::Ge},
    {sema::Op::And, ElementwiseKind::And},      {sema::Op::Or, ElementwiseKind::Or},
    {sema::Op::Where, ElementwiseKind::Select}, {sema::Op::Neg, ElementwiseKind::Neg},
    {sema::Op::Not, ElementwiseKind::Not},      {sema::Op::Abs, ElementwiseKind::Abs},
    {sema::Op::Exp, ElementwiseKind::Exp},      {sema::Op::Log, ElementwiseKind::Log},
    {sema::Op::Sqrt, ElementwiseKind::Sqrt},    {sema::Op::Rsqrt, ElementwiseKind::Rsqrt},
    {sema::Op::Sin, ElementwiseKind::Sin},      {sema::Op::Cos, ElementwiseKind::Cos},
    {sema::Op::Tanh, ElementwiseKind::Tanh},    {sema::Op::Sigmoid, ElementwiseKind::Sigmoid},
    {sema::Op::Relu, ElementwiseKind::Relu},    {sema::Op::Gelu, ElementwiseKind::Gelu},
    {sema::Op::Silu, ElementwiseKind::Silu},    {sema::Op::Floor, ElementwiseKind::Floor},
    {sema::Op::Ceil, ElementwiseKind::Ceil},
};

static ElementwiseKind elementwiseKind(sema::Op op) {
  for (auto [node, kind] : kElementwise)
    if (node == op)
      return kind;
  return ElementwiseKind::Cast; // ToFloat, ToInt
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
