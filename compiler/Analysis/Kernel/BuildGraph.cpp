//===- BuildGraph.cpp - From ptl operations to a kernel graph -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One node per operation, except that broadcasts (and stop_gradient) vanish:
// nodes align by dimension, so a broadcast is its operand. A contraction becomes
// a product and a sum.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/BuildGraph.h"

#include "dialects/Ptl/Ptl.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

Elem kernel::elementOf(Type tensor) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  if (element.isF32())
    return Elem::F32;
  if (element.isBF16())
    return Elem::BF16;
  if (element.isInteger(1))
    return Elem::I1;
  return element.isInteger(64) ? Elem::I64 : Elem::I32;
}

bool kernel::isRowPrimitive(Operation *op) {
  return isa<ptl::ConstantOp, ptl::IotaOp, ptl::RandomOp, ptl::ElementwiseOp, ptl::BroadcastOp,
             ptl::StopGradientOp, ptl::DotOp, ptl::ReduceOp, ptl::TopKOp, ptl::GatherOp,
             ptl::ScatterAddOp, ptl::ReshapeOp, ptl::ConcatOp, ptl::SliceOp, ptl::PadOp,
             ptl::MicrobatchOp, spmd::MaskOp>(op);
}

static uint64_t fnv1a64(StringRef text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

namespace {
class GraphBuilder {
public:
  explicit GraphBuilder(Graph &graph) : graph(graph) {}

  LogicalResult build(Block &body, ArrayRef<StringAttr> iterate);

private:
  LogicalResult add(Operation &op);
  LogicalResult setIterate(Block &body, ArrayRef<StringAttr> names);
  void visit(ptl::ConstantOp op);
  void visit(ptl::IotaOp op);
  void visit(ptl::RandomOp op);
  void visit(ptl::ElementwiseOp op);
  void visit(ptl::DotOp op);
  void visit(ptl::ReduceOp op);
  void visit(ptl::TopKOp op);
  void visit(ptl::GatherOp op);
  void visit(ptl::ScatterAddOp op);
  void visit(ptl::ReshapeOp op);
  void visit(ptl::ConcatOp op);
  void visit(ptl::SliceOp op);
  void visit(ptl::PadOp op);
  void visit(ptl::MicrobatchOp op);
  void visit(spmd::MaskOp op);
  LogicalResult checkUncut(Operation *op, std::optional<Attribute> cut);

  DimId dim(Type type, StringRef name) { return graph.dim(name, ptl::getDimSize(type, name)); }
  DimList dims(Type type) {
    DimList list;
    for (StringAttr name : ptl::getDims(type))
      list.push_back(dim(type, name));
    return list;
  }
  /// A node for the only result of `op`, with its operands.
  Node *node(Operation &op, NodeKind kind) {
    Type type = op.getResult(0).getType();
    Node *result = graph.add(kind, elementOf(type), dims(type), op.getLoc());
    for (Value operand : op.getOperands())
      result->operands.push_back(nodes.lookup(operand));
    nodes[op.getResult(0)] = result;
    return result;
  }
  /// `node`, which is f32, in the element type of `type`.
  Node *rounded(Node *node, Type type);
  SmallVector<Cut, 2> cuts(Type type, std::optional<Attribute> attribute);

  Graph &graph;
  DenseMap<Value, Node *> nodes;
};
} // namespace

SmallVector<Cut, 2> GraphBuilder::cuts(Type type, std::optional<Attribute> attribute) {
  SmallVector<Cut, 2> result;
  auto list = dyn_cast_or_null<spmd::CutsAttr>(attribute.value_or(Attribute()));
  if (!list)
    return result;
  for (spmd::CutAttr cut : list.getCuts()) {
    if (!ptl::hasDim(type, cut.getDim()))
      continue;
    unsigned start = graph.scalar({ScalarSource::Kind::CutStart, cut});
    unsigned valid = graph.scalar({ScalarSource::Kind::CutValid, cut});
    result.push_back({dim(type, cut.getDim()), cut.getGlobal(), start, valid});
  }
  return result;
}

LogicalResult GraphBuilder::checkUncut(Operation *op, std::optional<Attribute> cut) {
  if (cut && *cut)
    return op->emitOpError(
        "indexes a dimension that is cut across devices, which isn't supported yet");
  return success();
}

void GraphBuilder::visit(ptl::DotOp op) {
  Type lhs = op.getLhs().getType(), rhs = op.getRhs().getType(), type = op.getResult().getType();
  DimList over, all = dims(type);
  for (StringAttr name : op.getOver().getNames())
    over.push_back(dim(ptl::hasDim(lhs, name) ? lhs : rhs, name));
  // The loop over a dimension that is contiguous in the operands should be the innermost.
  DimList order = all;
  DimList last = dims(rhs);
  bool resultLast = !all.empty() && !last.empty() && last.back() == all.back();
  order.insert(resultLast ? order.end() - 1 : order.end(), over.begin(), over.end());
  Node *product = graph.add(NodeKind::Map, Elem::F32, order, op.getLoc());
  product->map = Map::Mul;
  product->operands = {nodes.lookup(op.getLhs()), nodes.lookup(op.getRhs())};
  if (over.empty()) {
    nodes[op.getResult()] = rounded(product, type);
    return;
  }
  Node *sum = graph.add(NodeKind::Reduce, Elem::F32, all, op.getLoc());
  sum->operands = {product};
  sum->over = over;
  sum->operandDims = order;
  nodes[op.getResult()] = rounded(sum, type);
}

Node *GraphBuilder::rounded(Node *node, Type type) {
  if (elementOf(type) != Elem::BF16)
    return node;
  Node *result = graph.add(NodeKind::Map, Elem::BF16, node->dims, node->loc);
  result->map = Map::Cast;
  result->operands = {node};
  return result;
}

void GraphBuilder::visit(ptl::ReshapeOp op) {
  Node *result = node(*op, NodeKind::Reindex);
  for (ptl::ArrowAttr arrow : op.getArrowRange()) {
    ReindexGroup group;
    for (StringAttr name : arrow.getFrom())
      group.from.push_back(dim(op.getX().getType(), name));
    for (StringAttr name : arrow.getTo())
      group.to.push_back(dim(op.getResult().getType(), name));
    result->groups.push_back(group);
  }
}

void GraphBuilder::visit(ptl::RandomOp op) {
  Node *result = node(*op, NodeKind::Random);
  result->normal = op.getKind() == ptl::RandomKind::Normal;
  result->place = fnv1a64(op.getPlace());
  result->argument = graph.scalar({ScalarSource::Kind::Seed, {}});
  result->cuts = cuts(op.getResult().getType(), op.getCut());
}

void GraphBuilder::visit(ptl::ScatterAddOp op) {
  Node *result = node(*op, NodeKind::ScatterAdd);
  result->over = {dim(op.getResult().getType(), op.getDim())};
  result->operandDims = dims(op.getUpdates().getType());
}

void GraphBuilder::visit(ptl::ConstantOp op) {
  node(*op, NodeKind::Constant)->value = op.getValue().convertToDouble();
}

void GraphBuilder::visit(ptl::IotaOp op) {
  node(*op, NodeKind::Iota)->cuts = cuts(op.getResult().getType(), op.getCut());
}

void GraphBuilder::visit(ptl::ElementwiseOp op) {
  // Both enumerations list the functions in one order.
  node(*op, NodeKind::Map)->map = Map(unsigned(op.getKind()));
}

void GraphBuilder::visit(ptl::ReduceOp op) {
  Node *result = node(*op, NodeKind::Reduce);
  result->combine = Combine(unsigned(op.getKind()));
  result->operandDims = dims(op.getX().getType());
  for (StringAttr name : op.getOver().getNames())
    result->over.push_back(dim(op.getX().getType(), name));
}

void GraphBuilder::visit(ptl::TopKOp op) {
  Type from = op.getX().getType();
  for (OpResult value : op->getResults()) {
    Node *result =
        graph.add(NodeKind::TopK, elementOf(value.getType()), dims(value.getType()), op.getLoc());
    result->operands = {nodes.lookup(op.getX())};
    result->over = {dim(from, op.getFrom()), dim(value.getType(), op.getTo())};
    result->operandDims = dims(from);
    result->result = value.getResultNumber();
    nodes[value] = result;
  }
}

void GraphBuilder::visit(ptl::GatherOp op) {
  node(*op, NodeKind::Gather)->over = {dim(op.getTable().getType(), op.getDim())};
}

void GraphBuilder::visit(ptl::ConcatOp op) {
  Node *result = node(*op, NodeKind::Concat);
  for (auto [operand, name] :
       llvm::zip_equal(op->getOperands(), op.getFrom().getAsRange<StringAttr>()))
    result->over.push_back(dim(operand.getType(), name));
  result->over.push_back(dim(op.getResult().getType(), op.getTo()));
}

void GraphBuilder::visit(ptl::SliceOp op) {
  Node *result = node(*op, NodeKind::Reindex);
  DimId from = dim(op.getX().getType(), op.getFrom());
  DimId to = dim(op.getResult().getType(), op.getTo());
  result->groups.push_back({{from}, {to}, int64_t(op.getOffset())});
}

void GraphBuilder::visit(ptl::PadOp op) {
  Node *result = node(*op, NodeKind::Pad);
  result->over = {dim(op.getX().getType(), op.getFrom()),
                  dim(op.getResult().getType(), op.getTo())};
  result->offset = op.getOffset();
  result->value = op.getValue().convertToDouble();
}

void GraphBuilder::visit(ptl::MicrobatchOp op) {
  node(*op, NodeKind::Block)->over = {dim(op.getX().getType(), op.getDim()),
                                      dim(op.getResult().getType(), op.getDim())};
}

void GraphBuilder::visit(spmd::MaskOp op) {
  Node *result = node(*op, NodeKind::Mask);
  result->cuts = cuts(op.getResult().getType(), op.getCuts());
  result->value = op.getFill().convertToDouble();
}

LogicalResult GraphBuilder::add(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<ptl::ConstantOp, ptl::IotaOp, ptl::RandomOp, ptl::ElementwiseOp, ptl::DotOp,
            ptl::ReduceOp, ptl::TopKOp, ptl::ReshapeOp, ptl::ConcatOp, ptl::SliceOp, ptl::PadOp,
            ptl::MicrobatchOp, spmd::MaskOp>([&](auto typed) {
        visit(typed);
        return success();
      })
      .Case<ptl::GatherOp, ptl::ScatterAddOp>([&](auto typed) {
        visit(typed);
        return checkUncut(typed, typed.getCut());
      })
      .Case<ptl::BroadcastOp, ptl::StopGradientOp>([&](Operation *) {
        nodes[op.getResult(0)] = nodes.lookup(op.getOperand(0));
        return success();
      })
      .Default(
          [](Operation *other) { return other->emitOpError("isn't supported in a row kernel"); });
}

/// The sizes of the row dimensions are those of the results, or else of any value.
LogicalResult GraphBuilder::setIterate(Block &body, ArrayRef<StringAttr> names) {
  for (StringAttr name : names) {
    std::optional<int64_t> size;
    auto look = [&](Type type) {
      if (!size && isa<RankedTensorType>(type) && ptl::hasDim(type, name))
        size = ptl::getDimSize(type, name);
    };
    for (Value result : body.getTerminator()->getOperands())
      look(result.getType());
    for (Operation &op : body)
      for (Type type : op.getResultTypes())
        look(type);
    for (Value argument : body.getArguments())
      look(argument.getType());
    if (!size)
      return body.getParentOp()->emitOpError("iterates over '")
             << name.getValue() << "', which no value has";
    graph.iterate.push_back(graph.dim(name, *size));
  }
  return success();
}

LogicalResult GraphBuilder::build(Block &body, ArrayRef<StringAttr> iterate) {
  if (failed(setIterate(body, iterate)))
    return failure();
  for (BlockArgument argument : body.getArguments()) {
    Type type = argument.getType();
    if (isa<IndexType>(type)) {
      Node *micro = graph.add(NodeKind::Scalar, Elem::I64, {}, argument.getLoc());
      micro->argument = graph.scalar({ScalarSource::Kind::Micro, {}});
      nodes[argument] = micro;
      continue;
    }
    Node *input = graph.add(NodeKind::Input, elementOf(type), dims(type), argument.getLoc());
    input->argument = graph.arguments.size();
    graph.arguments.push_back({input->elem, input->dims});
    nodes[argument] = input;
  }
  for (Operation &op : body.without_terminator())
    if (failed(add(op)))
      return failure();
  for (Value result : body.getTerminator()->getOperands())
    graph.outputs.push_back({nodes.lookup(result), dims(result.getType()), result.getLoc()});
  return success();
}

FailureOr<Graph> kernel::buildGraph(Block &body, ArrayRef<StringAttr> iterate) {
  Graph graph;
  if (failed(GraphBuilder(graph).build(body, iterate)))
    return failure();
  return graph;
}
