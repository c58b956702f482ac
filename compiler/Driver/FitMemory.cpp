//===- FitMemory.cpp - Recomputation that keeps a promise -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/FitMemory.h"

#include "compiler/Analysis/Memory/ChainPlan.h"
#include "compiler/Analysis/Memory/Timeline.h"
#include "compiler/Codegen/Places.h"
#include "compiler/Import/Recomputation.h"
#include "compiler/Support/Location.h"
#include "compiler/Support/Stages.h"
#include "dialects/Rt/Rt.h"
#include "llvm/ADT/StringMap.h"

using namespace ptlc;
using namespace mlir;

/// What a block may compute again, the cheapest first; the words are those of `memory-recompute`.
static const std::vector<std::vector<StringRef>> kKinds = {
    {}, {"pointwise"}, {"pointwise", "attention"}, {"everything"}};

/// A byte that is written again costs as much as so many operations: about the ratio of today's
/// CPUs; on GPUs it is larger, but the order of the kinds above is the same.
static constexpr double kFlopsPerByte = 8;

/// How often the choice is planned.
static constexpr unsigned kTrials = 8;

namespace {
/// The blocks of one program at stage `memory` and their bytes.
class BlockBytes {
public:
  BlockBytes(ModuleOp module, ArrayRef<std::string> blocks);

  std::vector<BlockOption> options; ///< by block
  int64_t head = 0;                 ///< besides what all blocks keep, where no block works

private:
  std::optional<unsigned> blockOf(Location location) const;
  void measure(func::FuncOp step);
  void addCosts(ModuleOp module);

  llvm::StringMap<unsigned> numbers;
};

class Fit {
public:
  Fit(const Variants &variants, const sema::PlanSpec &plan);
  ArrayAttr run();

private:
  void readRules(ModuleOp natural);
  ArrayAttr listOf(ArrayRef<unsigned> choice) const;
  OwningOpRef<ModuleOp> planned(ArrayRef<unsigned> choice) const;
  void search();
  void searchKinds();
  bool keeps(ModuleOp module) const;

  const Variants &variants;
  sema::PlanSpec plan; ///< without the rules to decide on
  double limit = 0;    ///< bytes of the arena
  bool isStrict = false;
  std::vector<std::string> blocks;   ///< in order of the forward
  std::vector<DictionaryAttr> rules; ///< `auto`, that of each block
  std::vector<Attribute> others;     ///< other rules
  std::vector<std::vector<BlockOption>> options;
  int64_t head = 0;
  std::vector<unsigned> best;
};
} // namespace

BlockBytes::BlockBytes(ModuleOp module, ArrayRef<std::string> blocks) : options(blocks.size()) {
  for (auto [number, block] : llvm::enumerate(blocks))
    numbers[block] = number;
  if (auto step = module.lookupSymbol<func::FuncOp>("step"))
    measure(step);
  addCosts(module);
}

std::optional<unsigned> BlockBytes::blockOf(Location location) const {
  for (StringRef part = partOf(location); !part.empty(); part = part.rsplit('.').first) {
    if (auto found = numbers.find(part); found != numbers.end())
      return found->second;
    if (!part.contains('.'))
      break;
  }
  return std::nullopt;
}

