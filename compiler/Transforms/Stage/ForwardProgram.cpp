//===- ForwardProgram.cpp - Evaluation and sampling of a rank -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An operation that is marked, or depends on one that is, runs on the rank of its
// part; any other is made wherever it is needed. Every rank's program is what it has
// to do of one order: parts ascending, and behind each the messages with its values.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Stage/ForwardProgram.h"

#include "compiler/Support/Stages.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::stage;

int ForwardProgram::rankOf(int part) const {
  const std::vector<int> &place = routes.place();
  return place[std::min(part, static_cast<int>(place.size()) - 1)];
}

/// None: every rank can make the value.
std::optional<int> ForwardProgram::partOf(Value value) const {
  auto found = parts.find(value);
  return found == parts.end() ? std::nullopt : std::optional(found->second);
}

void ForwardProgram::findParts(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<ptl::AccumulateOp>(op)) {
      Block &body = loop.getBody().front();
      findParts(body);
      for (auto [value, total] :
           llvm::zip_equal(body.getTerminator()->getOperands(), loop.getResults()))
        if (std::optional<int> part = partOf(value))
          parts[total] = *part;
      continue;
    }
    std::optional<int> part;
    for (Value operand : op.getOperands())
      part = std::max(part, partOf(operand));
    auto mark = op.getAttrOfType<IntegerAttr>(kPart);
    if (mark && (part || !isMadeAnew(op)))
      part = std::max(part, std::optional(static_cast<int>(mark.getInt())));
    if (part)
      for (Value result : op.getResults())
        parts[result] = *part;
  }
}

/// Logits are read where they are made; what an evaluation returns goes to all ranks.
bool ForwardProgram::staysHere(OpOperand &result) const {
  func::FuncOp from = source;
  auto role = from.getResultAttrOfType<StringAttr>(result.getOperandNumber(), "ptl.role");
  return role && role == "logits";
}

/// The other ranks that need a value of a part.
std::set<int> ForwardProgram::readersOf(Value value) {
  std::set<int> ranks;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (!around && user->getBlock() != &source.getBody().front())
      continue; // it was handed on in the loop
    if (isa<func::ReturnOp>(user) && !staysHere(use))
      ranks.insert(routes.place().begin(), routes.place().end());
    else if (user->getNumResults() > 0)
      ranks.insert(rankOf(*partOf(user->getResult(0))));
  }
  ranks.erase(rankOf(*partOf(value)));
  return ranks;
}

/// The value on this rank.
Value ForwardProgram::get(Value value) {
  if (Value found = known.lookupOrNull(value))
    return found;
  Operation *maker = value.getDefiningOp();
  OpBuilder::InsertionGuard guard(builder);
  if (around && maker->getBlock() == &source.getBody().front() && !partOf(value))
    builder.setInsertionPoint(around);
  for (Value operand : maker->getOperands())
    get(operand);
  builder.clone(*maker, known)->removeAttr(kPart);
  return known.lookup(value);
}

/// Hands values of one part on to the ranks that read them.
void ForwardProgram::give(ArrayRef<Value> values, int owner) {
  std::map<int, SmallVector<Value>> lists;
  for (Value value : values)
    for (int reader : readersOf(value))
      lists[reader].push_back(value);
  for (auto &[reader, list] : lists) {
    Location loc = list.front().getLoc();
    if (rank == owner) {
      auto mine = llvm::map_to_vector(list, [&](Value value) { return get(value); });
      rt::ExchangeOp::create(builder, loc, TypeRange(), mine, reader);
    } else if (rank == reader) {
      auto theirs =
          rt::ExchangeOp::create(builder, loc, ValueRange(list).getTypes(), ValueRange(), owner);
      for (auto [value, result] : llvm::zip_equal(list, theirs.getTheirs()))
        known.map(value, result);
    }
  }
}

