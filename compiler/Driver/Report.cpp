//===- Report.cpp - What a compiled program will use ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The report is a reading of the metadata that goes into the executable, so it
// can't say anything that the run doesn't do; only FLOPs are counted here, over
// the operations of @step.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Report.h"

#include "compiler/Codegen/Target.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Rt/Rt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace ptlc;
using namespace mlir;
namespace json = llvm::json;

/// Returns the FLOPs of one execution of `region`; bodies of micro-batches count for each piece.
static int64_t flopsOf(Region &region) {
  int64_t total = 0;
  for (Block &block : region)
    for (Operation &op : block) {
      int64_t inner = 0;
      for (Region &nested : op.getRegions())
        inner += flopsOf(nested);
      if (auto accumulate = dyn_cast<ptl::AccumulateOp>(op))
        inner *= accumulate.getPieces();
      if (auto chunks = dyn_cast<rt::ChunksOp>(op))
        inner *= chunks.getPieces();
      if (auto cost = dyn_cast<CostInterface>(op))
        inner += cost.getFlops();
      total += inner;
    }
  return total;
}

/// Writes 1234567 bytes as "1.23 MB".
static std::string bytesText(double bytes) {
  static constexpr const char *kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  unsigned unit = 0;
  for (; bytes >= 1000 && unit < 4; unit++)
    bytes /= 1000;
  return unit == 0 ? llvm::formatv("{0:f0} B", bytes).str()
                   : llvm::formatv("{0:f2} {1}", bytes, kUnits[unit]).str();
}

static int64_t integer(const json::Object &object, llvm::StringRef key) {
  return object.getInteger(key).value_or(0);
}

static llvm::StringRef text(const json::Object &object, llvm::StringRef key) {
  return object.getString(key).value_or("");
}

namespace {
/// Sums over the weights, in elements and bytes per rank.
struct StateTotals {
  int64_t parameters = 0, trained = 0, weights = 0, gradients = 0, states = 0;
};
} // namespace

static int64_t layoutBytes(const json::Object *layout) {
  return layout ? 4 * integer(*layout, "rows") * integer(*layout, "cols") : 0;
}

static StateTotals totalsOf(const json::Object &program) {
  StateTotals totals;
  const json::Array *weights = program.getArray("weights");
  if (!weights)
    return totals;
  for (const json::Value &entry : *weights) {
    const json::Object &weight = *entry.getAsObject();
    int64_t elements = 1;
    for (const json::Value &size : *weight.getArray("shape"))
      elements *= *size.getAsInteger();
    totals.parameters += elements;
    if (!weight.getBoolean("frozen").value_or(false))
      totals.trained += elements;
    totals.weights += layoutBytes(weight.getObject("layout"));
    totals.gradients += layoutBytes(weight.getObject("grad"));
    if (const json::Array *states = weight.getArray("states"))
      for (const json::Value &state : *states)
        totals.states += layoutBytes(state.getAsObject()->getObject("layout"));
  }
  return totals;
}

/// Bytes may be a fraction: an element that ranks share out counts for each in the mean.
static double number(const json::Object &object, llvm::StringRef key) {
  return object.getNumber(key).value_or(0);
}

/// Prints one collective with the bytes of `times` calls, and below it what travels in it.
static double printCollective(const json::Object &collective, double times, llvm::raw_ostream &os) {
  double bytes = number(collective, "bytes") * times;
  std::string axes;
  for (const json::Value &axis : *collective.getArray("axes"))
    axes += (axes.empty() ? "" : ", ") + axis.getAsString()->str();
  os << llvm::formatv("  {0,-14} over {1,-8} {2,12}   {3}  {4}\n", text(collective, "kind"), axes,
                      bytesText(bytes), text(collective, "line"), text(collective, "reason"));
  if (const json::Array *members = collective.getArray("members"))
    for (const json::Value &entry : *members) {
      const json::Object &member = *entry.getAsObject();
      os << llvm::formatv("  {0,-14}      {1,-8} {2,12}   {3}  {4}\n", "", "",
                          bytesText(number(member, "bytes") * times), text(member, "line"),
                          text(member, "reason"));
    }
  return bytes;
}

static void printCollectives(const json::Object &program, llvm::raw_ostream &os) {
  const json::Array *collectives = program.getArray("collectives");
  if (!collectives || collectives->empty()) {
    os << "communication    none\n";
    return;
  }
  double total = 0;
  bool others = false;
  os << "communication per rank and step\n";
  for (const json::Value &entry : *collectives) {
    int64_t times = integer(*entry.getAsObject(), "times");
    others |= times == 0;
    if (times)
      total += printCollective(*entry.getAsObject(), double(times), os);
  }
  os << llvm::formatv("  {0,-14}      {1,-8} {2,12}\n", "total", "", bytesText(total));
  if (others)
    os << "communication per rank and evaluation, batch of it, or sampled token\n";
  for (const json::Value &entry : *collectives)
    if (!integer(*entry.getAsObject(), "times"))
      printCollective(*entry.getAsObject(), 1, os);
}

static void printText(const json::Object &program, int64_t flops, llvm::raw_ostream &os) {
  std::string mesh;
  if (const json::Array *axes = program.getArray("mesh"))
    for (const json::Value &axis : *axes)
      mesh += (mesh.empty() ? "" : ", ") + text(*axis.getAsObject(), "name").str() + " = " +
              std::to_string(integer(*axis.getAsObject(), "size"));
  StateTotals totals = totalsOf(program);
  const json::Object *arena = program.getObject("arena");
  os << llvm::formatv("model            {0} ({1})\n", text(program, "model"),
                      text(program, "source"));
  os << llvm::formatv("mesh             {0}\n", mesh.empty() ? "one device" : mesh);
  os << llvm::formatv("parameters       {0} ({1} trained)\n", totals.parameters, totals.trained);
  os << "memory per rank\n";
  os << llvm::formatv("  weights        {0,12}\n", bytesText(totals.weights));
  os << llvm::formatv("  gradients      {0,12}\n", bytesText(totals.gradients));
  os << llvm::formatv("  optimizer      {0,12}\n", bytesText(totals.states));
  if (arena) {
    os << llvm::formatv("  activations    {0,12}\n",
                        bytesText(integer(*arena, "micro") + integer(*arena, "scratch")));
    os << llvm::formatv("  arena, peak    {0,12}\n", bytesText(integer(*arena, "bytes")));
  }
  os << llvm::formatv("FLOPs per step   {0:e2} per rank\n", static_cast<double>(flops));
  printCollectives(program, os);
}

void ptlc::printReport(ModuleOp module, bool asJson, llvm::raw_ostream &os) {
  int64_t flops = 0;
  if (auto step = module.lookupSymbol<func::FuncOp>("step"))
    flops = flopsOf(step.getBody());
  llvm::Expected<json::Value> parsed = json::parse(codegen::emitMetadata(module));
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    os << llvm::formatv("FLOPs per step   {0:e2} per rank\n", static_cast<double>(flops));
    return;
  }
  json::Object &program = *parsed->getAsObject();
  program["flops"] = flops;
  if (asJson)
    os << llvm::formatv("{0:2}\n", *parsed);
  else
    printText(program, flops, os);
}
