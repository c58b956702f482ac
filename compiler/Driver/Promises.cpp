//===- Promises.cpp - What a plan asserts ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Promises.h"

#include "compiler/Driver/Messages.h"
#include "compiler/Driver/Report.h"
#include "compiler/Driver/Savings.h"
#include "compiler/Driver/StageCosts.h"
#include "compiler/Support/Stages.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ptlc;
using namespace mlir;

static constexpr size_t kContributors = 3; ///< that an error lists

static bool holds(StringRef sign, double found, double promised) {
  if (sign == "<=")
    return found <= promised;
  if (sign == "<")
    return found < promised;
  return sign == ">=" ? found >= promised : found > promised;
}

static Location placeOf(DictionaryAttr promise) {
  return placeAt(promise.getContext(), promise.getAs<StringAttr>("line").getValue());
}

/// Starts the error for a promise that doesn't hold.
static InFlightDiagnostic report(DictionaryAttr promise, const Twine &what, double found) {
  return emitError(placeOf(promise))
         << "'assert " << what << " " << promise.getAs<StringAttr>("sign").getValue() << " "
         << bytesText(promise.getAs<FloatAttr>("value").getValueAsDouble())
         << "' does not hold: it is " << bytesText(found);
}

static bool isKept(DictionaryAttr promise, double found) {
  return holds(promise.getAs<StringAttr>("sign").getValue(), found,
               promise.getAs<FloatAttr>("value").getValueAsDouble());
}

static LogicalResult checkTraffic(DictionaryAttr promise, std::vector<Collective> list) {
  auto axis = promise.getAs<StringAttr>("axis");
  if (axis)
    llvm::erase_if(list, [&](const Collective &collective) {
      return !llvm::is_contained(collective.axes, axis.getValue());
    });
  double total = 0;
  for (const Collective &collective : list)
    total += collective.stepBytes();
  if (isKept(promise, total))
    return success();
  std::vector<Collective> parts;
  for (const Collective &collective : list)
    if (collective.members.empty())
      parts.push_back(collective);
    else
      llvm::append_range(parts, collective.members);
  llvm::stable_sort(parts, [](const Collective &a, const Collective &b) {
    return a.stepBytes() > b.stepBytes();
  });
  std::string what = axis ? "traffic(" + axis.str() + ")" : "traffic";
  InFlightDiagnostic error = report(promise, what, total) << " per rank and step";
  for (size_t i = 0; i < std::min(kContributors, parts.size()); i++)
    error.attachNote(placeAt(promise.getContext(), parts[i].line))
        << bytesText(parts[i].stepBytes()) << " by " << parts[i].kind << ": " << parts[i].reason;
  return failure();
}

/// Directives with which the promise would hold, alone or, if none does, together.
static std::vector<Saving> adviceFor(DictionaryAttr promise, ModuleOp module,
                                     const Variants &variants, const sema::PlanSpec &plan) {
  if (promise.getAs<StringAttr>("sign").getValue().starts_with(">"))
    return {};
  std::vector<Saving> savings = savingsOf(variants, plan, module);
  llvm::erase_if(savings, [&](const Saving &saving) {
    return !isKept(promise, static_cast<double>(saving.bytes));
  });
  if (savings.empty())
    if (std::optional<Saving> both =
            fitTogether(variants, plan, promise.getAs<FloatAttr>("value").getValueAsDouble() - 1))
      savings.push_back(*both);
  return savings;
}

static LogicalResult checkMemory(DictionaryAttr promise, double bytes, ModuleOp module,
                                 const Variants &variants, const sema::PlanSpec &plan) {
  if (isKept(promise, bytes))
    return success();
  std::vector<Saving> advice = adviceFor(promise, module, variants, plan);
  InFlightDiagnostic error = report(promise, "memory", bytes) << " per rank at its peak";
  for (const Saving &saving : advice)
    error.attachNote() << "'" << saving.directive << "' would make it hold"
                       << (saving.isEstimate ? ", by formula: " : ": ")
                       << bytesText(static_cast<double>(saving.bytes));
  if (advice.empty())
    error.attachNote() << "neither recomputation, micro-batches, ZeRO nor bf16 would make it hold";
  return failure();
}

/// Without stages nobody waits for another.
static LogicalResult checkBubble(DictionaryAttr promise, ModuleOp module) {
  std::optional<CompiledPipeline> pipeline = compiledPipelineOf(module);
  double bubble = pipeline ? bubbleOf(*pipeline) : 0;
  if (isKept(promise, bubble))
    return success();
  std::string value, found = "without a pipeline it is 0";
  llvm::raw_string_ostream(value) << llvm::format(
      "%g", promise.getAs<FloatAttr>("value").getValueAsDouble());
  if (pipeline)
    found =
        llvm::formatv("ranks wait {0:f3} of a step, if stages take as long as their FLOPs; more "
                      "micro-batches, 'interleaved(2)' or 'zb_v' make it less",
                      bubble)
            .str();
  return emitError(placeOf(promise))
         << "'assert bubble " << promise.getAs<StringAttr>("sign").getValue() << " " << value
         << "' does not hold: " << found;
}

LogicalResult ptlc::checkPromises(ModuleOp module, const Variants &variants,
                                  const sema::PlanSpec &plan) {
  auto attributes = module->getAttrOfType<DictionaryAttr>("ptl.plan");
  auto promises = attributes ? attributes.getAs<ArrayAttr>("promises") : ArrayAttr();
  if (!promises || promises.empty())
    return success();
  auto programs = rankPrograms(module);
  double bytes = arenaBytesOf(module);
  LogicalResult result = success();
  for (auto promise : promises.getAsRange<DictionaryAttr>()) {
    StringRef what = promise.getAs<StringAttr>("what").getValue();
    LogicalResult kept = success();
    if (what == "memory")
      kept = checkMemory(promise, bytes, module, variants, plan);
    else if (what == "traffic")
      for (ModuleOp program : programs)
        kept = failed(kept) ? kept : checkTraffic(promise, collectivesOf(program));
    else
      kept = checkBubble(promise, module);
    if (failed(kept))
      result = failure();
  }
  return result;
}
