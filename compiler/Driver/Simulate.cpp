//===- Simulate.cpp - ptlc simulate: what a pipeline's step would take ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Schedule, ranks and micro-batches come from a plan, whose program is compiled, or from options
// alone. The table is verified as it is packed, then played.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Simulate.h"

#include "compiler/Driver/Files.h"
#include "compiler/Driver/Frontend.h"
#include "compiler/Driver/SimulateProgram.h"
#include "compiler/Driver/SimulateReport.h"
#include "compiler/Schedule/Choose.h"
#include "compiler/Schedule/Csv.h"
#include "compiler/Schedule/Lower.h"
#include "compiler/Schedule/Packed.h"
#include "compiler/Schedule/Timeline.h"
#include "compiler/Schedule/Verify.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace ptlc;
using namespace ptlc::schedule;

static bool fail(const llvm::Twine &message) {
  llvm::errs() << "ptlc: error: " << message << "\n";
  return false;
}

namespace {
/// One run of the command.
class SimulateRun {
public:
  SimulateRun(const CompileOptions &options, const SimulateOptions &simulate)
      : options(options), wishes(simulate), ranks(simulate.ranks), micros(simulate.micros) {}

  int run() {
    bool good = readPlan() && chooseWish() && makeOrders() && makeTable() && readCostFiles() &&
                play() && writeFiles();
    if (good)
      options.json ? printSimulationJson(report(), llvm::outs())
                   : printSimulation(report(), llvm::outs());
    return good ? kSuccess : kFailure;
  }

private:
  SimulationReport report() const {
    return {table, *result, costs, pipeline ? &pipeline->arenaBytes : nullptr, measured};
  }
  bool readPlan();
  bool overrule(sema::PlanSpec &plan) const;
  bool chooseWish();
  bool makeOrders();
  bool readCostFiles();
  bool checkCosts();
  bool makeTable();
  bool lowerTable();
  bool play();
  bool writeFiles();

  const CompileOptions &options;
  const SimulateOptions &wishes;
  int ranks, micros;
  std::optional<Wish> wish;
  std::optional<PlannedPipeline> pipeline; ///< of the program, if there is one
  Orders orders;
  PipelineCosts costs;
  Table table;
  std::optional<Simulation> result;
  std::optional<MeasuredSteps> measured;
};
} // namespace

static Kind kindOf(sema::PipeSchedule schedule) {
  switch (schedule) {
  case sema::PipeSchedule::GPipe:
    return Kind::GPipe;
  case sema::PipeSchedule::Interleaved:
    return Kind::Interleaved;
  case sema::PipeSchedule::ZbH1:
    return Kind::ZbH1;
  case sema::PipeSchedule::ZbV:
    return Kind::ZbV;
  case sema::PipeSchedule::OneFOneB:
  case sema::PipeSchedule::File:
    break;
  }
  return Kind::OneForwardOneBackward;
}

static std::optional<sema::PipeSchedule> scheduleOf(Kind kind) {
  for (auto schedule :
       {sema::PipeSchedule::GPipe, sema::PipeSchedule::OneFOneB, sema::PipeSchedule::Interleaved,
        sema::PipeSchedule::ZbH1, sema::PipeSchedule::ZbV})
    if (kindOf(schedule) == kind)
      return schedule;
  return std::nullopt;
}

/// Replaces what options say otherwise.
bool SimulateRun::overrule(sema::PlanSpec &plan) const {
  sema::PipelineRule &rule = *plan.pipeline;
  if (ranks > 0)
    plan.mesh[rule.over.axes.front()].size = ranks;
  if (micros > 0)
    plan.microbatches = micros;
  if (wishes.schedule.empty())
    return true;
  std::string error;
  std::optional<Wish> other = parseWish(wishes.schedule, error);
  std::optional<sema::PipeSchedule> schedule;
  if (other)
    schedule = other->file.empty() ? scheduleOf(other->kind) : sema::PipeSchedule::File;
  if (!schedule)
    return fail(other ? "plans have no schedule '" + wishes.schedule + "'; without a program '" +
                            wishes.schedule + "' can be simulated"
                      : error);
  rule.schedule = *schedule;
  rule.chunks = other->chunks;
  rule.file = other->file;
  return true;
}

/// Compiles the plan of a .ptl file, with what options say otherwise.
bool SimulateRun::readPlan() {
  if (options.input.empty())
    return true;
  Frontend frontend(options);
  std::optional<sema::Program> program = frontend.analyze();
  std::optional<sema::PlanSpec> plan;
  if (program && !frontend.diagnostics.hasErrors())
    plan = sema::selectPlan(*program, options.plan, options.mesh, frontend.diagnostics);
  if (plan && !plan->pipeline && ranks == 0)
    return fail("the plan has no 'pipeline'; say --ranks and --schedule");
  bool compiles = plan && plan->pipeline;
  if (compiles && !overrule(*plan))
    return false;
  if (compiles)
    pipeline = compilePipeline(frontend, *program, *plan);
  if (!frontend.finish(llvm::errs()) || !plan || (compiles && !pipeline))
    return false;
  micros = static_cast<int>(micros > 0 ? micros : plan->microbatches);
  if (!compiles)
    return true;
  const sema::PipelineRule &rule = *plan->pipeline;
  ranks = static_cast<int>(plan->mesh[rule.over.axes.front()].size);
  llvm::SmallString<128> path;
  if (rule.schedule == sema::PipeSchedule::File) {
    path = llvm::sys::path::parent_path(options.input);
    llvm::sys::path::append(path, rule.file);
  }
  wish = Wish{kindOf(rule.schedule), static_cast<int>(rule.chunks), path.str().str()};
  return true;
}

