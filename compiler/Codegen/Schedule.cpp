//===- Schedule.cpp - A step as stage functions and a table --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Schedule.h"

#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::codegen;

/// The kind of stage that the operations outside of loops belong to, as the step goes on.
static StageOp stageOf(Operation &op, StageOp before) {
  if (isa<ptl::GlobalNormOp>(op))
    return StageOp::Norm;
  auto kernel = dyn_cast<rt::KernelOp>(op);
  if (kernel && kernel.getKind() == rt::KernelKind::Flat)
    return StageOp::Opt;
  return before;
}

static void addStep(func::FuncOp step, Schedule &schedule) {
  Operation *main = nullptr;
  for (ptl::AccumulateOp op : step.getBody().getOps<ptl::AccumulateOp>())
    main = op;
  StageOp now = StageOp::Count;
  bool open = false;
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (auto loop = dyn_cast<ptl::AccumulateOp>(op)) {
      StageFunction function{
          &op == main ? StageOp::Fb : StageOp::Count, int64_t(loop.getPieces()), step, {}};
      for (Operation &inner : loop.getPiece().getParentBlock()->without_terminator())
        function.operations.push_back(&inner);
      schedule.functions.push_back(function);
      now = &op == main ? StageOp::Reduce : StageOp::Count;
      open = false;
      continue;
    }
    StageOp next = stageOf(op, now);
    if (!open || next != now)
      schedule.functions.push_back({next, 1, step, {}});
    schedule.functions.back().operations.push_back(&op);
    now = next;
    open = true;
  }
  // Views alone are no work.
  llvm::erase_if(schedule.functions, [](const StageFunction &function) {
    return function.op != StageOp::Fb && llvm::all_of(function.operations, [](Operation *op) {
             return isa<ptl::ReshapeOp, ptl::StopGradientOp, ptl::MicrobatchOp>(op);
           });
  });
  schedule.stepFunctions = schedule.functions.size();
}

static std::optional<unsigned> addForward(func::FuncOp function, StageOp op, Schedule &schedule) {
  if (!function)
    return std::nullopt;
  StageFunction stage{op, 1, function, {}};
  for (Operation &inner : function.getBody().front().without_terminator())
    stage.operations.push_back(&inner);
  schedule.functions.push_back(stage);
  return schedule.functions.size() - 1;
}

/// What is done for each batch, and, if the function has a loop over them, what is done behind it.
static void addEvaluation(func::FuncOp function, Schedule &schedule) {
  auto loops = function.getBody().getOps<ptl::AccumulateOp>();
  if (loops.empty()) {
    schedule.eval = addForward(function, StageOp::Eval, schedule);
    return;
  }
  ptl::AccumulateOp loop = *loops.begin();
  StageFunction batch{StageOp::Eval, 1, function, {}}, end = batch;
  for (Operation &inner : loop.getPiece().getParentBlock()->without_terminator())
    batch.operations.push_back(&inner);
  for (Operation &outer : function.getBody().front().without_terminator())
    if (&outer != loop)
      end.operations.push_back(&outer);
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
      if (isa<spmd::SpmdDialect>(op->getDialect()))
        schedule.collectives.push_back(op);
  return schedule;
}
