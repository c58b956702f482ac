//===- Schedule.cpp - A step as stage functions and a table --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Schedule.h"

#include "compiler/Support/Stages.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/AllReduceAxis.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::codegen;

/// The kind of stage that the operations outside of loops belong to, as the step goes on.
static StageOp stageOf(Operation &op, StageOp before) {
  if (isa<ptl::GlobalNormOp, spmd::SquareSumOp, spmd::RootOp>(op))
    return StageOp::Norm;
  auto kernel = dyn_cast<rt::KernelOp>(op);
  if (kernel && kernel.getKind() == rt::KernelKind::Flat)
    return StageOp::Opt;
  return before;
}

/// What a phase of a pipeline is called in the table.
static StageOp opOf(rt::PhaseKind kind) {
  switch (kind) {
  case rt::PhaseKind::Forward:
    return StageOp::Forward;
  case rt::PhaseKind::Backward:
    return StageOp::Backward;
  case rt::PhaseKind::WeightGradient:
    return StageOp::WeightGradient;
  case rt::PhaseKind::WholeBackward:
    return StageOp::WholeBackward;
  case rt::PhaseKind::Loss:
    return StageOp::Loss;
  }
  return StageOp::Forward;
}

namespace {
/// The functions of a rank of a pipeline. Operations outside of the phases belong to the first of
/// tie, reduce, norm and update that comes behind all that makes their operands, those that need no
/// phase run before them.
class PipelineStep {
public:
  PipelineStep(func::FuncOp step, Schedule &schedule) : step(step), schedule(schedule) {
    axis = pipelineOf(step->getParentOfType<ModuleOp>()).getAs<StringAttr>("axis");
  }
  void add();

private:
  static constexpr StageOp kKinds[] = {StageOp::Count, StageOp::Tie, StageOp::Reduce, StageOp::Norm,
                                       StageOp::Opt};
  bool isEarly(Operation &op) const;
  unsigned kindOf(Operation &op, bool isBefore);

  func::FuncOp step;
  Schedule &schedule;
  StringAttr axis;
  llvm::DenseMap<Operation *, unsigned> kinds;
};
} // namespace

/// True for what is made of arguments alone: phases read it, wherever it stands.
bool PipelineStep::isEarly(Operation &op) const {
  return op.getNumOperands() > 0 && llvm::all_of(op.getOperands(), [&](Value operand) {
           auto maker = kinds.find(operand.getDefiningOp());
           return isa<BlockArgument>(operand) || (maker != kinds.end() && maker->second == 0);
         });
}

unsigned PipelineStep::kindOf(Operation &op, bool isBefore) {
  isBefore |= isEarly(op);
  unsigned kind = isBefore ? 0 : 1;
  if (isa<ptl::GlobalNormOp>(op) || spmd::isAllReduceOver(&op, axis))
    kind = 3;
  else if (auto kernel = dyn_cast<rt::KernelOp>(op);
           kernel && kernel.getKind() == rt::KernelKind::Flat)
    kind = 4;
  else if (!isBefore && isa<spmd::SpmdDialect>(op.getDialect()))
    kind = 2;
  for (Value operand : op.getOperands())
    if (Operation *maker = operand.getDefiningOp())
      kind = std::max(kind, kinds.lookup(maker));
  return kind;
}

void PipelineStep::add() {
  std::array<SmallVector<Operation *>, std::size(kKinds)> around;
  SmallVector<StageFunction> counts, phases;
  bool open = false;
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (isa<rt::SendOp, rt::ReceiveOp>(op))
      continue;
    if (auto loop = dyn_cast<ptl::AccumulateOp>(op)) {
      auto phase = loop->getAttrOfType<rt::PhaseAttr>("rt.phase");
      StageFunction function{phase ? opOf(phase.getKind()) : StageOp::Count,
                             int64_t(loop.getPieces()),
                             phase ? phase.getStage() : 0,
                             step,
                             {}};
      for (Operation &inner : loop.getPiece().getParentBlock()->without_terminator())
        function.operations.push_back(&inner);
      (phase ? phases : counts).push_back(function);
      open = false;
      continue;
    }
    unsigned kind = kinds[&op] = kindOf(op, phases.empty());
    if (kind > 0) {
      around[kind].push_back(&op);
      continue;
    }
    if (!std::exchange(open, true))
      counts.push_back({StageOp::Count, 1, 0, step, {}});
    counts.back().operations.push_back(&op);
  }
  llvm::append_range(schedule.functions, counts);
  for (auto [kind, list] : llvm::zip_equal(kKinds, around)) {
    if (kind == StageOp::Tie)
      llvm::append_range(schedule.functions, phases);
    if (!list.empty())
      schedule.functions.push_back({kind, 1, 0, step, list});
  }
  schedule.stepFunctions = schedule.functions.size();
}

