//===- Caster.cpp - Casts of one function ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Precision/Caster.h"

#include "compiler/Support/Location.h"
#include "compiler/Support/Stages.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::precision;

Caster::Caster(func::FuncOp function, const Rules &rules)
    : function(function), rules(rules), f32(Float32Type::get(function.getContext())),
      bf16(BFloat16Type::get(function.getContext())) {}

/// The path of a weight; empty for other arguments.
static StringRef weightPath(func::FuncOp function, unsigned argument) {
  auto role = function.getArgAttrOfType<StringAttr>(argument, "ptl.role");
  if (!role || role.getValue() != "weight")
    return "";
  return function.getArgAttrOfType<StringAttr>(argument, "ptl.path").getValue();
}

static ptl::ElementwiseOp createCast(OpBuilder &builder, Location loc, Value value, Type element) {
  return ptl::ElementwiseOp::create(builder, loc, ptl::withElement(value.getType(), element),
                                    ptl::ElementwiseKind::Cast, value);
}

void Caster::run() {
  Block &block = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  bool isStep = function.getName() == "step";
  for (BlockArgument argument : block.getArguments()) {
    StringRef path = weightPath(function, argument.getArgNumber());
    if (path.empty() || ptl::elementType(argument) != f32 || !rules.isBf16Weight(path))
      continue;
    copies[argument] = {};
    if (!isStep)
      continue;
    copies[argument] = createCast(builder, argument.getLoc(), argument, bf16);
    own.insert(copies[argument].getDefiningOp());
  }
  visit(block);
  leave(block.getTerminator(), function.getResultTypes());
  for (Operation *op : own)
    if (op->use_empty())
      op->erase();
}

void Caster::visit(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    visit(&op);
}

/// True for operations that move elements and change none.
static bool moves(Operation *op) {
  return isa<ptl::BroadcastOp, ptl::ReshapeOp, ptl::SliceOp, ptl::PadOp, ptl::ConcatOp,
             ptl::GatherOp, ptl::MicrobatchOp, ptl::StopGradientOp, spmd::MaskOp,
             spmd::ConstrainOp>(op);
}

void Caster::visit(Operation *op) {
  if (auto accumulate = dyn_cast<ptl::AccumulateOp>(op))
    return visitAccumulate(accumulate);
  if (auto optimize = dyn_cast<ptl::OptimizeOp>(op))
    return divide(optimize);
  if (isa<ptl::GlobalNormOp>(op) || own.contains(op))
    return; // gradients and masters are read as they are
  for (OpOperand &operand : op->getOpOperands())
    if (auto copy = copies.find(operand.get()); copy != copies.end()) {
      OpBuilder builder(op);
      operand.set(copy->second ? copy->second : cast(builder, op, operand.get(), bf16));
    }
  if (isa<ptl::DotOp, ptl::AttentionOp, ptl::AttentionGradOp>(op))
    visitLibrary(op, isBf16(op));
  else if (moves(op))
    visitMove(op);
  else
    visitArithmetic(op, isBf16(op));
}

bool Caster::isBf16(Operation *op) const { return rules.isBf16Part(partOf(op->getLoc())); }

bool Caster::isStoredInBf16(Value value) const {
  return ptl::isFloatTensor(value.getType()) &&
         (ptl::elementType(value) == bf16 || registers.contains(value));
}

Value Caster::cast(OpBuilder &builder, Operation *owner, Value value, Type element) {
  ptl::ElementwiseOp op = createCast(builder, owner->getLoc(), value, element);
  // What is widened where it is used travels narrow.
  if (Attribute part = owner->getAttr(kPart))
    op->setAttr(kPart, part);
  return op;
}

void Caster::setOperand(OpOperand &operand, Type element) {
  Value value = operand.get();
  if (!ptl::isFloatTensor(value.getType()) || ptl::elementType(value) == element)
    return;
  OpBuilder builder(operand.getOwner());
  operand.set(cast(builder, operand.getOwner(), value, element));
}

static void setElement(Value value, Type element) {
  value.setType(ptl::withElement(value.getType(), element));
}

/// Operands of matrix products and attention lie in memory, and so do their results.
void Caster::visitLibrary(Operation *op, bool inBf16) {
  for (OpOperand &operand : op->getOpOperands()) {
    // The logarithm of a sum is no activation.
    auto backward = dyn_cast<ptl::AttentionGradOp>(op);
    bool isSum = backward && operand.get() == backward.getLse();
    setOperand(operand, inBf16 && !isSum ? bf16 : f32);
  }
  for (OpResult result : op->getResults()) {
    auto forward = dyn_cast<ptl::AttentionOp>(op);
    bool isSum = (forward && result == forward.getLse()) || wide.contains(result);
    setElement(result, inBf16 && !isSum ? bf16 : f32);
  }
}

/// What moves keeps its type; what is joined needs one.
void Caster::visitMove(Operation *op) {
  Value result = op->getResult(0);
  if (!ptl::isFloatTensor(result.getType()))
    return;
  if (isa<ptl::ConcatOp>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
        return ptl::elementType(operand) == bf16;
      }))
    for (OpOperand &operand : op->getOpOperands())
      setOperand(operand, bf16);
  setElement(result, ptl::elementType(op->getOperand(0)));
}

