//===- RankProgram.cpp - The program of one rank of the pipeline ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Phases first, in order, then what follows the loop: each operation is cloned when
// something on this rank needs it, so what belongs to other ranks never appears.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Stage/RankProgram.h"

#include "compiler/Support/Location.h"
#include "compiler/Support/Stages.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::stage;
using rt::PhaseKind;
using rt::SlotKind;

static StringRef argumentText(func::FuncOp function, unsigned index, StringRef name) {
  auto attribute = function.getArgAttrOfType<StringAttr>(index, name);
  return attribute ? attribute.getValue() : StringRef();
}

Step::Step(func::FuncOp step, ptl::AccumulateOp main, StringAttr axis, const Routes &routes) {
  function = step;
  loop = main;
  this->axis = axis;
  for (const StagePhase &phase : routes.phases())
    for (unsigned sum : phase.sums)
      rankOfSum[loop.getResult(sum)] = routes.place()[phase.stage];
  findHolders(routes);
}

void Step::findHolders(const Routes &routes) {
  auto add = [&](StringRef path, int rank) {
    auto &ranks = holders[path];
    if (!llvm::is_contained(ranks, rank))
      ranks.insert(llvm::lower_bound(ranks, rank), rank);
  };
  for (auto &[value, stages] : routes.partsOfBody().stagesOfArguments()) {
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    if (argumentText(function, number, "ptl.role") == "weight")
      for (int stage : stages)
        add(argumentText(function, number, "ptl.path"), routes.place()[stage]);
  }
  function.walk([&](ptl::OptimizeOp op) {
    if (!op.readsGradients())
      return;
    for (auto [weight, gradient, name] :
         llvm::zip_equal(op.getWeights(), op.getGrads(), op.getNames().getAsRange<StringAttr>())) {
      for (Value sum : sumsOf(gradient))
        add(name.getValue(), rankOfSum.lookup(sum));
      // A bucket's weights have the same users.
      if (auto slice = weight.getDefiningOp<spmd::BucketSliceOp>())
        for (Value member : slice.getInputs())
          for (int rank : holders.lookup(
                   argumentText(function, cast<BlockArgument>(member).getArgNumber(), "ptl.path")))
            add(name.getValue(), rank);
    }
  });
}

bool Step::holds(int rank, StringRef path) const {
  auto found = holders.find(path);
  return found != holders.end() && llvm::is_contained(found->second, rank);
}

llvm::SetVector<Value> Step::sumsOf(Value value) const { return stage::sumsOf(value, loop); }

