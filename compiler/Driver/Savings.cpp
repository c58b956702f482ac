//===- Savings.cpp - What directives would save ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Savings.h"

#include "compiler/Codegen/Places.h"
#include "compiler/Driver/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ptlc;
using namespace mlir;

namespace {
/// Collects savings of one program.
class Collector {
public:
  Collector(const Variants &variants, const sema::PlanSpec &given, ModuleOp current)
      : variants(variants), plan(given),
        memory(current->getAttrOfType<DictionaryAttr>("rt.memory")) {
    // What `remat auto` has decided for the program at hand holds for its variants.
    if (llvm::any_of(plan.remats,
                     [](const sema::RematRule &rule) { return rule.remat == sema::Remat::Auto; }))
      remat = current->getAttrOfType<DictionaryAttr>("ptl.plan").getAs<ArrayAttr>("remat");
  }

  std::vector<Saving> run();

private:
  /// Adds what the planner says of a variant, or else `estimate`, if there is one.
  void add(const std::string &directive, const sema::PlanSpec &variant, ArrayAttr decided,
           std::optional<int64_t> estimate = std::nullopt);
  void addRemat();
  void addMicrobatches();
  void addZero();
  void addPrecision();
  int64_t part(StringRef name) const { return memory.getAs<IntegerAttr>(name).getInt(); }

  const Variants &variants;
  sema::PlanSpec plan;
  DictionaryAttr memory;
  ArrayAttr remat; ///< null: as the plan says
  std::vector<Saving> savings;
};
} // namespace

void Collector::add(const std::string &directive, const sema::PlanSpec &variant, ArrayAttr decided,
                    std::optional<int64_t> estimate) {
  if (std::optional<int64_t> bytes = variants.arenaBytes(variant, decided))
    savings.push_back({directive, *bytes, false});
  else if (estimate)
    savings.push_back({directive, *estimate, true});
}

static sema::PlanSpec withRemat(const sema::PlanSpec &plan, sema::Remat remat) {
  sema::PlanSpec variant = plan;
  sema::RematRule rule;
  rule.remat = remat;
  variant.remats = {rule};
  return variant;
}

void Collector::addRemat() {
  static constexpr std::pair<sema::Remat, const char *> kKinds[] = {
      {sema::Remat::Selective, "remat selective"},
      {sema::Remat::Attention, "remat attention"},
      {sema::Remat::Full, "remat full"}};
  for (auto [kind, text] : kKinds)
    if (llvm::none_of(plan.remats, [kind = kind](const sema::RematRule &rule) {
          return rule.in.empty() && rule.remat == kind;
        }))
      add(text, withRemat(plan, kind), {});
}

void Collector::addMicrobatches() {
  for (int64_t times : {2, 4}) {
    sema::PlanSpec variant = plan;
    variant.microbatches *= times;
    if (variant.microbatches <= variants.getProgram().size(sema::kBatchDim))
      add("microbatches " + std::to_string(variant.microbatches), variant, remat);
  }
}

/// Storage is spread over the axes that divide the batch. The formulas are those of the ZeRO paper.
void Collector::addZero() {
  sema::AxisList over;
  for (const sema::ShardRule &rule : plan.shards)
    if (rule.in.empty() && !rule.between && llvm::is_contained(rule.dims, sema::kBatchDim))
      over.axes = plan.wide(rule.axes);
  if (over.axes.empty())
    return;
  int64_t ranks = 1;
  std::vector<std::string> names;
  for (unsigned axis : over.axes) {
    ranks *= plan.mesh[axis].size;
    names.push_back(plan.mesh[axis].name);
  }
  std::string text = llvm::join(names, ", ");
  if (names.size() > 1)
    text = "(" + text + ")";
  int64_t bytes = part("total");
  for (auto [level, name] :
       {std::pair(1, "states"), std::pair(2, "gradients"), std::pair(3, "weights")}) {
    bytes -= part(name) - part(name) / ranks;
    if (llvm::any_of(plan.zeros, [&, least = level](const sema::ZeroRule &rule) {
          return rule.level >= least;
        }))
      continue;
    sema::PlanSpec variant = plan;
    variant.zeros = {{level, over, {}, {}}};
    add("zero " + std::to_string(level) + ", over: " + text, variant, remat, bytes);
  }
}

/// Activations take half, and weights a second copy.
void Collector::addPrecision() {
  if (!plan.precisions.empty())
    return;
  sema::PlanSpec variant = plan;
  variant.precisions = {{sema::Precision::BF16, {}, {}}};
  add("precision bf16", variant, remat, part("total") - part("micro") / 2 + part("weights") / 2);
}

std::vector<Saving> Collector::run() {
  addRemat();
  addMicrobatches();
  addZero();
  addPrecision();
  return std::move(savings);
}

std::vector<Saving> ptlc::savingsOf(const Variants &variants, const sema::PlanSpec &plan,
                                    ModuleOp current) {
  if (!current->hasAttr("rt.memory"))
    return {};
  return Collector(variants, plan, current).run();
}

std::optional<Saving> ptlc::fitTogether(const Variants &variants, const sema::PlanSpec &plan,
                                        double limit) {
  sema::PlanSpec variant = withRemat(plan, sema::Remat::Full);
  int64_t batch = variants.getProgram().size(sema::kBatchDim);
  for (variant.microbatches *= 2; variant.microbatches <= batch; variant.microbatches *= 2) {
    std::optional<int64_t> bytes = variants.arenaBytes(variant);
    if (bytes && static_cast<double>(*bytes) <= limit)
      return Saving{"remat full' with 'microbatches " + std::to_string(variant.microbatches),
                    *bytes, false};
  }
  return std::nullopt;
}

llvm::json::Array ptlc::savingsJson(ArrayRef<Saving> savings, int64_t now) {
  llvm::json::Array list;
  for (const Saving &saving : savings)
    list.push_back(llvm::json::Object{{"directive", saving.directive},
                                      {"arena", saving.bytes},
                                      {"saves", now - saving.bytes},
                                      {"estimate", saving.isEstimate}});
  return list;
}

void ptlc::printSavings(ArrayRef<Saving> savings, int64_t now, llvm::raw_ostream &os) {
  if (savings.empty())
    return;
  os << "what one more directive would save\n";
  for (const Saving &saving : savings) {
    int64_t saved = now - saving.bytes;
    std::string bytes = (saved < 0 ? "-" : "") + bytesText(static_cast<double>(std::abs(saved)));
    os << llvm::formatv("  {0,-24} {1,12}   {2}arena {3}\n", saving.directive, bytes,
                        saving.isEstimate ? "by formula, " : "",
                        bytesText(static_cast<double>(saving.bytes)));
  }
}
