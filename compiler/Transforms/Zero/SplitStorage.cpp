//===- SplitStorage.cpp - ZeRO: states, gradients and weights in parts ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion
// Parameter Models" (2020), section 5: stage 1 splits states, stage 2 gradients,
// stage 3 weights. compiler/doc/Zero.md says how and why.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Directions.h"
#include "compiler/Transforms/Zero/Gather.h"
#include "compiler/Transforms/Zero/Loop.h"
#include "compiler/Transforms/Zero/Norm.h"
#include "compiler/Transforms/Zero/Passes.h"
#include "compiler/Transforms/Zero/Signature.h"

namespace ptlc::zero {
#define GEN_PASS_DEF_SPLITSTORAGE
#include "compiler/Transforms/Zero/Passes.h.inc"
} // namespace ptlc::zero

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

namespace {
/// One optimizer of the step.
struct Update {
  ptl::OptimizeOp op;
  Division division;
};

class Splitter {
public:
  Splitter(func::FuncOp step, const zero::Plan &plan, BucketSizes &sizes)
      : step(step), plan(plan), sizes(sizes), builder(step.getContext()), signature(step) {}
  void run();

private:
  bool collect();
  void remarkWhole();
  void scatterInLoop();
  void scatterBehindLoop();
  void takeNorm();
  void keepRest(ptl::OptimizeOp op, ArrayRef<unsigned> numbers);
  void update(ptl::OptimizeOp op, const Bucket &bucket);
  void stepAlong(ptl::OptimizeOp op, const Bucket &bucket, Value weights, Value part);
  void replaceWhole(const Bucket &bucket, Value part);
  void gather();
  template <typename Visitor> void forEachBucket(Visitor &&visit) {
    for (Update &update : updates)
      for (Bucket &bucket : update.division.buckets)
        visit(update.op, bucket);
  }

  func::FuncOp step;
  const zero::Plan &plan;
  BucketSizes &sizes;
  OpBuilder builder;
  Signature signature;
  std::vector<Update> updates;
  std::vector<Bucket> frozen;
  std::vector<SplitWeights> splitWeights;
  SmallVector<ptl::OptimizeOp> superfluous;
};
} // namespace

/// Arguments for buckets come in an order of their own.
static void keepOrder(func::FuncOp step) {
  Builder builder(step.getContext());
  SmallVector<Attribute> paths;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, "ptl.role") == builder.getStringAttr("weight"))
      paths.push_back(step.getArgAttr(i, "ptl.path"));
  step->getParentOfType<ModuleOp>()->setAttr("ptl.weights", builder.getArrayAttr(paths));
}

bool Splitter::collect() {
  unsigned next = 0;
  mergeDirections(step, plan);
  for (auto op : step.getBody().front().getOps<ptl::OptimizeOp>())
    if (op.readsGradients())
      updates.push_back({op, divide(op, plan, sizes, next)});
  frozen = divideFrozen(step, plan, sizes, next);
  return next > 0;
}

/// The loop that makes all gradients of a bucket, if they may be scattered in it.
static ptl::AccumulateOp loopOf(const Bucket &bucket, bool keepsWhole) {
  ptl::AccumulateOp loop;
  for (const Member &member : bucket.members) {
    auto maker = member.gradient.pending.getDefiningOp<ptl::AccumulateOp>();
    if (!maker || (loop && loop != maker))
      return {};
    loop = maker;
  }
  bool splits = bucket.level >= 2 && bucket.isPending();
  return splits && (loop.getPieces() == 1 || !keepsWhole) ? loop : ptl::AccumulateOp();
}