bool SimulateRun::chooseWish() {
  std::string error;
  if (!wish)
    wish = parseWish(wishes.schedule.empty() ? "one_f_one_b" : wishes.schedule, error);
  if (!wish)
    return fail(error);
  if (ranks < 1 || micros < 1)
    return fail("say how many ranks and micro-batches: --ranks 4 --microbatches 8, or a .ptl file "
                "and --plan");
  return true;
}

bool SimulateRun::makeOrders() {
  std::string error;
  std::optional<Orders> made;
  if (wish->file.empty()) {
    made = generate(wish->kind, ranks, micros, wish->chunks, error);
  } else {
    auto buffer = llvm::MemoryBuffer::getFile(wish->file, /*IsText=*/true);
    if (!buffer)
      return fail("can't read '" + wish->file + "': " + buffer.getError().message());
    llvm::StringRef text = (*buffer)->getBuffer();
    made = ordersOfFile(wish->file, {text.data(), text.size()}, ranks, micros, error);
  }
  if (!made)
    return fail(error);
  orders = std::move(*made);
  return true;
}

/// Times from files, else of the plan's cluster, else a second for each rank.
bool SimulateRun::readCostFiles() {
  std::string error;
  if (wishes.costs.empty() && wishes.measured.empty()) {
    costs.source = "1 s for F, B and W of a rank";
    costs.seconds.forward = costs.seconds.backward = costs.seconds.weight = {1.0 / table.chunks};
    if (pipeline && !pipeline->cluster.empty()) {
      costs.source = "cluster '" + pipeline->cluster + "', by the model of step times";
      costs.seconds = pipeline->predicted;
    }
  }
  if (!wishes.measured.empty()) {
    measured = readTrace(wishes.measured, table, costs, error);
    if (!measured)
      return fail(error);
    costs.source = "measured, " + wishes.measured;
  }
  return checkCosts();
}

/// Lists have one number, or one per stage; every instruction of the schedule has a time.
bool SimulateRun::checkCosts() {
  size_t stages = table.place.size();
  const Costs &seconds = costs.seconds;
  for (const auto *list : {&seconds.forward, &seconds.backward, &seconds.weight, &seconds.both,
                           &seconds.loss, &seconds.update, &seconds.gather, &seconds.reduce})
    if (list->size() > 1 && list->size() != stages)
      return fail("costs of " + llvm::Twine(list->size()) + " stages for " + llvm::Twine(stages));
  for (const auto &[kind, list] : costs.slotBytes)
    if (list.size() > 1 && list.size() != stages)
      return fail("slots of " + llvm::Twine(list.size()) + " stages for " + llvm::Twine(stages));
  for (const RankTable &rank : table.tables)
    for (const Instruction &at : rank.instructions)
      if (isCompute(at.op) && std::isnan(seconds.of(at.op, at.stage)))
        return fail("the trace has no time of " + std::string(name(at.op)) + " of stage " +
                    llvm::Twine(at.stage));
  return true;
}

/// A program has its table; without one it is made for the edges that the costs say.
bool SimulateRun::makeTable() {
  std::string error;
  if (!wishes.costs.empty()) {
    costs.source = wishes.costs;
    if (!readCosts(wishes.costs, costs, error))
      return fail(error);
  }
  if (!pipeline)
    return lowerTable();
  if (!costs.edges.empty() || !costs.tied.empty() || costs.clip || costs.copies != 1)
    return fail(wishes.costs + ": 'edges', 'tied', 'clip' and 'copies' are those of the program");
  table = pipeline->table;
  table.name = orders.name;
  return true;
}

bool SimulateRun::lowerTable() {
  LowerOptions lowering;
  lowering.edges = costs.edges.empty()
                       ? chain(static_cast<int>(orders.place.size()), costs.messageBytes)
                       : costs.edges;
  lowering.tied = costs.tied;
  lowering.clip = costs.clip;
  lowering.copies = costs.copies;
  for (const Edge &edge : lowering.edges)
    if (edge.source >= edge.target || edge.target >= static_cast<int>(orders.place.size()))
      return fail("edge " + llvm::Twine(edge.source) + " to " + llvm::Twine(edge.target) +
                  " doesn't lead to a later stage");
  Stuck stuck;
  std::optional<Table> lowered = lower(orders, lowering, stuck);
  if (!lowered) {
    const Action &action = orders.actions[stuck.rank][stuck.position];
    return fail("rank " + llvm::Twine(stuck.rank) + ", position " + llvm::Twine(stuck.position) +
                ": " + text(Instruction{action.op, action.stage, action.micro}) +
                " can never start with these orders");
  }
  std::string error;
  std::optional<std::string> bytes = pack(*lowered, error);
  std::optional<Table> unpacked = bytes ? unpack(*bytes, error) : std::nullopt;
  if (!unpacked)
    return fail(error);
  table = std::move(*unpacked);
  table.name = orders.name;
  for (const Mistake &mistake : verify(table))
    return fail(text(mistake));
  return true;
}

bool SimulateRun::play() {
  result = simulate(table, costs.seconds);
  return result.has_value() || fail("the ranks of this table wait for each other");
}

bool SimulateRun::writeFiles() {
  auto write = [](const std::string &path, auto make) {
    return path.empty() || writeFile(path, make(), /*executable=*/false, llvm::errs());
  };
  return write(wishes.svg, [&] { return drawSvg(table, *result); }) &&
         write(wishes.perfetto, [&] { return drawPerfetto(table, *result); }) &&
         write(wishes.table, [&] { return printTable(table); });
}

int ptlc::runSimulate(const CompileOptions &options, const SimulateOptions &simulate) {
  return SimulateRun(options, simulate).run();
}
