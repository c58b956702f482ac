//===- KeptValues.cpp - What the backward reads of the forward ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Products, collectives and attention read whole values from memory, so these
// are kept. A kernel that works row by row makes again what is cheap to make from
// values that are kept anyway, by the rule of fuse-rows (Recompute.cpp): element-
// wise sums and products, and the scaled result of a norm.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/KeptValues.h"

#include "compiler/Support/Location.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::cost;

static int64_t elements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

bool KeptFinder::isCheap(Value value) const {
  Operation *op = value.getDefiningOp();
  if (isa<ptl::LayerNormOp, ptl::RmsNormOp>(op))
    return cast<OpResult>(value).getResultNumber() == 0;
  auto map = dyn_cast<ptl::ElementwiseOp>(op);
  if (!map)
    return false;
  using Kind = ptl::ElementwiseKind;
  static constexpr Kind kCheap[] = {Kind::Add, Kind::Sub, Kind::Mul,  Kind::Neg,   Kind::Max,
                                    Kind::Min, Kind::Abs, Kind::Relu, Kind::Select};
  return llvm::is_contained(kCheap, map.getKind()) ||
         ptl::ElementwiseOp::isComparison(map.getKind());
}

/// Whether the value lies in memory in any case: a product or collective makes or reads it.
bool KeptFinder::isStored(Value value) const {
  Operation *producer = value.getDefiningOp();
  if (kept.contains(value) || !StepBody::isRowWork(producer))
    return true;
  return llvm::any_of(body.readers(value), [&](Operation *reader) {
    return body.isForward(reader) &&
           (!StepBody::isRowWork(reader) || body.levelOf(reader) != body.levelOf(producer));
  });
}

/// Finds the large values in memory that `value` can be made of again; false if that isn't cheap.
bool KeptFinder::collect(Value value, Value whole, llvm::SetVector<Value> &small,
                         llvm::SetVector<Value> &leaves, unsigned depth) const {
  value = StepBody::root(value);
  Operation *producer = value.getDefiningOp();
  if (!body.contains(producer) || body.isFreeSource(producer) || isa<ptl::ConstantOp>(producer))
    return true;
  if (value != whole && elements(value) * 4 <= elements(whole)) {
    small.insert(value);
    return true;
  }
  if (value != whole && isStored(value)) {
    leaves.insert(value);
    return true;
  }
  if (!isCheap(value) || depth > 8)
    return false;
  if (auto norm = dyn_cast<ptl::LayerNormOp>(producer)) {
    small.insert(norm.getMean());
    small.insert(norm.getRstd());
  } else if (auto norm = dyn_cast<ptl::RmsNormOp>(producer)) {
    small.insert(norm->getResult(1));
  }
  return llvm::all_of(producer->getOperands(), [&](Value operand) {
    return collect(operand, whole, small, leaves, depth + 1);
  });
}

void KeptFinder::require(Value value) {
  Operation *producer = value.getDefiningOp();
  if (body.contains(producer) && body.isForward(producer) && !body.isFreeSource(producer) &&
      !isa<ptl::ConstantOp>(producer))
    kept.insert(value);
}

/// Keeps a value that row work reads, or what it is made of if that is at most one value more.
void KeptFinder::settle(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!body.contains(producer) || !body.isForward(producer) || kept.contains(value))
    return;
  llvm::SetVector<Value> small, leaves;
  if (isStored(value) || !collect(value, value, small, leaves, 0))
    return require(value);
  leaves.remove_if([&](Value leaf) { return kept.contains(leaf); });
  if (leaves.size() > 1)
    return require(value);
  for (Value leaf : leaves)
    require(leaf);
  for (Value leaf : small)
    settle(leaf);
}

/// The unit whose forward reads the value first.
unsigned KeptFinder::unitOf(Value value) const {
  unsigned first = body.unitOf(value.getDefiningOp());
  std::optional<unsigned> found;
  for (Operation *reader : body.readers(value))
    if (body.isForward(reader) && !body.isFreeSource(reader))
      found = found ? std::min(*found, body.unitOf(reader)) : body.unitOf(reader);
  return found && *found > first ? *found : first;
}