/// Says once for each directive that its gradients stay whole until the step's end, and why.
void Splitter::remarkWhole() {
  llvm::SmallDenseSet<Attribute> known;
  forEachBucket([&](ptl::OptimizeOp, Bucket &bucket) {
    ptl::AccumulateOp loop = loopOf(bucket, /*keepsWhole=*/false);
    if (!loop || loop.getPieces() == 1 || !plan.sumsOnce() || !known.insert(bucket.place).second)
      return;
    emitRemark(bucket.place) << "'zero " << bucket.level
                             << "' keeps gradients whole until the last of " << loop.getPieces()
                             << " micro-batches: "
                             << (plan.isReproducible()
                                     ? "'reproducible' sums them over micro-batches first"
                                     : "in a pipeline they are summed over micro-batches first");
  });
}

/// From level 2 on a gradient exists whole only until its part is known.
void Splitter::scatterInLoop() {
  llvm::MapVector<ptl::AccumulateOp, SmallVector<Bucket *>> loops;
  forEachBucket([&](ptl::OptimizeOp, Bucket &bucket) {
    if (ptl::AccumulateOp loop = loopOf(bucket, plan.sumsOnce()))
      loops[loop].push_back(&bucket);
  });
  for (auto &[loop, buckets] : loops) {
    Operation *end = loop.getBody().front().getTerminator();
    SmallVector<Value> parts;
    for (Bucket *bucket : buckets) {
      SmallVector<Value> gradients;
      Operation *last = nullptr;
      for (const Member &member : bucket->members) {
        unsigned number = cast<OpResult>(member.gradient.pending).getResultNumber();
        gradients.push_back(end->getOperand(number));
        Operation *maker = gradients.back().getDefiningOp();
        if (maker && maker->getBlock() == end->getBlock() &&
            (!last || last->isBeforeInBlock(maker)))
          last = maker;
      }
      last ? builder.setInsertionPointAfter(last) : builder.setInsertionPoint(end);
      parts.push_back(scatter(builder, *bucket, plan, gradients));
    }
    unsigned first = loop.getNumResults();
    ptl::AccumulateOp fresh = addResults(loop, parts);
    for (auto [place, bucket] : llvm::enumerate(buckets))
      bucket->gradient = fresh.getResult(first + place);
  }
}

void Splitter::scatterBehindLoop() {
  Operation *norm = nullptr;
  for (Operation &op : step.getBody().front())
    if (!norm && isa<ptl::GlobalNormOp, spmd::SquareSumOp>(op))
      norm = &op;
  forEachBucket([&](ptl::OptimizeOp op, Bucket &bucket) {
    builder.setInsertionPoint(norm ? norm : op.getOperation());
    if (!bucket.gradient) {
      SmallVector<Value> gradients;
      for (Member &member : bucket.members) {
        // What the loop returns has been replaced.
        member.gradient = traceGradient(op.getGrads()[member.number], plan);
        gradients.push_back(bucket.isPending() ? member.gradient.pending : member.gradient.whole);
      }
      bucket.gradient = scatter(builder, bucket, plan, gradients);
    }
    bucket.gradient = finishPart(builder, bucket, plan, bucket.gradient);
  });
}

/// A bucket's part stands for its gradients if the norm is of all of them. It may be of what a
/// gradient was before it was moved to where its weight lies.
void Splitter::takeNorm() {
  llvm::DenseSet<Value> inNorm = gradientsOfNorm(step, plan);
  DenseMap<Value, NormTerm> terms;
  forEachBucket([&](ptl::OptimizeOp, Bucket &bucket) {
    NormTerm term{bucket.gradient, {}, bucket.axes};
    bool isAll = llvm::all_of(bucket.members, [&](const Member &member) {
      return inNorm.contains(member.gradient.whole);
    });
    if (!isAll)
      return;
    for (const Member &member : bucket.members) {
      term.members.push_back(ptl::withElement(member.type, ptl::elementType(bucket.gradient)));
      terms[member.gradient.whole].value = {};
    }
    llvm::append_range(term.axes, plan.cutAxes(bucket.members.front().weight));
    term.axes = plan.sorted(term.axes);
    terms[bucket.members.front().gradient.whole] = term;
  });
  replaceNorm(step, plan, [&](const NormTerm &whole) -> std::optional<NormTerm> {
    auto mask = whole.value.getDefiningOp<spmd::MaskOp>();
    auto found = terms.find(mask ? mask.getX() : whole.value);
    if (found == terms.end())
      return whole;
    return found->second.value ? std::optional(found->second) : std::nullopt;
  });
}

