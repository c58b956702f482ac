//===- Partitioner.cpp - From a global function to a local one ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks the global program in order and emits local operations, moving operands
// to the shardings that the chosen assignment needs (PartitionChoice.cpp decides,
// PartitionMoves.cpp moves). Why it is sound: every local operation computes from
// shards of its operands the shard of its result (its sharding rule), what a cut
// fold leaves is tracked as pending, and a pending value only enters operations
// that are linear in it, or a collective that finishes it.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Partitioner.h"

#include "compiler/Support/SignatureAttributes.h"
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/Fields.h"
#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::shard;
using namespace ptlc::sharding;
using namespace mlir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Sharding Partitioner::wanted(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto attribute =
        function.getArgAttrOfType<spmd::ShardingAttr>(argument.getArgNumber(), kSharding);
    return fromAttribute(mesh, attribute);
  }
  auto result = cast<OpResult>(value);
  auto list = result.getOwner()->getAttrOfType<ArrayAttr>(kShardings);
  return fromAttribute(mesh, cast<spmd::ShardingAttr>(list[result.getResultNumber()]));
}

RankedTensorType Partitioner::localType(Value value, const Sharding &sharding) {
  RankedTensorType type = typeOf(value);
  return ptl::getTensorType(localShape(mesh, type.getShape(), sharding), type.getElementType(),
                            ptl::getDims(type));
}

Versions &Partitioner::track(Value value) {
  auto [found, isNew] = values.try_emplace(value, value.getLoc());
  if (isNew)
    found->second.uses = static_cast<int>(llvm::range_size(value.getUses()));
  return found->second;
}

void Partitioner::produce(Value global, Value local, const Sharding &sharding) {
  Versions &versions = track(global);
  versions.main = sharding;
  versions.list.push_back({sharding, local});
}

void Partitioner::used(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto found = values.find(operand); found != values.end())
      found->second.uses--;
}

void Partitioner::addArguments(func::FuncOp local) {
  Block *body = local.addEntryBlock();
  SignatureAttributes attributes = SignatureAttributes::ofArguments(local);
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    Sharding sharding = wanted(argument);
    RankedTensorType global = typeOf(argument);
    int64_t pieces = piecesOf(argument);
    RankedTensorType type = fieldType(global, pieces, mesh, sharding);
    if (pieces > 1)
      attributes.set(i, kPieces, builder.getI64IntegerAttr(pieces));
    attributes.set(i, kGlobalType, TypeAttr::get(global));
    BlockArgument created = body->getArgument(i);
    created.setType(type);
    created.setLoc(argument.getLoc());
    produce(argument, created, sharding);
    auto role = function.getArgAttrOfType<StringAttr>(i, "ptl.role");
    values.find(argument)->second.isWeight = role && role.getValue() == "weight";
    values.find(argument)->second.stored = sharding;
  }
  attributes.commit();
  builder.setInsertionPointToStart(body);
}

LogicalResult Partitioner::run() {
  builder.setInsertionPointAfter(function);
  auto local = cast<func::FuncOp>(builder.insert(function.getOperation()->cloneWithoutRegions()));
  addArguments(local);
  if (failed(block(function.getBody().front()))) {
    local.erase();
    return failure();
  }
  Block &body = local.getBody().front();
  local.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  function.erase();
  return success();
}

