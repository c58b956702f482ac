//===- Operations.cpp - Kernels and collectives of a micro-batch ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Products, attention and collectives are taken as they are. What works row by
// row is grouped: producers with consumers between which no product or collective
// lies (equal levels). A group reads each of its inputs and writes each result
// that somebody else reads, once; constants, indices and random numbers are made
// where they are used.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/Operations.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::cost;

static double elements(Value value) {
  return static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements());
}

AxisMask OperationBuilder::maskOf(ArrayRef<StringAttr> axes) const {
  AxisMask mask = 0;
  for (StringAttr axis : axes)
    if (int place = profile.findAxis(axis.getValue()); place >= 0)
      mask |= AxisMask(1) << place;
  return mask;
}

Task &OperationBuilder::add(Operation *op, Work work) {
  Unit &unit = profile.units[body.unitOf(op)];
  Task operation;
  operation.work = work;
  operation.backward = !body.isForward(op);
  operation.core = body.isCore(op);
  operation.attends = body.attends(op);
  places[op] = unit.tasks.size();
  unit.tasks.push_back(std::move(operation));
  return unit.tasks.back();
}

void OperationBuilder::addProduct(ptl::DotOp dot) {
  Task &product = add(dot, Work::Product);
  product.weightGradient = weightProducts.contains(dot);
  product.activations = !product.weightGradient && body.isActivationProduct(dot);
  product.width = std::min(body.widthOf(dot.getLhs()), body.widthOf(dot.getRhs()));
  for (StringAttr dim : dot.getOver().getNames())
    product.k *= static_cast<double>(ptl::hasDim(dot.getLhs(), dim.getValue())
                                         ? ptl::getDimSize(dot.getLhs(), dim.getValue())
                                         : ptl::getDimSize(dot.getRhs(), dim.getValue()));
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  for (auto [dim, size] : llvm::zip_equal(ptl::getDims(type), type.getShape())) {
    bool left = ptl::hasDim(dot.getLhs(), dim.getValue());
    bool right = ptl::hasDim(dot.getRhs(), dim.getValue());
    double &extent = left && right ? product.batch : left ? product.m : product.n;
    extent *= static_cast<double>(size);
  }
}

void OperationBuilder::addAttention(Operation *op) {
  Task &attention = add(op, Work::Attention);
  attention.flops = static_cast<double>(cast<CostInterface>(op).getFlops());
  attention.width = body.widthOf(op->getOperand(0));
  for (Value value : op->getOperands())
    attention.bytes += body.bytesOf(StepBody::root(value));
  for (Value value : op->getResults())
    attention.bytes += body.bytesOf(value);
}

/// Rows that are picked are read and written, rows that are added are read twice and written.
void OperationBuilder::addRows(Operation *op) {
  Task &rows = add(op, Work::Stream);
  if (auto scatter = dyn_cast<ptl::ScatterAddOp>(op))
    rows.bytes = 3 * body.bytesOf(scatter.getUpdates());
  else
    rows.bytes = 2 * body.bytesOf(op->getResult(0));
}

void OperationBuilder::addTransfer(Operation *op) {
  Task &transfer = add(op, Work::Transfer);
  auto whole = [&](ValueRange values) {
    for (Value value : values)
      transfer.bytes += body.bytesOf(StepBody::root(value));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](spmd::AllReduceOp reduce) {
        transfer.transfer = TransferKind::AllReduce;
        transfer.axes = maskOf(reduce.getAxes().getNames());
        whole(reduce.getInputs());
      })
      .Case([&](spmd::AllGatherOp gather) {
        transfer.transfer = TransferKind::AllGather;
        transfer.axes = maskOf(gather.getAxes().getNames());
        transfer.bytes = body.widthOf(gather.getX()) * elements(gather.getResult());
      })
      .Case([&](spmd::ReduceScatterOp scatter) {
        transfer.transfer = TransferKind::ReduceScatter;
        transfer.axes = maskOf(scatter.getAxes().getNames());
        whole(scatter.getX());
      })
      .Case([&](spmd::AllToAllOp all) {
        transfer.transfer = TransferKind::AllToAll;
        transfer.axes = maskOf(all.getAxes().getNames());
        whole(all.getX());
      })
      .Case([&](spmd::PermuteOp permute) {
        transfer.transfer = TransferKind::Permute;
        transfer.axes = maskOf(permute.getAxes().getNames());
        whole(permute.getX());
      });
}

/// Products of the backward whose result, perhaps added to others, is what the body yields.
void OperationBuilder::findWeightProducts() {
  SmallVector<Value> queue(body.block().getTerminator()->getOperands());
  DenseSet<Operation *> seen;
  while (!queue.empty()) {
    Operation *op = queue.pop_back_val().getDefiningOp();
    if (!body.contains(op) || body.isForward(op) || !seen.insert(op).second)
      continue;
    if (isa<ptl::DotOp>(op))
      weightProducts.insert(op);
    else if (auto scatter = dyn_cast<ptl::ScatterAddOp>(op))
      llvm::append_range(queue, scatter->getOperands().drop_front(2)); // what it adds to
    else if (auto map = dyn_cast<ptl::ElementwiseOp>(op);
             StepBody::isView(op) || (map && map.getKind() == ptl::ElementwiseKind::Add))
      llvm::append_range(queue, op->getOperands());
  }
}