/// Weights that no rule splits are updated as before.
void Splitter::keepRest(ptl::OptimizeOp op, ArrayRef<unsigned> numbers) {
  if (numbers.empty())
    return;
  SmallVector<Value> weights, grads, states;
  SmallVector<StringRef> names;
  unsigned kinds = op.getStatesPerWeight(), count = op.getWeights().size();
  for (unsigned i : numbers) {
    weights.push_back(op.getWeights()[i]);
    grads.push_back(op.getGrads()[i]);
    names.push_back(cast<StringAttr>(op.getNames()[i]).getValue());
  }
  for (unsigned kind = 0; kind < kinds; ++kind)
    for (unsigned i : numbers)
      states.push_back(op.getStates()[kind * count + i]);
  auto rest = ptl::OptimizeOp::create(builder, op.getLoc(), op.getKind(), weights, grads, states,
                                      op.getHypers(), op.getStep(), names, op.getNesterov());
  for (auto [place, i] : llvm::enumerate(numbers)) {
    op.getNewWeights()[i].replaceAllUsesWith(rest.getNewWeights()[place]);
    for (unsigned kind = 0; kind < kinds; ++kind)
      op.getNewStates()[kind * count + i].replaceAllUsesWith(
          rest.getNewStates()[kind * numbers.size() + place]);
  }
}

/// Lets uses of the weights read what is gathered from `part`.
void Splitter::replaceWhole(const Bucket &bucket, Value part) {
  SplitWeights whole{&bucket, part, {}};
  for (const Member &member : bucket.members)
    whole.whole.push_back(member.weight);
  splitWeights.push_back(std::move(whole));
}

/// Updates this rank's part of a bucket, and gives it to the others.
void Splitter::update(ptl::OptimizeOp op, const Bucket &bucket) {
  unsigned kinds = op.getStatesPerWeight(), count = op.getWeights().size();
  auto pick = [&](ValueRange values, unsigned kind) {
    SmallVector<Value> picked;
    for (const Member &member : bucket.members)
      picked.push_back(values[kind * count + member.number]);
    return picked;
  };
  auto mesh = FlatSymbolRefAttr::get(op.getContext(), "mesh");
  spmd::AxesAttr axes = plan.attribute(bucket.axes);
  if (op.makesDirections())
    moveToUse(builder, op, bucket);
  SmallVector<Value> weights = pick(op.getWeights(), 0), states;
  Value part = bucket.splitsWeights()
                   ? signature.add(bucket, plan, weights, bucket.weightAttributes())
                   : Value(spmd::BucketSliceOp::create(builder, op.getLoc(), bucket.part, weights,
                                                       mesh, axes));
  for (unsigned kind = 0; kind < kinds; ++kind) {
    SmallVector<Value> old = pick(op.getStates(), kind);
    states.push_back(signature.add(bucket, plan, old, signature.stateAttributes(bucket, old)));
  }
  std::string name = bucket.name();
  auto split =
      ptl::OptimizeOp::create(builder, op.getLoc(), op.getKind(), part, bucket.gradient, states,
                              op.getHypers(), op.getStep(), StringRef(name), op.getNesterov());
  SmallVector<StringRef> paths;
  for (const Member &member : bucket.members)
    paths.push_back(member.path);
  split->setAttr("ptl.members", builder.getStrArrayAttr(paths));
  for (unsigned kind = 0; kind < kinds; ++kind)
    signature.returns(states[kind], split.getNewStates()[kind], pick(op.getNewStates(), kind));
  if (op.makesDirections())
    return stepAlong(op, bucket, part, split.getNewWeights()[0]);
  if (bucket.splitsWeights()) {
    signature.returns(part, split.getNewWeights()[0], pick(op.getNewWeights(), 0));
    replaceWhole(bucket, part);
    return;
  }
  auto reason = builder.getStringAttr("each rank updates its part of " + Twine(weights.size()) +
                                      " weights ('zero " + Twine(bucket.level) + "')");
  auto whole =
      spmd::BucketAllGatherOp::create(builder, bucket.place, ValueRange(weights).getTypes(),
                                      split.getNewWeights()[0], mesh, axes, reason);
  for (auto [member, value] : llvm::zip_equal(bucket.members, whole.getOutputs()))
    op.getNewWeights()[member.number].replaceAllUsesWith(value);
}