void RankProgram::declare() {
  function =
      cast<func::FuncOp>(builder.insert(step.function.getOperation()->cloneWithoutRegions()));
  Block *body = function.addEntryBlock();
  for (auto [old, now] : llvm::zip_equal(step.function.getArguments(), body->getArguments())) {
    now.setLoc(old.getLoc());
    known.map(old, now);
  }
  builder.setInsertionPointToStart(body);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// What stands for `value` in the body of a phase; outer values are made before the phase.
Value RankProgram::inPhase(Value value, const StagePhase &phase, ptl::AccumulateOp made,
                           IRMapping &mapping) {
  if (Value found = mapping.lookupOrNull(value))
    return found;
  Operation *maker = value.getDefiningOp();
  if (value == step.loop.getPiece()) {
    mapping.map(value, made.getPiece());
  } else if (value.getParentBlock() != &step.loop.getBody().front()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(made);
    mapping.map(value, get(value));
  } else if (routes.partsOfBody().isFree(maker)) {
    for (Value operand : maker->getOperands())
      inPhase(operand, phase, made, mapping);
    builder.clone(*maker, mapping)->removeAttr(kPart);
  } else {
    for (Pool pool : routes.readBy(phase))
      if (Value kept = slots[pool].lookup(value)) {
        mapping.map(value, kept);
        break;
      }
  }
  return mapping.lookupOrNull(value);
}

LogicalResult RankProgram::phase(const StagePhase &phase) {
  SmallVector<Value> leaving;
  SmallVector<int64_t> pools;
  SmallVector<Attribute> marks;
  auto gradients = step.loop->getAttrOfType<ArrayAttr>("ptl.grad");
  ValueRange yielded = step.loop.getBody().front().getTerminator()->getOperands();
  for (unsigned sum : phase.sums) {
    leaving.push_back(yielded[sum]);
    pools.push_back(-1);
    marks.push_back(gradients ? gradients[sum] : builder.getStringAttr(""));
  }
  for (auto [value, pool] : phase.kept) {
    leaving.push_back(value);
    pools.push_back(routes.numberOf(routes.pool(pool)));
    marks.push_back(builder.getStringAttr(""));
  }
  auto made = ptl::AccumulateOp::create(builder, step.loop.getLoc(), ValueRange(leaving).getTypes(),
                                        static_cast<int64_t>(step.loop.getPieces()));
  made->setAttr("rt.phase", rt::PhaseAttr::get(builder.getContext(), phase.kind, phase.stage,
                                               builder.getDenseI64ArrayAttr(pools)));
  made->setAttr("ptl.grad", builder.getArrayAttr(marks));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&made.getBody().front());
  IRMapping mapping;
  for (Operation *op : phase.operations) {
    for (Value operand : op->getOperands())
      if (!inPhase(operand, phase, made, mapping))
        return op->emitError() << "uses a value that doesn't reach stage " << phase.stage;
    builder.clone(*op, mapping)->removeAttr(kPart);
  }
  SmallVector<Value> results;
  for (Value value : leaving)
    results.push_back(inPhase(value, phase, made, mapping));
  ptl::YieldOp::create(builder, step.loop.getLoc(), results);
  for (auto [index, sum] : llvm::enumerate(phase.sums))
    known.map(step.loop.getResult(sum), made.getResult(index));
  for (auto [index, entry] : llvm::enumerate(phase.kept))
    slots[routes.pool(entry.second)][entry.first] = made.getResult(phase.sums.size() + index);
  return success();
}

void RankProgram::forEachRoute(const StagePhase &phase, bool arrives, const RouteVisitor &visit) {
  bool isForward = phase.kind == PhaseKind::Forward;
  if (!isForward && phase.kind != PhaseKind::Backward && phase.kind != PhaseKind::WholeBackward)
    return;
  for (auto [number, route] : llvm::enumerate(routes.routes())) {
    // Values go from source to target, gradients back.
    bool atTarget = arrives == isForward;
    int here = atTarget ? route.target : route.source;
    int there = atTarget ? route.source : route.target;
    if (here != phase.stage || routes.place()[there] == rank)
      continue;
    ArrayRef<Value> values = (isForward ? route.values : route.gradients).getArrayRef();
    if (isForward || !values.empty())
      visit(number, here, values, !isForward);
  }
}

/// What arrives before a phase.
void RankProgram::receive(const StagePhase &phase) {
  forEachRoute(phase, true, [&](unsigned number, int here, ArrayRef<Value> values, bool gradients) {
    Pool pool{gradients ? SlotKind::Gradient : SlotKind::Input, here};
    auto received =
        rt::ReceiveOp::create(builder, step.loop.getLoc(), ValueRange(values).getTypes(), number,
                              routes.numberOf(pool), gradients);
    for (auto [value, result] : llvm::zip_equal(values, received.getValues()))
      slots[pool][value] = result;
  });
}

/// What leaves behind a phase.
void RankProgram::send(const StagePhase &phase) {
  forEachRoute(phase, false,
               [&](unsigned number, int here, ArrayRef<Value> values, bool gradients) {
                 Pool pool{gradients ? SlotKind::InputGradient : SlotKind::Output, here};
                 SmallVector<Value> sent;
                 for (Value value : values)
                   sent.push_back(slots[pool].lookup(value));
                 rt::SendOp::create(builder, step.loop.getLoc(), sent, number, gradients);
               });
}

//===----------------------------------------------------------------------===//
// Around the loop
//===----------------------------------------------------------------------===//