std::string KeptFinder::nameOf(Value value) const {
  Operation *producer = value.getDefiningOp();
  if (!producer || isa<ptl::MicrobatchOp>(producer))
    return "data";
  auto nameAt = [](Operation *op) { return op->getAttrOfType<StringAttr>("ptl.name"); };
  bool isFirst = cast<OpResult>(value).getResultNumber() == 0;
  if (StringAttr name = nameAt(producer); name && isFirst)
    return name.getValue().str();
  for (Operation *user : value.getUsers())
    if (StringAttr name = nameAt(user); StepBody::isView(user) && name)
      return name.getValue().str();
  if (auto gather = dyn_cast<spmd::AllGatherOp>(producer))
    return nameOf(StepBody::root(gather.getX())) + ", gathered";
  std::string name = producer->getName().stripDialect().str();
  if (body.isSource(producer))
    name = "drop-out mask";
  else if (auto map = dyn_cast<ptl::ElementwiseOp>(producer))
    name = ptl::stringifyElementwiseKind(map.getKind()).str();
  if (!isFirst)
    name += " statistics";
  StringRef part = partOf(producer->getLoc());
  return part.empty() ? name : (name + " in " + part).str();
}

static std::string shapeText(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string text = "[";
  for (auto [dim, size] : llvm::zip_equal(ptl::getDims(type), type.getShape()))
    text += (text.size() > 1 ? ", " : "") + dim.str() + " = " + std::to_string(size);
  return text + "]";
}

void KeptFinder::describe(Value value) {
  Operation *producer = value.getDefiningOp();
  Kept entry;
  entry.name = nameOf(value);
  entry.line = lineOf(producer->getLoc());
  entry.dims = shapeText(value);
  entry.bytes = body.bytesOf(value);
  entry.isLoss = body.isLoss(producer);
  entry.core = body.isCore(producer);
  entry.attends = body.attends(producer);
  entry.isStatistic = body.isStatistic(value);
  unsigned unit = unitOf(value);
  if (auto gather = dyn_cast<spmd::AllGatherOp>(producer)) {
    entry.shardBytes = body.bytesOf(StepBody::root(gather.getX()));
    entry.axes = operations.maskOf(gather.getAxes().getNames());
    for (Operation *reader : body.readers(value))
      if (operations.isWeightGradient(reader))
        llvm::append_range(entry.beside,
                           operations.productsOf(OperationBuilder::otherOperand(reader, value),
                                                 unit, /*ofWeight=*/false));
  }
  profile.units[unit].kept.push_back(std::move(entry));
}

/// Across the phases of a pipeline nothing is made again: what the backward reads is kept, and what
/// that could be made of isn't.
void KeptFinder::comparePhases(const llvm::SetVector<Value> &read) {
  for (Value value : kept)
    if (!read.contains(value))
      profile.units[unitOf(value)].phaseBytes -= body.bytesOf(value);
  for (Value value : read) {
    Operation *producer = value.getDefiningOp();
    if (body.contains(producer) && body.isForward(producer) && !body.isSource(producer) &&
        !isa<ptl::ConstantOp>(producer) && !kept.contains(value) && !body.isLoss(producer))
      profile.units[unitOf(value)].phaseBytes += body.bytesOf(value);
  }
}