LogicalResult Partitioner::block(Block &from) {
  for (Operation &op : from)
    if (!isa<ptl::YieldOp>(op) && failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult Partitioner::visit(Operation *op) {
  LogicalResult result = success();
  if (auto terminator = dyn_cast<func::ReturnOp>(op))
    result = finish(terminator);
  else if (auto region = dyn_cast<ptl::AccumulateOp>(op))
    result = accumulate(region);
  else if (auto piece = dyn_cast<ptl::MicrobatchOp>(op))
    microbatch(piece);
  else if (auto constraint = dyn_cast<spmd::ConstrainOp>(op))
    result = constrain(constraint);
  else if (auto update = dyn_cast<ptl::OptimizeOp>(op))
    result = optimize(update);
  else if (auto norm = dyn_cast<ptl::GlobalNormOp>(op))
    result = globalNorm(norm);
  else if (auto rule = dyn_cast<ShardingRuleInterface>(op))
    result = divide(op, rules.try_emplace(op, rule.getShardingRule()).first->second);
  else
    result = op->emitOpError("has no sharding rule");
  used(op);
  return result;
}

LogicalResult Partitioner::divide(Operation *op, const ShardingRule &rule) {
  Choice choice = choose(op, rule);
  SmallVector<Value> locals;
  for (auto [operand, needed] : llvm::zip(op->getOperands(), choice.operands))
    locals.push_back(get(operand, needed, choice.insteadOf));
  if (failed(maskOperands(op, rule, choice, locals)))
    return failure();
  IRMapping mapping;
  for (auto [operand, local] : llvm::zip(op->getOperands(), locals))
    mapping.map(operand, local);
  Operation *clone = builder.clone(*op, mapping);
  // The mapping is by value: an operand that is used in two forms needs its own places set.
  clone->setOperands(locals);
  clone->removeAttr(kShardings);
  clone->removeAttr(kOrigins);
  setCuts(op, clone, rule, choice);
  setReadings(op, clone, rule, choice);
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    clone->getResult(i).setType(localType(result, choice.results[i]));
    produce(result, clone->getResult(i), choice.results[i]);
  }
  notePending(op, rule, choice);
  return success();
}

void Partitioner::microbatch(ptl::MicrobatchOp op) {
  Versions &field = values.find(op.getX())->second;
  RankedTensorType type = localType(op.getResult(), field.main);
  auto pieceIndex = values.find(op.getPiece())->second.list.front().local;
  auto local = ptl::MicrobatchOp::create(builder, op.getLoc(), type, field.list.front().local,
                                         pieceIndex, op.getPieces(), op.getDim());
  Sharding sharding = field.main;
  produce(op.getResult(), local.getResult(), sharding);
}

/// The value itself; one that a directive names is moved at once, for all its uses.
LogicalResult Partitioner::constrain(spmd::ConstrainOp op) {
  if (op.getHeld())
    get(op.getX(), wanted(op.getResult()));
  Versions versions = values.find(op.getX())->second;
  versions.uses = static_cast<int>(llvm::range_size(op.getResult().getUses()));
  if (op.getHeld()) {
    Sharding sharding = wanted(op.getResult());
    versions.list = {{sharding, versions.find(sharding)}};
    versions.main = sharding;
  }
  values.insert_or_assign(op.getResult(), versions);
  return success();
}

/// The body's sums are linear in what it yields, so what is pending may stay so: one reduction a
/// step, however many micro-batches there are.
LogicalResult Partitioner::accumulate(ptl::AccumulateOp op) {
  // Signed: the unsigned count would select a builder that makes no block.
  auto local = ptl::AccumulateOp::create(builder, op.getLoc(), op.getResultTypes(),
                                         static_cast<int64_t>(op.getPieces()));
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName() != kShardings && attribute.getName() != kOrigins)
      local->setDiscardableAttr(attribute.getName(), attribute.getValue());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&local.getBody().front());
  Versions &index = values.try_emplace(op.getPiece(), op.getLoc()).first->second;
  index.list.push_back({Sharding(), local.getPiece()});
  index.uses = 1 << 30;

  // What is made inside doesn't dominate what follows.
  SmallVector<std::pair<Value, size_t>> outside;
  for (auto &entry : values)
    outside.emplace_back(entry.first, entry.second.list.size());
  times *= op.getPieces();
  if (failed(block(op.getBody().front())))
    return failure();
  Operation *yield = op.getBody().front().getTerminator();
  SmallVector<Value> yielded;
  SmallVector<Sharding> shardings;
  SmallVector<Cause> causes;
  for (Value value : yield->getOperands()) {
    Versions &versions = values.find(value)->second;
    Sharding sharding = versions.main;
    if (sharding.partial && sharding.kind != Fold::Sum)
      sharding = sharding.withPartial(0);
    yielded.push_back(get(value, sharding));
    shardings.push_back(sharding);
    causes.push_back(versions.cause);
  }
  times /= op.getPieces();
  used(yield);
  ptl::YieldOp::create(builder, yield->getLoc(), yielded);
  for (auto [value, size] : outside)
    values.find(value)->second.list.truncate(size);
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    local.getResult(i).setType(yielded[i].getType());
    produce(result, local.getResult(i), shardings[i]);
    values.find(result)->second.cause = causes[i];
  }
  return success();
}

/// Updates are element-wise: gradients take their weights' cuts.
LogicalResult Partitioner::optimize(ptl::OptimizeOp op) {
  SmallVector<Value> locals;
  unsigned count = op.getWeights().size();
  auto shardingOf = [&](size_t i) { return wanted(op.getWeights()[i % count]); };
  auto add = [&](ValueRange list, bool like) {
    for (auto [i, value] : llvm::enumerate(list))
      locals.push_back(get(value, like ? shardingOf(i) : Sharding(typeOf(value).getRank())));
  };
  add(op.getWeights(), true);
  add(op.getGrads(), true);
  add(op.getStates(), true);
  add(op.getHypers(), false);
  add(op.getStep(), false);
  Operation *clone = builder.clone(*op);
  clone->setOperands(locals);
  clone->removeAttr(kShardings);
  clone->removeAttr(kOrigins);
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    clone->getResult(i).setType(localType(result, shardingOf(i)));
    produce(result, clone->getResult(i), shardingOf(i));
  }
  return success();
}

/// Weights and states go back as they came, all else whole.
LogicalResult Partitioner::finish(func::ReturnOp op) {
  auto local = cast<func::FuncOp>(builder.getInsertionBlock()->getParentOp());
  SignatureAttributes attributes = SignatureAttributes::ofResults(local);
  SmallVector<Value> locals;
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    auto role = function.getResultAttrOfType<StringAttr>(i, "ptl.role");
    bool stored = role && (role.getValue() == "weight" || role.getValue() == "state" ||
                           role.getValue() == "logits");
    Sharding sharding = stored ? wanted(value) : Sharding(typeOf(value).getRank());
    locals.push_back(get(value, sharding));
    attributes.set(i, kSharding, toAttribute(builder.getContext(), mesh, sharding));
    attributes.set(i, kGlobalType, TypeAttr::get(value.getType()));
  }
  attributes.commit();
  func::ReturnOp::create(builder, op.getLoc(), locals);
  return success();
}
