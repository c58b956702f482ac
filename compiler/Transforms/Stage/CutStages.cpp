//===- CutStages.cpp - A step as one program for each rank ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Lower.h"
#include "compiler/Schedule/Packed.h"
#include "compiler/Schedule/Verify.h"
#include "compiler/Support/Stages.h"
#include "compiler/Transforms/Stage/ForwardProgram.h"
#include "compiler/Transforms/Stage/Orders.h"
#include "compiler/Transforms/Stage/Passes.h"
#include "compiler/Transforms/Stage/RankProgram.h"
#include "dialects/Ptl/ByteSize.h"
#include "llvm/Support/MathExtras.h"

namespace ptlc::stage {
#define GEN_PASS_DEF_CUTSTAGES
#include "compiler/Transforms/Stage/Passes.h.inc"
} // namespace ptlc::stage

using namespace mlir;
using namespace ptlc;
using namespace ptlc::stage;

static uint64_t bytesOf(const llvm::SetVector<Value> &values) {
  return ptl::getByteSize(ValueRange(values.getArrayRef()).getTypes());
}

namespace {
class Cutter {
public:
  Cutter(ModuleOp module, DictionaryAttr pipeline) : module(module), pipeline(pipeline) {}
  LogicalResult run();

private:
  FailureOr<schedule::Table> tableOf(const schedule::Orders &orders, const Routes &routes,
                                     Step &step);
  std::vector<int> tiedStages(const Routes &routes, Step &step) const;
  int64_t copies(int ranks) const;
  LogicalResult checkAxes(func::FuncOp function) const;
  LogicalResult addProgram(Step &step, const Routes &routes, const schedule::Table &table,
                           int rank);
  InFlightDiagnostic error() const { return emitError(placeOf(pipeline)); }

  ModuleOp module;
  DictionaryAttr pipeline;
};
} // namespace

/// Stages that use a weight which other ranks use, too.
std::vector<int> Cutter::tiedStages(const Routes &routes, Step &step) const {
  std::set<int> stages;
  for (const auto &entry : step.holders) {
    if (entry.second.size() < 2)
      continue;
    for (int rank : entry.second)
      stages.insert(llvm::find(routes.place(), rank) - routes.place().begin());
  }
  return {stages.begin(), stages.end()};
}

/// Ranks that run the same table.
int64_t Cutter::copies(int ranks) const {
  int64_t all = 1;
  for (spmd::AxisAttr axis : spmd::findMesh(module).getAxisRange())
    all *= axis.getSize();
  return all / ranks;
}

FailureOr<schedule::Table> Cutter::tableOf(const schedule::Orders &orders, const Routes &routes,
                                           Step &step) {
  schedule::LowerOptions options;
  for (const Route &route : routes.routes())
    options.edges.push_back(
        {route.source, route.target, !route.gradients.empty(), bytesOf(route.values)});
  options.tied = tiedStages(routes, step);
  options.clip = module->getAttrOfType<DictionaryAttr>("ptl.train").contains("clip");
  options.copies = static_cast<int>(copies(orders.ranks));
  schedule::Stuck stuck;
  std::optional<schedule::Table> table = schedule::lower(orders, options, stuck);
  if (!table)
    return error() << "the schedule can't run: rank " << stuck.rank << " waits for ever at its "
                   << "instruction " << stuck.position;
  for (const schedule::Mistake &mistake : schedule::verify(*table))
    return error() << "the schedule is wrong: " << schedule::text(mistake);
  return *table;
}

LogicalResult Cutter::addProgram(Step &step, const Routes &routes, const schedule::Table &table,
                                 int rank) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto program = ModuleOp::create(builder, module.getLoc(), ("rank" + Twine(rank)).str());
  program->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  program->setAttr(kPipeRank, builder.getI64IntegerAttr(rank));
  program->setAttr(kSlots, builder.getDenseI64ArrayAttr(SmallVector<int64_t>(
                               table.tables[rank].slots.begin(), table.tables[rank].slots.end())));
  builder.setInsertionPointToEnd(program.getBody());
  builder.clone(*spmd::findMesh(module));
  if (failed(RankProgram(step, routes, rank, builder).build()))
    return failure();
  for (StringLiteral name : kForwards)
    if (auto forward = module.lookupSymbol<func::FuncOp>(name)) {
      builder.setInsertionPointToEnd(program.getBody());
      if (failed(ForwardProgram(forward, step, routes, rank, builder).build()))
        return failure();
    }
  return success();
}

/// Stages do different things at a time, so only what this pass adds itself may join them.
LogicalResult Cutter::checkAxes(func::FuncOp function) const {
  auto axis = pipeline.getAs<StringAttr>("axis");
  WalkResult result = function.walk([&](Operation *op) {
    auto axes = op->getAttrOfType<spmd::AxesAttr>("axes");
    if (!axes || !llvm::is_contained(axes.getNames(), axis))
      return WalkResult::advance();
    op->emitError() << "can't be done over '" << axis.getValue()
                    << "': its ranks are stages of the pipeline, which run different programs";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult Cutter::run() {
  auto function = module.lookupSymbol<func::FuncOp>("step");
  for (func::FuncOp each : module.getOps<func::FuncOp>())
    if (failed(checkAxes(each)))
      return failure();
  FailureOr<schedule::Orders> orders = ordersOf(module, pipeline);
  if (failed(orders))
    return failure();
  ptl::AccumulateOp loop = mainLoop(function.getBody().front());
  if (!loop)
    return error() << "a pipeline needs a training step";
  bool split = llvm::any_of(orders->actions, [](const std::vector<schedule::Action> &list) {
    return llvm::any_of(list, [](const auto &action) { return action.op == schedule::Op::B; });
  });
  Routes routes(loop, orders->place, split);
  if (failed(routes.find()))
    return failure();
  Step step(function, loop, pipeline.getAs<StringAttr>("axis"), routes);
  FailureOr<schedule::Table> table = tableOf(*orders, routes, step);
  if (failed(table))
    return failure();
  std::string reason;
  std::optional<std::string> packed = schedule::pack(*table, reason);
  if (!packed)
    return error() << "the schedule is too large: " << reason;
  for (int rank = 0; rank < orders->ranks; ++rank)
    if (failed(addProgram(step, routes, *table, rank)))
      return failure();
  module->setAttr(kPackedTable, StringAttr::get(module.getContext(), *packed));
  for (func::FuncOp old : llvm::to_vector(module.getOps<func::FuncOp>()))
    old.erase();
  return success();
}

namespace {
struct CutStages : stage::impl::CutStagesBase<CutStages> {
  void runOnOperation() override {
    DictionaryAttr pipeline = pipelineOf(getOperation());
    if (pipeline && getOperation().lookupSymbol("step") &&
        failed(Cutter(getOperation(), pipeline).run()))
      signalPassFailure();
  }
};
} // namespace