void RankProgram::cloneLoop(ptl::AccumulateOp op) {
  op.getBody().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentRegion() == op->getParentRegion())
        get(operand);
  });
  builder.clone(*op, known);
}

/// The squares of the gradients that this rank answers for.
void RankProgram::cloneSquares(spmd::SquareSumOp op) {
  SmallVector<Value> own;
  SmallVector<Attribute> members;
  for (auto [operand, list] : llvm::zip_equal(op.getInputs(), op.getMembers())) {
    int first = INT_MAX;
    for (Value sum : step.sumsOf(operand))
      first = std::min(first, step.rankOfSum.lookup(sum));
    if (first != rank)
      continue;
    own.push_back(get(operand));
    members.push_back(list);
  }
  known.map(op.getSum(), spmd::SquareSumOp::create(builder, op.getLoc(), own, members).getSum());
}

/// The norm of the gradients of all stages; exact sums, so that stages don't change a bit.
void RankProgram::finishNorm(spmd::RootOp op) {
  SmallVector<Value> sums;
  for (Value sum : op.getSums())
    sums.push_back(get(sum));
  auto reason = builder.getStringAttr("the norm is of the gradients of all stages");
  auto all = spmd::AllReduceOp::create(
      builder, step.loop.getLoc(), ValueRange(sums).getTypes(), ptl::FoldKind::Sum, sums, "mesh",
      spmd::AxesAttr::get(builder.getContext(), {step.axis}), reason, ArrayAttr());
  known.map(op.getResult(),
            spmd::RootOp::create(builder, op.getLoc(), op.getType(), all.getOutputs()).getResult());
}

/// The update of the weights that this rank holds.
void RankProgram::cloneUpdate(ptl::OptimizeOp op) {
  SmallVector<Value> weights, gradients, states, hypers;
  SmallVector<StringRef> names;
  SmallVector<unsigned> members;
  for (auto [index, name] : llvm::enumerate(op.getNames().getAsRange<StringAttr>()))
    if (step.holds(rank, name.getValue())) {
      members.push_back(index);
      names.push_back(name.getValue());
    }
  if (members.empty())
    return;
  unsigned count = op.getWeights().size();
  for (unsigned member : members) {
    weights.push_back(get(op.getWeights()[member]));
    gradients.push_back(get(op.getGrads()[member]));
  }
  for (unsigned first = 0; first < op.getStates().size(); first += count)
    for (unsigned member : members)
      states.push_back(get(op.getStates()[first + member]));
  for (Value hyper : op.getHypers())
    hypers.push_back(get(hyper));
  auto update = ptl::OptimizeOp::create(builder, op.getLoc(), op.getKind(), weights, gradients,
                                        states, hypers, get(op.getStep()), names, op.getNesterov());
  update->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [index, member] : llvm::enumerate(members)) {
    known.map(op.getNewWeights()[member], update.getNewWeights()[index]);
    for (unsigned kind = 0; kind * count < op.getStates().size(); ++kind)
      known.map(op.getNewStates()[kind * count + member],
                update.getNewStates()[kind * members.size() + index]);
  }
}

Value RankProgram::get(Value value) {
  if (Value found = known.lookupOrNull(value))
    return found;
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (auto squares = dyn_cast<spmd::SquareSumOp>(op)) {
    cloneSquares(squares);
  } else if (auto update = dyn_cast<ptl::OptimizeOp>(op)) {
    cloneUpdate(update);
  } else if (auto accumulate = dyn_cast<ptl::AccumulateOp>(op)) {
    cloneLoop(accumulate);
  } else {
    for (Value operand : op->getOperands())
      get(operand);
    builder.clone(*op, known);
  }
  return known.lookup(value);
}