/// True for results that are folds, however large what they fold.
static bool isFold(OpResult result) {
  Operation *op = result.getOwner();
  if (isa<ptl::ReduceOp, ptl::CrossEntropyOp, ptl::LogSoftmaxOp>(op))
    return true;
  return isa<ptl::LayerNormOp, ptl::RmsNormOp>(op) && result.getResultNumber() > 0;
}

/// Computes in f32; rounds what is made of values in bf16.
void Caster::visitArithmetic(Operation *op, bool inBf16) {
  bool ofBf16 = false;
  for (OpOperand &operand : op->getOpOperands()) {
    ofBf16 |= isStoredInBf16(operand.get());
    setOperand(operand, f32);
  }
  if (!inBf16 || !ofBf16)
    return;
  for (OpResult result : op->getResults()) {
    if (!ptl::isFloatTensor(result.getType()) || isFold(result) ||
        cast<RankedTensorType>(result.getType()).getRank() == 0)
      continue;
    if (staysInRegister(result))
      registers.insert(result);
    else
      round(result);
  }
}

/// True if one operation alone reads the value, element by element or to fold it.
bool Caster::staysInRegister(Value value) const {
  if (!readers.isOne(value))
    return false;
  Operation *user = *value.user_begin();
  if (isa<ptl::YieldOp, func::ReturnOp>(user))
    return true; // rounded there, or not at all
  return isa<ptl::ElementwiseOp, ptl::ReduceOp, ptl::SoftmaxOp, ptl::SoftmaxGradOp,
             ptl::LogSoftmaxOp, ptl::LogSoftmaxGradOp, ptl::LayerNormOp, ptl::LayerNormGradOp,
             ptl::RmsNormOp, ptl::RmsNormGradOp, ptl::CrossEntropyOp, ptl::CrossEntropyGradOp,
             ptl::RopeOp>(user);
}

void Caster::round(Value value) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Value rounded = cast(builder, value.getDefiningOp(), value, bf16);
  value.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

/// Finds the products that `sum`, a gradient in f32, adds up: rounding each would be the error of a
/// sum in bf16.
void Caster::keepWide(Value sum) {
  Operation *op = sum.getDefiningOp();
  if (!op || !readers.isOne(sum))
    return;
  if (isa<ptl::DotOp>(op)) {
    wide.insert(sum);
  } else if (isa<ptl::BroadcastOp, ptl::ReshapeOp>(op)) {
    keepWide(op->getOperand(0));
  } else if (auto scatter = dyn_cast<ptl::ScatterAddOp>(op)) {
    if (scatter.getInit())
      keepWide(scatter.getInit());
  } else if (auto map = dyn_cast<ptl::ElementwiseOp>(op);
             map && map.getKind() == ptl::ElementwiseKind::Add) {
    for (Value operand : op->getOperands())
      keepWide(operand);
  }
}

/// Weights whose gradients are f32 and those whose are bf16 get an operation each: what one updates
/// lies in one bucket, of one type of gradients.
void Caster::divide(ptl::OptimizeOp op) {
  llvm::MapVector<Type, SmallVector<unsigned>> members;
  for (auto [number, gradient] : llvm::enumerate(op.getGrads()))
    members[ptl::elementType(gradient)].push_back(number);
  if (members.size() < 2)
    return;
  OpBuilder builder(op);
  unsigned weights = op.getWeights().size();
  auto names = llvm::to_vector(op.getNames().getAsValueRange<StringAttr>());
  for (const auto &[type, numbers] : members) {
    SmallVector<Value> masters, gradients, states, replaced;
    SmallVector<StringRef> paths;
    for (unsigned number : numbers) {
      masters.push_back(op.getWeights()[number]);
      gradients.push_back(op.getGrads()[number]);
      paths.push_back(names[number]);
      replaced.push_back(op.getNewWeights()[number]);
    }
    for (unsigned state = 0; state < op.getStatesPerWeight(); ++state)
      for (unsigned number : numbers) {
        states.push_back(op.getStates()[state * weights + number]);
        replaced.push_back(op.getNewStates()[state * weights + number]);
      }
    auto part =
        ptl::OptimizeOp::create(builder, op.getLoc(), op.getKind(), masters, gradients, states,
                                op.getHypers(), op.getStep(), paths, op.getNesterov());
    for (auto [old, value] : llvm::zip_equal(replaced, part.getResults()))
      old.replaceAllUsesWith(value);
  }
  op.erase();
}

void Caster::leave(Operation *terminator, TypeRange types) {
  for (auto [operand, type] : llvm::zip_equal(terminator->getOpOperands(), types))
    if (ptl::isFloatTensor(type))
      setOperand(operand, cast<RankedTensorType>(type).getElementType());
}

void Caster::visitAccumulate(ptl::AccumulateOp op) {
  Block &body = op.getBody().front();
  auto marks = op->getAttrOfType<ArrayAttr>("ptl.grad");
  Operation *yield = body.getTerminator();
  readers.count(body);
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    StringRef path = marks ? cast<StringAttr>(marks[number]).getValue() : StringRef();
    bool narrow = !path.empty() && op.getPieces() == 1 && rules.isBf16Weight(path);
    if (narrow)
      setElement(result, bf16);
    Value sum = yield->getOperand(number);
    // A product that is the whole gradient is rounded as it is stored.
    if (marks && number > 0 && !(narrow && isa_and_nonnull<ptl::DotOp>(sum.getDefiningOp())))
      keepWide(sum);
  }
  visit(body);
  leave(yield, op.getResultTypes());
}
