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
  void addDot(ptl::DotOp op);
  void addReshape(ptl::ReshapeOp op);
  void addRandom(ptl::RandomOp op);
  void addScatter(ptl::ScatterAddOp op);
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

void GraphBuilder::addDot(ptl::DotOp op) {
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
    nodes[op.getResult()] = product;
    return;
  }
  Node *sum = graph.add(NodeKind::Reduce, Elem::F32, all, op.getLoc());
  sum->operands = {product};
  sum->over = over;
  sum->operandDims = order;
  nodes[op.getResult()] = sum;
}

void GraphBuilder::addReshape(ptl::ReshapeOp op) {
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

void GraphBuilder::addRandom(ptl::RandomOp op) {
  Node *result = node(*op, NodeKind::Random);
  result->normal = op.getKind() == ptl::RandomKind::Normal;
  result->place = fnv1a64(op.getPlace());
  result->argument = graph.scalar({ScalarSource::Kind::Seed, {}});
  result->cuts = cuts(op.getResult().getType(), op.getCut());
}

void GraphBuilder::addScatter(ptl::ScatterAddOp op) {
  Node *result = node(*op, NodeKind::ScatterAdd);
  result->over = {dim(op.getResult().getType(), op.getDim())};
  result->operandDims = dims(op.getUpdates().getType());
}

LogicalResult GraphBuilder::add(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](ptl::ConstantOp constant) {
        node(op, NodeKind::Constant)->value = constant.getValue().convertToDouble();
        return success();
      })
      .Case([&](ptl::IotaOp iota) {
        Node *result = node(op, NodeKind::Iota);
        result->cuts = cuts(iota.getResult().getType(), iota.getCut());
        return success();
      })
      .Case([&](ptl::RandomOp random) {
        addRandom(random);
        return success();
      })
      .Case([&](ptl::ElementwiseOp map) {
        // Both enumerations list the functions in one order.
        node(op, NodeKind::Map)->map = Map(unsigned(map.getKind()));
        return success();
      })
      .Case<ptl::BroadcastOp, ptl::StopGradientOp>([&](Operation *) {
        nodes[op.getResult(0)] = nodes.lookup(op.getOperand(0));
        return success();
      })
      .Case([&](ptl::DotOp dot) {
        addDot(dot);
        return success();
      })
      .Case([&](ptl::ReduceOp reduce) {
        Node *result = node(op, NodeKind::Reduce);
        result->combine = Combine(unsigned(reduce.getKind()));
        result->operandDims = dims(reduce.getX().getType());
        for (StringAttr name : reduce.getOver().getNames())
          result->over.push_back(dim(reduce.getX().getType(), name));
        return success();
      })
      .Case([&](ptl::TopKOp select) {
        Type from = select.getX().getType();
        for (OpResult value : op.getResults()) {
          Node *result = graph.add(NodeKind::TopK, elementOf(value.getType()),
                                   dims(value.getType()), op.getLoc());
          result->operands = {nodes.lookup(select.getX())};
          result->over = {dim(from, select.getFrom()), dim(value.getType(), select.getTo())};
          result->operandDims = dims(from);
          result->result = value.getResultNumber();
          nodes[value] = result;
        }
        return success();
      })
      .Case([&](ptl::GatherOp gather) {
        node(op, NodeKind::Gather)->over = {dim(gather.getTable().getType(), gather.getDim())};
        return checkUncut(gather, gather.getCut());
      })
      .Case([&](ptl::ScatterAddOp scatter) {
        addScatter(scatter);
        return checkUncut(scatter, scatter.getCut());
      })
      .Case([&](ptl::ReshapeOp reshape) {
        addReshape(reshape);
        return success();
      })
      .Case([&](ptl::ConcatOp concat) {
        Node *result = node(op, NodeKind::Concat);
        for (auto [operand, name] :
             llvm::zip_equal(concat.getOperands(), concat.getFrom().getAsRange<StringAttr>()))
          result->over.push_back(dim(operand.getType(), name));
        result->over.push_back(dim(concat.getResult().getType(), concat.getTo()));
        return success();
      })
      .Case([&](ptl::SliceOp slice) {
        Node *result = node(op, NodeKind::Reindex);
        DimId from = dim(slice.getX().getType(), slice.getFrom());
        DimId to = dim(slice.getResult().getType(), slice.getTo());
        result->groups.push_back({{from}, {to}, int64_t(slice.getOffset())});
        return success();
      })
      .Case([&](ptl::PadOp pad) {
        Node *result = node(op, NodeKind::Pad);
        result->over = {dim(pad.getX().getType(), pad.getFrom()),
                        dim(pad.getResult().getType(), pad.getTo())};
        result->offset = pad.getOffset();
        result->value = pad.getValue().convertToDouble();
        return success();
      })
      .Case([&](ptl::MicrobatchOp piece) {
        Node *result = node(op, NodeKind::Block);
        result->over = {dim(piece.getX().getType(), piece.getDim()),
                        dim(piece.getResult().getType(), piece.getDim())};
        return success();
      })
      .Case([&](spmd::MaskOp mask) {
        Node *result = node(op, NodeKind::Mask);
        result->cuts = cuts(mask.getResult().getType(), mask.getCuts());
        result->value = mask.getFill().convertToDouble();
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