/// Sums of weights that other ranks use, too: each gives its own to every other.
void RankProgram::exchange() {
  step.function.walk([&](ptl::OptimizeOp op) {
    if (!op.readsGradients())
      return;
    for (auto [name, gradient] :
         llvm::zip_equal(op.getNames().getAsRange<StringAttr>(), op.getGrads())) {
      if (!step.holds(rank, name.getValue()))
        continue;
      std::map<int, SmallVector<Value>> sums;
      for (Value sum : step.sumsOf(gradient))
        sums[step.rankOfSum.lookup(sum)].push_back(sum);
      SmallVector<Value> mine;
      for (Value sum : sums[rank])
        mine.push_back(known.lookup(sum));
      for (int peer : step.holders.find(name.getValue())->second) {
        if (peer == rank)
          continue;
        ArrayRef<Value> others = sums[peer];
        auto made = rt::ExchangeOp::create(builder, gradient.getLoc(),
                                           ValueRange(others).getTypes(), mine, peer);
        for (auto [sum, result] : llvm::zip_equal(others, made.getTheirs()))
          known.map(sum, result);
      }
    }
  });
}

/// This rank's share of a result that all ranks return: all of it on one, 0 on the others.
FailureOr<Value> RankProgram::share(Value value, const Twine &what) {
  std::optional<int> owner;
  for (Value sum : step.sumsOf(value)) {
    int found = step.rankOfSum.lookup(sum);
    if (owner && *owner != found)
      return step.function.emitError(what) << " mixes sums of several stages";
    owner = found;
  }
  if (owner.value_or(0) == rank)
    return get(value);
  return ptl::ConstantOp::create(builder, value.getLoc(), value.getType(), 0.0).getResult();
}

LogicalResult RankProgram::finish() {
  Operation *end = step.function.getBody().front().getTerminator();
  auto role = [&](unsigned index) {
    auto attribute = step.function.getResultAttrOfType<StringAttr>(index, "ptl.role");
    return attribute ? attribute.getValue() : StringRef();
  };
  auto isShared = [&](unsigned index) { return role(index) == "loss" || role(index) == "metric"; };
  SmallVector<Value> shared, shares;
  SmallVector<Attribute> members;
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    if (role(index) == "grad_norm") {
      auto norm = value.getDefiningOp<spmd::RootOp>();
      if (!norm)
        return step.function.emitError("the norm of a pipeline must be a 'spmd.root'");
      finishNorm(norm);
    }
    if (!isShared(index))
      continue;
    FailureOr<Value> part = share(value, role(index) == "loss" ? "the loss" : "a metric");
    if (failed(part))
      return failure();
    shared.push_back(value);
    shares.push_back(*part);
    members.push_back(spmd::MemberAttr::get(
        builder.getContext(), builder.getStringAttr(lineOf(value.getLoc())),
        builder.getStringAttr("every rank reports what one stage computes"), StringAttr()));
  }
  auto all = spmd::AllReduceOp::create(
      builder, step.loop.getLoc(), ValueRange(shares).getTypes(), ptl::FoldKind::Sum, shares,
      "mesh", spmd::AxesAttr::get(builder.getContext(), {step.axis}),
      builder.getStringAttr("what all stages report"), builder.getArrayAttr(members));
  for (auto [value, whole] : llvm::zip_equal(shared, all.getOutputs()))
    known.map(value, whole);
  SmallVector<Value> results;
  SmallVector<Attribute> attributes;
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    auto path = step.function.getResultAttrOfType<StringAttr>(index, "ptl.path");
    if (!isShared(index) && role(index) != "grad_norm" &&
        !(path && step.holds(rank, path.getValue().split('#').first)))
      continue;
    results.push_back(get(value));
    attributes.push_back(step.function.getResultAttrDict(index));
  }
  func::ReturnOp::create(builder, end->getLoc(), results);
  BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  function.setResAttrsAttr(builder.getArrayAttr(attributes));
  function.setType(builder.getFunctionType(function.getBody().getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  return function.eraseArguments(unused);
}

LogicalResult RankProgram::build() {
  declare();
  for (const StagePhase &each : routes.phases()) {
    if (routes.place()[each.stage] != rank)
      continue;
    receive(each);
    if (failed(phase(each)))
      return failure();
    send(each);
  }
  exchange();
  return finish();
}