/// Values larger than statistics that come from other units.
void KeptFinder::findInputs() {
  llvm::DenseSet<std::pair<unsigned, Value>> seen;
  for (Operation &op : body.block()) {
    if (!body.isForward(&op) || StepBody::isView(&op) || body.isFreeSource(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Value value = StepBody::root(operand);
      Operation *producer = value.getDefiningOp();
      unsigned unit = body.unitOf(&op);
      if (body.contains(producer) && !body.isSource(producer) && body.unitOf(producer) != unit &&
          seen.insert({unit, value}).second)
        profile.units[unit].inputBytes += body.bytesOf(value);
    }
  }
}

/// What gradients of weights read of the backward: folds of the samples that nothing else of the
/// backward needs, as `stage-cut-stages` finds them. What only a sum reads stays f32.
void KeptFinder::findLate() {
  StringRef samples;
  for (auto piece : body.block().getOps<ptl::MicrobatchOp>())
    samples = piece.getDim();
  llvm::DenseSet<Operation *> late;
  llvm::DenseSet<std::pair<unsigned, Value>> seen;
  for (Operation &op : llvm::reverse(body.block().without_terminator())) {
    bool isLate = !body.isForward(&op) && llvm::none_of(op.getResults(), [&](Value result) {
      return ptl::hasDim(result, samples);
    }) && llvm::all_of(op.getUsers(), [&](Operation *user) {
      return isa<ptl::YieldOp>(user) || late.contains(user);
    });
    if (!isLate)
      continue;
    late.insert(&op);
    for (Value operand : op.getOperands()) {
      Value value = StepBody::root(operand);
      Operation *producer = value.getDefiningOp();
      unsigned unit = body.unitOf(&op);
      bool isOnlySummed = isa<ptl::ReduceOp>(op) && body.readers(value).size() == 1;
      double width = isOnlySummed ? 4 : body.widthOf(value);
      if (body.contains(producer) && !body.isForward(producer) && ptl::hasDim(value, samples) &&
          seen.insert({unit, value}).second)
        profile.units[unit].lateBytes += width * static_cast<double>(elements(value));
    }
  }
}

/// The largest value that the loss is made of has its place in `lossBytes`.
void KeptFinder::findLogits() {
  for (Operation &op : body.block()) {
    if (!body.isLoss(&op) || StepBody::isView(&op) || body.isSource(&op))
      continue;
    Unit &unit = profile.units[body.unitOf(&op)];
    double bytes = body.bytesOf(op.getResult(0));
    if (bytes > unit.lossBytes) {
      unit.lossBytes = bytes;
      logits = op.getResult(0);
    }
  }
}

bool KeptFinder::isLikeLogits(Value value) const {
  return logits && cast<RankedTensorType>(value.getType()).getShape() ==
                       cast<RankedTensorType>(logits.getType()).getShape();
}

/// Bytes beyond what is kept that an operation of the backward needs while it runs. Gradients of
/// weights have a place of their own; the gradient of logits is as large as they are.
void KeptFinder::measureWork(Operation *op) {
  Unit &unit = profile.units[body.unitOf(op)];
  double bytes = 0;
  auto count = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    if (body.contains(producer) && !kept.contains(value) && !body.isLoss(producer) &&
        !operations.isWeightGradient(producer) && !isLikeLogits(value))
      bytes += body.bytesOf(value);
  };
  for (Value operand : op->getOperands())
    count(StepBody::root(operand));
  if (!operations.isWeightGradient(op) && !isa<ptl::ScatterAddOp>(op))
    for (Value result : op->getResults())
      count(result);
  unit.workBytes = std::max(unit.workBytes, bytes);
}

/// Gradients of norms and of softmax read whole rows of their input or result.
static bool readsWhole(Operation *op) {
  return isa<ptl::LayerNormGradOp, ptl::RmsNormGradOp, ptl::SoftmaxGradOp, ptl::LogSoftmaxGradOp>(
      op);
}

void KeptFinder::run() {
  SmallVector<Value> whole, rows;
  llvm::SetVector<Value> read;
  for (Operation &op : body.block().without_terminator()) {
    if (body.isForward(&op) || StepBody::isView(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Value value = StepBody::root(operand);
      read.insert(value);
      if (StepBody::isRowWork(&op))
        (readsWhole(&op) ? whole : rows).push_back(value);
      else
        require(value);
    }
  }
  for (Value value : whole)
    settle(value);
  for (Value value : rows)
    settle(value);
  comparePhases(read);
  SmallVector<Value> order(kept.begin(), kept.end());
  llvm::stable_sort(order, [](Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  for (Value value : order)
    describe(value);
  findLogits();
  for (Operation &op : body.block().without_terminator())
    if (!body.isForward(&op) && !StepBody::isView(&op) && !StepBody::isRowWork(&op))
      measureWork(&op);
  findInputs();
  findLate();
}
