//===- SplitEvaluation.cpp - Totals over all batches of an evaluation -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A loss is a function of totals over the batch (a sum of losses, a count of valid
// targets). The mean over many batches is that function of the totals of all of
// them, not a mean of the batches' values. So the body of a loop computes totals
// and what rows depend on, and everything behind is done once.
//
// What belongs to the body is found backwards: operations on rows, and what they
// need. What the body hands on must be a sum over rows; where it isn't (a maximum
// over the batch, statistics of a batch that are returned), the function stays
// whole and the runtime weights its batches. Linear in operations.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Grad/Passes.h"

#include "compiler/Transforms/Grad/Pieces.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace ptlc::grad {
#define GEN_PASS_DEF_SPLITEVALUATION
#include "compiler/Transforms/Grad/Passes.h.inc"
} // namespace ptlc::grad
using namespace mlir;
using namespace ptlc;
using namespace ptlc::grad;

static bool hasRows(TypeRange types) {
  return llvm::any_of(types, [](Type type) { return ptl::hasDim(type, kBatch); });
}

/// Whether the operation adds rows up, so that its result is a sum over batches, too.
static bool addsRows(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleInterface>(op);
  if (!sharded || !hasRows(op->getOperandTypes()) || hasRows(op->getResultTypes()))
    return false;
  return llvm::any_of(sharded.getShardingRule().factors, [](const Factor &factor) {
    return factor.name.getValue() == kBatch && factor.kind == FactorKind::Sum;
  });
}

namespace {
class Splitter {
public:
  explicit Splitter(func::FuncOp function)
      : function(function), block(function.getBody().front()) {}
  void run();

private:
  void findBody();
  bool findTotals();
  bool isSame(Value value);
  bool isReadBehind(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return !body.contains(user); });
  }
  void repeat(Value value);

  func::FuncOp function;
  Block &block;
  SetVector<Operation *> body;
  SetVector<Value> totals, same;
  DenseMap<Value, bool> isKnownSame;
};
} // namespace

/// Operations on rows, and what they read.
void Splitter::findBody() {
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    bool needed = llvm::any_of(op.getUsers(), [&](Operation *user) { return body.contains(user); });
    if (needed || hasRows(op.getOperandTypes()) || hasRows(op.getResultTypes()))
      body.insert(&op);
  }
}

/// Whether a value is equal in all batches: it depends on weights alone.
bool Splitter::isSame(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.role");
    return role && (role == "weight" || role == "step");
  }
  auto [known, isNew] = isKnownSame.try_emplace(value, false);
  if (isNew) {
    bool result = llvm::all_of(value.getDefiningOp()->getOperands(),
                               [&](Value operand) { return isSame(operand); });
    isKnownSame[value] = result;
    return result;
  }
  return known->second;
}

/// Finds what the body hands on; false if some of it can't be added up over batches.
bool Splitter::findTotals() {
  for (Operation &op : block.without_terminator()) {
    if (!body.contains(&op))
      continue;
    for (Value result : op.getResults()) {
      if (!isReadBehind(result))
        continue;
      if (isSame(result))
        same.insert(result);
      else if (addsRows(&op))
        totals.insert(result);
      else
        return false;
    }
  }
  for (BlockArgument argument : block.getArguments())
    if (isReadBehind(argument) && !isSame(argument)) {
      if (hasRows(argument.getType()))
        return false;
      totals.insert(argument); // the number of valid samples
    }
  return !totals.empty();
}

/// Computes a value that the body needs once more behind it.
void Splitter::repeat(Value value) {
  SetVector<Operation *> slice;
  SmallVector<Value> open = {value};
  while (!open.empty())
    if (Operation *op = open.pop_back_val().getDefiningOp(); op && slice.insert(op))
      llvm::append_range(open, op->getOperands());
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  IRMapping map;
  for (Operation &op : llvm::make_early_inc_range(block))
    if (slice.contains(&op))
      builder.clone(op, map);
  value.replaceUsesWithIf(map.lookup(value), [&](OpOperand &use) {
    return !body.contains(use.getOwner()) && use.getOwner()->getBlock() == &block;
  });
}

void Splitter::run() {
  findBody();
  if (body.empty() || !findTotals())
    return;
  for (Value value : same)
    repeat(value);
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  auto loop =
      ptl::AccumulateOp::create(builder, function.getLoc(),
                                ValueRange(totals.getArrayRef()).getTypes(), /*pieces=*/int64_t(1));
  loop->setAttr("ptl.over_batches", builder.getUnitAttr());
  Block &inner = loop.getBody().front();
  for (Operation *op : llvm::reverse(body))
    op->moveBefore(&inner, inner.end());
  for (unsigned i = 0; i < totals.size(); ++i)
    Value(totals[i]).replaceUsesWithIf(
        loop.getResult(i), [&](OpOperand &use) { return use.getOwner()->getBlock() != &inner; });
  builder.setInsertionPointToEnd(&inner);
  ptl::YieldOp::create(builder, function.getLoc(), totals.getArrayRef());
}

namespace {
struct SplitEvaluation : grad::impl::SplitEvaluationBase<SplitEvaluation> {
  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("eval");
    if (!function)
      return;
    bool counts = llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned index) {
      auto role = function.getArgAttrOfType<StringAttr>(index, "ptl.role");
      return role && role == "valid";
    });
    // Without a count of valid samples, means divide by the size of one batch.
    if (counts)
      Splitter(function).run();
  }
};
} // namespace