/// Gives the directions of a bucket to all ranks; weights in parts take their steps in parts.
void Splitter::stepAlong(ptl::OptimizeOp op, const Bucket &bucket, Value weights, Value part) {
  gatherDirections(builder, op, bucket, plan, part);
  if (!bucket.splitsWeights())
    return;
  SmallVector<ptl::OptimizeOp> steps = stepsOf(bucket);
  SmallVector<Value> old;
  for (ptl::OptimizeOp each : steps)
    old.push_back(each.getNewWeights()[0]);
  signature.returns(weights, stepPart(steps, bucket, plan, weights), old);
  llvm::append_range(superfluous, steps);
  replaceWhole(bucket, weights);
}

/// Weights in parts become whole where they are used, or, below level 3, once for a step.
void Splitter::gather() {
  SmallVector<SplitWeights> later;
  for (SplitWeights &weights : splitWeights) {
    readCasts(weights);
    if (weights.bucket->level < 3)
      gatherOnce(weights, plan);
    else
      later.push_back(weights);
  }
  gatherWeights(later, plan);
}

void Splitter::run() {
  if (!collect())
    return;
  keepOrder(step);
  remarkWhole();
  scatterInLoop();
  scatterBehindLoop();
  takeNorm();
  for (Update &each : updates) {
    if (each.division.buckets.empty())
      continue;
    builder.setInsertionPoint(each.op);
    keepRest(each.op, each.division.rest);
    for (const Bucket &bucket : each.division.buckets)
      update(each.op, bucket);
  }
  for (const Bucket &bucket : frozen) {
    SmallVector<Value> weights;
    for (const Member &member : bucket.members)
      weights.push_back(member.weight);
    replaceWhole(bucket, signature.add(bucket, plan, weights, bucket.weightAttributes()));
  }
  signature.finish();
  for (Update &each : updates)
    if (!each.division.buckets.empty())
      each.op.erase();
  for (ptl::OptimizeOp op : superfluous)
    op.erase();
  gather();
  signature.eraseArguments();
  SmallVector<const Bucket *> buckets;
  for (const SplitWeights &each : splitWeights)
    buckets.push_back(each.bucket);
  for (auto function : step->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (function != step && !buckets.empty())
      splitReader(function, buckets, plan);
  eraseDead(step.getBody().front());
  for (auto loop : llvm::to_vector(step.getBody().front().getOps<ptl::AccumulateOp>()))
    dropUnusedResults(loop);
}

namespace {
struct SplitStorage : zero::impl::SplitStorageBase<SplitStorage> {
  using SplitStorageBase::SplitStorageBase;
  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>("step");
    if (!step)
      return;
    zero::Plan plan(getOperation(), step);
    if (failed(plan.findStages(getOperation())))
      return signalPassFailure();
    if (!plan.mesh)
      return;
    BucketSizes sizes(getOperation(), step, plan, leastBytes);
    Splitter(step, plan, sizes).run();
    if (ArrayAttr chosen = sizes.describe(); !chosen.empty())
      getOperation()->setAttr("ptl.buckets", chosen);
  }
};
} // namespace