static void addStep(func::FuncOp step, Schedule &schedule) {
  if (step->getParentOfType<ModuleOp>()->hasAttr(kPipeRank))
    return PipelineStep(step, schedule).add();
  Operation *main = nullptr;
  for (ptl::AccumulateOp op : step.getBody().getOps<ptl::AccumulateOp>())
    main = op;
  StageOp now = StageOp::Count;
  bool open = false;
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (auto loop = dyn_cast<ptl::AccumulateOp>(op)) {
      StageFunction function{
          &op == main ? StageOp::Fb : StageOp::Count, int64_t(loop.getPieces()), 0, step, {}};
      for (Operation &inner : loop.getPiece().getParentBlock()->without_terminator())
        function.operations.push_back(&inner);
      schedule.functions.push_back(function);
      now = &op == main ? StageOp::Reduce : StageOp::Count;
      open = false;
      continue;
    }
    StageOp next = stageOf(op, now);
    if (!open || next != now)
      schedule.functions.push_back({next, 1, 0, step, {}});
    schedule.functions.back().operations.push_back(&op);
    now = next;
    open = true;
  }
  // Views alone are no work.
  llvm::erase_if(schedule.functions, [](const StageFunction &function) {
    return function.op != StageOp::Fb && llvm::all_of(function.operations, [](Operation *op) {
             return isa<ptl::ReshapeOp, ptl::StopGradientOp, ptl::MicrobatchOp,
                        spmd::BucketSliceOp>(op);
           });
  });
  schedule.stepFunctions = schedule.functions.size();
}

static std::optional<unsigned> addForward(func::FuncOp function, StageOp op, Schedule &schedule) {
  if (!function)
    return std::nullopt;
  StageFunction stage{op, 1, 0, function, {}};
  for (Operation &inner : function.getBody().front().without_terminator())
    stage.operations.push_back(&inner);
  schedule.functions.push_back(stage);
  return schedule.functions.size() - 1;
}

/// What a loop reads of its function's own operations, and what these read.
static DenseSet<Operation *> readBy(ptl::AccumulateOp loop) {
  DenseSet<Operation *> result;
  SmallVector<Operation *> open{loop};
  while (!open.empty())
    open.pop_back_val()->walk([&](Operation *reader) {
      for (Value operand : reader->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && maker->getBlock() == loop->getBlock() && result.insert(maker).second)
          open.push_back(maker);
    });
  return result;
}

/// What is done for each batch, and, if the function has a loop over them, what is done behind it.
static void addEvaluation(func::FuncOp function, Schedule &schedule) {
  auto loops = function.getBody().getOps<ptl::AccumulateOp>();
  if (loops.empty()) {
    schedule.eval = addForward(function, StageOp::Eval, schedule);
    return;
  }
  ptl::AccumulateOp loop = *loops.begin();
  StageFunction batch{StageOp::Eval, 1, 0, function, {}}, end = batch;
  DenseSet<Operation *> before = readBy(loop);
  for (Operation &outer : function.getBody().front().without_terminator())
    if (&outer != loop)
      (before.contains(&outer) ? batch : end).operations.push_back(&outer);
  for (Operation &inner : loop.getPiece().getParentBlock()->without_terminator())
    batch.operations.push_back(&inner);
  schedule.eval = schedule.functions.size();
  schedule.evalEnd = schedule.functions.size() + 1;
  schedule.functions.push_back(std::move(batch));
  schedule.functions.push_back(std::move(end));
}

Schedule codegen::buildSchedule(ModuleOp module) {
  Schedule schedule;
  if (auto step = module.lookupSymbol<func::FuncOp>("step"))
    addStep(step, schedule);
  if (auto eval = module.lookupSymbol<func::FuncOp>("eval"))
    addEvaluation(eval, schedule);
  schedule.sample =
      addForward(module.lookupSymbol<func::FuncOp>("logits"), StageOp::Sample, schedule);
  for (const StageFunction &function : schedule.functions)
    for (Operation *op : function.operations)
      if (spmd::isCollective(op))
        schedule.collectives.push_back(op);
      else if (isa<rt::ExchangeOp>(op))
        schedule.exchanges.push_back(op);
  // Those of several ranks of a pipeline have the same number on all of them.
  if (DictionaryAttr pipeline = pipelineOf(module))
    llvm::stable_sort(schedule.collectives, [&](Operation *a, Operation *b) {
      auto axis = pipeline.getAs<StringAttr>("axis");
      return spmd::isAllReduceOver(a, axis) > spmd::isAllReduceOver(b, axis);
    });
  for (const auto *list : {&schedule.collectives, &schedule.exchanges})
    for (auto [index, op] : llvm::enumerate(*list))
      schedule.indices[op] = static_cast<int32_t>(index);
  return schedule;
}