void ForwardProgram::emit(Range operations) {
  std::map<int, SmallVector<Value>> made;
  for (Operation &op : operations)
    if (!isa<ptl::AccumulateOp>(op))
      for (Value result : op.getResults())
        if (std::optional<int> part = partOf(result))
          made[*part].push_back(result);
  for (auto &[part, values] : made) {
    int owner = rankOf(part);
    if (rank == owner)
      for (Value value : values)
        get(value);
    give(values, owner);
  }
}

/// Totals over batches are added up on their own ranks.
void ForwardProgram::emitLoop(ptl::AccumulateOp loop) {
  Block &body = loop.getBody().front();
  SmallVector<Value> yielded, totals;
  std::map<int, SmallVector<Value>> byPart;
  for (auto [value, total] :
       llvm::zip_equal(body.getTerminator()->getOperands(), loop.getResults())) {
    std::optional<int> part = partOf(total);
    if (part)
      byPart[*part].push_back(total);
    if (part && rankOf(*part) != rank)
      continue;
    yielded.push_back(value);
    totals.push_back(total);
  }
  auto made = ptl::AccumulateOp::create(builder, loop.getLoc(), ValueRange(totals).getTypes(),
                                        static_cast<int64_t>(loop.getPieces()));
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  known.map(loop.getPiece(), made.getPiece());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&made.getBody().front());
    around = made;
    // Nothing is handed on but in the loop and behind it.
    Range before(loop->getBlock()->begin(), loop->getIterator());
    emit(before);
    emit(body.without_terminator());
    auto results = llvm::map_to_vector(yielded, [&](Value value) { return get(value); });
    ptl::YieldOp::create(builder, loop.getLoc(), results);
    around = nullptr;
    for (Operation &op : before)
      for (Value result : op.getResults())
        if (partOf(result))
          known.erase(result);
  }
  for (auto [total, result] : llvm::zip_equal(totals, made.getResults()))
    known.map(total, result);
  for (auto &[part, values] : byPart)
    give(values, rankOf(part));
}

void ForwardProgram::finish() {
  Operation *end = source.getBody().front().getTerminator();
  SmallVector<Value> results;
  SmallVector<Attribute> attributes;
  for (OpOperand &result : end->getOpOperands()) {
    std::optional<int> part = partOf(result.get());
    if (part && rankOf(*part) != rank && staysHere(result))
      continue;
    results.push_back(get(result.get()));
    attributes.push_back(source.getResultAttrDict(result.getOperandNumber()));
  }
  func::ReturnOp::create(builder, end->getLoc(), results);
  function.setResAttrsAttr(builder.getArrayAttr(attributes));
  function.setType(builder.getFunctionType(function.getBody().getArgumentTypes(),
                                           ValueRange(results).getTypes()));
}

LogicalResult ForwardProgram::checkWeights() {
  for (BlockArgument argument : function.getArguments()) {
    auto text = [&](StringRef name) {
      auto attribute = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), name);
      return attribute ? attribute.getValue() : StringRef();
    };
    if (text("ptl.role") == "weight" && !step.holds(rank, text("ptl.path")))
      return (*argument.user_begin())->emitError()
             << "'" << source.getName() << "' reads the weight '" << text("ptl.path")
             << "' on rank " << rank << " of the pipeline, where training doesn't have it";
  }
  return success();
}

LogicalResult ForwardProgram::build() {
  function = cast<func::FuncOp>(builder.insert(source.getOperation()->cloneWithoutRegions()));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = function.addEntryBlock();
  for (auto [old, now] : llvm::zip_equal(source.getArguments(), block->getArguments())) {
    now.setLoc(old.getLoc());
    known.map(old, now);
  }
  builder.setInsertionPointToStart(block);
  Block &whole = source.getBody().front();
  findParts(whole);
  auto loops = whole.getOps<ptl::AccumulateOp>();
  if (!loops.empty())
    emitLoop(*loops.begin());
  emit(whole.without_terminator());
  finish();
  BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  if (failed(function.eraseArguments(unused)))
    return failure();
  return checkWeights();
}