/// Whether it reads more than single numbers.
static bool readsTensors(Operation *op) {
  bool found = false;
  op->walk([&](Operation *inner) {
    for (Type type : inner->getOperandTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        found |= tensor.getRank() > 0;
  });
  return found;
}

/// The last position of the forward: what the loss is computed from, but for single numbers, which
/// may come late.
static unsigned endOfForward(const Timeline &timeline, func::FuncOp step) {
  llvm::DenseSet<Operation *> forward;
  for (auto loop : step.getBody().getOps<ptl::AccumulateOp>()) {
    auto marks = loop->getAttrOfType<ArrayAttr>("ptl.grad");
    if (!marks)
      continue;
    Block &body = loop.getBody().front();
    SmallVector<Value> stack;
    if (body.getTerminator()->getNumOperands())
      stack.push_back(body.getTerminator()->getOperand(0));
    while (!stack.empty())
      if (Operation *op = stack.pop_back_val().getDefiningOp();
          op && op->getBlock() == &body && forward.insert(op).second)
        op->walk([&](Operation *inner) { llvm::append_range(stack, inner->getOperands()); });
  }
  unsigned last = 0;
  for (auto [position, op] : llvm::enumerate(timeline.operations()))
    if (forward.contains(op) && readsTensors(op))
      last = position;
  return last;
}

void BlockBytes::measure(func::FuncOp step) {
  Timeline timeline(step);
  if (timeline.operations().empty())
    return;
  unsigned end = endOfForward(timeline, step);
  int64_t all = 0;
  for (const LiveBytes &live : timeline.liveAt(end))
    if (std::optional<unsigned> block = blockOf(live.value.getLoc())) {
      options[*block].kept += live.bytes;
      all += live.bytes;
    }
  std::vector<int64_t> before(options.size(), 0);
  for (size_t i = 1; i < options.size(); ++i)
    before[i] = before[i - 1] + options[i - 1].kept;
  bool inBackward = false; // of blocks
  for (auto [position, op] : llvm::enumerate(timeline.operations())) {
    int64_t bytes = timeline.bytes()[position];
    std::optional<unsigned> block = blockOf(op->getLoc());
    inBackward |= block && position > end;
    if (block)
      options[*block].working = std::max(options[*block].working, bytes - before[*block]);
    else if (position >= end && !inBackward)
      head = std::max(head, bytes - all);
  }
}

void BlockBytes::addCosts(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>("rt.recomputed");
  if (!list)
    return;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    auto number = numbers.find(entry.getAs<StringAttr>("part").getValue());
    if (number != numbers.end())
      options[number->second].cost +=
          static_cast<double>(entry.getAs<IntegerAttr>("flops").getInt()) +
          kFlopsPerByte * static_cast<double>(entry.getAs<IntegerAttr>("written").getInt());
  }
}

static bool isAuto(DictionaryAttr entry) {
  auto kinds = entry.getAs<ArrayAttr>("kinds").getAsValueRange<StringAttr>();
  return llvm::is_contained(kinds, "auto");
}

Fit::Fit(const Variants &variants, const sema::PlanSpec &given) : variants(variants), plan(given) {
  limit = std::numeric_limits<double>::infinity();
  for (const sema::Promise &promise : plan.promises)
    if (promise.what == sema::Promise::What::Memory && promise.value <= limit &&
        (promise.comparison == sema::Comparison::Le ||
         promise.comparison == sema::Comparison::Lt)) {
      isStrict = promise.comparison == sema::Comparison::Lt;
      limit = promise.value;
    }
}

bool Fit::keeps(ModuleOp module) const {
  auto bytes = static_cast<double>(largestArena(module));
  return isStrict ? bytes < limit : bytes <= limit;
}

/// Splits the rules; blocks are taken in the order in which the program computes them.
void Fit::readRules(ModuleOp module) {
  OpBuilder builder(module.getContext());
  ArrayAttr list =
      import::rematAttribute(builder, variants.getProgram(), plan, variants.getSources());
  llvm::StringMap<DictionaryAttr> ruleOf;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    if (!isAuto(entry)) {
      others.push_back(entry);
      continue;
    }
    for (StringRef part : entry.getAs<ArrayAttr>("parts").getAsValueRange<StringAttr>())
      ruleOf[part] = entry;
  }
  for (const sema::Call &call : variants.getProgram().loss.calls) {
    const std::string &part = variants.getProgram().parts[call.part].path;
    if (auto found = ruleOf.find(part);
        found != ruleOf.end() && !llvm::is_contained(blocks, part)) {
      blocks.push_back(part);
      rules.push_back(found->second);
    }
  }
}