/// A norm with its scale and shift, a softmax with the scores' scale and mask; drop-out, the sum
/// with the residual stream and sums for biases are kernels of their own.
bool OperationBuilder::fusesSeparately(Operation *producer, Operation *consumer) const {
  if (isa<ptl::LayerNormOp, ptl::RmsNormOp, ptl::SoftmaxGradOp>(consumer) ||
      isa<ptl::SoftmaxOp, ptl::LayerNormGradOp, ptl::RmsNormGradOp, ptl::ReduceOp>(producer))
    return false;
  if (isa<ptl::ReduceOp>(consumer))
    return isa<ptl::ElementwiseOp>(producer) && producer->hasOneUse();
  return true;
}

bool OperationBuilder::fuses(Operation *producer, Operation *consumer) const {
  return body.contains(producer) && StepBody::isRowWork(producer) &&
         body.unitOf(producer) == body.unitOf(consumer) &&
         body.isForward(producer) == body.isForward(consumer) &&
         body.levelOf(producer) == body.levelOf(consumer) &&
         (kernels == Kernels::Fused || fusesSeparately(producer, consumer));
}

void OperationBuilder::addGroup(ArrayRef<Operation *> group) {
  DenseSet<Operation *> members(group.begin(), group.end());
  llvm::SetVector<Value> inputs, outputs;
  for (Operation *op : group) {
    for (Value operand : op->getOperands()) {
      Value value = StepBody::root(operand);
      Operation *producer = value.getDefiningOp();
      if (!members.contains(producer) && !body.isFreeSource(producer) &&
          !isa_and_nonnull<ptl::ConstantOp>(producer))
        inputs.insert(value);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(body.readers(result),
                       [&](Operation *reader) { return !members.contains(reader); }))
        outputs.insert(result);
  }
  double bytes = 0;
  for (Value value : inputs)
    bytes += body.bytesOf(value);
  for (Value value : outputs)
    bytes += body.bytesOf(value);
  Task &stream = add(group.front(), Work::Stream);
  stream.bytes = bytes;
  stream.core = llvm::any_of(group, [&](Operation *op) { return body.isCore(op); });
  for (Operation *op : group)
    places[op] = places[group.front()];
}

/// Groups in the order of their first operations.
void OperationBuilder::groupStreams() {
  llvm::EquivalenceClasses<Operation *> groups;
  std::vector<Operation *> order;
  for (Operation &op : body.block()) {
    if (!StepBody::isRowWork(&op) || body.isFreeSource(&op))
      continue;
    groups.insert(&op);
    order.push_back(&op);
    for (Value operand : op.getOperands()) {
      Operation *producer = StepBody::root(operand).getDefiningOp();
      if (producer && groups.contains(producer) && fuses(producer, &op))
        groups.unionSets(producer, &op);
    }
  }
  llvm::MapVector<Operation *, SmallVector<Operation *>> members;
  for (Operation *op : order)
    members[groups.getLeaderValue(op)].push_back(op);
  for (auto &[leader, group] : members)
    addGroup(group);
}

Value OperationBuilder::otherOperand(Operation *dot, Value x) {
  Value left = StepBody::root(dot->getOperand(0)), right = StepBody::root(dot->getOperand(1));
  return left == x ? right : left;
}

std::vector<unsigned> OperationBuilder::productsOf(Value dy, unsigned unit, bool ofWeight) const {
  std::vector<unsigned> found;
  for (Operation *reader : body.readers(dy))
    if (isa<ptl::DotOp>(reader) && !body.isForward(reader) && body.unitOf(reader) == unit &&
        weightProducts.contains(reader) == ofWeight)
      found.push_back(places.lookup(reader));
  return found;
}

/// A sum of input gradients travels beside the products that make the weights' gradients from the
/// same dy.
void OperationBuilder::findBeside(Operation *transfer) {
  unsigned unit = body.unitOf(transfer);
  SmallVector<Value> queue(transfer->getOperands());
  llvm::SetVector<unsigned> beside;
  DenseSet<Operation *> seen;
  while (!queue.empty()) {
    Operation *op = StepBody::root(queue.pop_back_val()).getDefiningOp();
    if (!body.contains(op) || body.isForward(op) || !seen.insert(op).second)
      continue;
    if (auto dot = dyn_cast<ptl::DotOp>(op)) {
      Value dy = StepBody::isArgument(dot.getLhs()) ? dot.getRhs() : dot.getLhs();
      for (unsigned place : productsOf(StepBody::root(dy), unit, /*ofWeight=*/true))
        beside.insert(place);
    } else if (StepBody::isRowWork(op)) {
      llvm::append_range(queue, op->getOperands());
    }
  }
  profile.units[unit].tasks[places.lookup(transfer)].beside.assign(beside.begin(), beside.end());
}

void OperationBuilder::run() {
  findWeightProducts();
  for (Operation &op : body.block()) {
    if (auto dot = dyn_cast<ptl::DotOp>(op))
      addProduct(dot);
    else if (isa<ptl::AttentionOp, ptl::AttentionGradOp>(op))
      addAttention(&op);
    else if (isa<ptl::GatherOp, ptl::ScatterAddOp>(op))
      addRows(&op);
    else if (StepBody::isTransfer(&op))
      addTransfer(&op);
  }
  groupStreams();
  for (Operation &op : body.block())
    if (StepBody::isTransfer(&op) && !body.isForward(&op))
      findBeside(&op);
}