ArrayAttr Fit::listOf(ArrayRef<unsigned> choice) const {
  std::vector<Attribute> list = others;
  Builder builder(rules.front().getContext());
  for (auto [block, rule, kind] : llvm::zip_equal(blocks, rules, choice)) {
    NamedAttrList entry(rule);
    entry.set("kinds", builder.getStrArrayAttr(kKinds[kind]));
    entry.set("parts", builder.getStrArrayAttr(StringRef(block)));
    list.push_back(entry.getDictionary(rule.getContext()));
  }
  return builder.getArrayAttr(list);
}

OwningOpRef<ModuleOp> Fit::planned(ArrayRef<unsigned> choice) const {
  return variants.plan(plan, listOf(choice));
}

/// Looks for the cheapest choice that the planner finds to fit.
void Fit::search() {
  auto last = static_cast<unsigned>(kKinds.size() - 1);
  best.assign(blocks.size(), last);
  auto costOf = [&](ArrayRef<unsigned> choice) {
    double cost = 0;
    for (auto [block, kind] : llvm::zip_equal(options, choice))
      cost += block[kind].cost;
    return cost;
  };
  bool found = false;
  OwningOpRef<ModuleOp> full = planned(best);
  if (!full)
    return;
  codegen::Arena arena(*full);
  found = keeps(*full);
  int64_t room = static_cast<int64_t>(limit) - arena.persistent - arena.scratch;
  int64_t guess = room;
  std::vector<std::vector<unsigned>> tried;
  for (unsigned trial = 0; trial < kTrials; ++trial) {
    std::optional<std::vector<unsigned>> choice = planChain(options, head, guess);
    // Too much was taken off for the table, or there is nothing new.
    if (!choice || llvm::is_contained(tried, *choice))
      return;
    tried.push_back(*choice);
    OwningOpRef<ModuleOp> module = planned(*choice);
    if (!module)
      return;
    int64_t missed = codegen::Arena(*module).micro - room;
    if (keeps(*module)) {
      if (!found || costOf(*choice) < costOf(best))
        best = *choice;
      found = true;
      // What is left may hold more.
      if (-missed < room / 256)
        return;
      guess -= missed / 2;
    } else {
      guess -= std::max<int64_t>(missed, room / 1024);
    }
  }
}

/// The stages of a pipeline hold several micro-batches at once, which the chain's table doesn't
/// know: the cheapest kind that fits in all blocks is taken.
void Fit::searchKinds() {
  for (unsigned kind = 1; kind < kKinds.size(); ++kind) {
    best.assign(blocks.size(), kind);
    OwningOpRef<ModuleOp> module = planned(best);
    if (!module || keeps(*module))
      return;
  }
}

ArrayAttr Fit::run() {
  llvm::erase_if(plan.promises, [](const sema::Promise &) { return true; });
  OwningOpRef<ModuleOp> natural = [&] {
    sema::PlanSpec without = plan;
    llvm::erase_if(without.remats,
                   [](const sema::RematRule &rule) { return rule.remat == sema::Remat::Auto; });
    return variants.plan(without);
  }();
  if (!natural)
    return {};
  readRules(*natural);
  if (blocks.empty())
    return Builder(natural->getContext()).getArrayAttr(others);
  if (keeps(*natural))
    return listOf(std::vector<unsigned>(blocks.size(), 0));
  if (rankPrograms(*natural).front() != *natural) {
    searchKinds();
    return listOf(best);
  }
  options.resize(blocks.size());
  for (unsigned kind = 0; kind < kKinds.size(); ++kind) {
    OwningOpRef<ModuleOp> module = planned(std::vector<unsigned>(blocks.size(), kind));
    if (!module)
      return {};
    BlockBytes bytes(*module, blocks);
    for (auto [list, option] : llvm::zip_equal(options, bytes.options))
      list.push_back(option);
    if (kind == 0)
      head = bytes.head;
  }
  search();
  return listOf(best);
}

ArrayAttr ptlc::fitMemory(const Variants &variants, const sema::PlanSpec &plan) {
  bool decides = llvm::any_of(
      plan.remats, [](const sema::RematRule &rule) { return rule.remat == sema::Remat::Auto; });
  return decides ? Fit(variants, plan).run() : ArrayAttr();
}
