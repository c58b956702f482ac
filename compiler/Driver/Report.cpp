//===- Report.cpp - What a compiled program will use ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The report is a reading of the metadata that goes into the executable, so it
// can't say anything that the run doesn't do; only FLOPs are counted here, over
// the operations of @step.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Report.h"

#include "compiler/Codegen/Target.h"
#include "compiler/Driver/MemoryReport.h"
#include "compiler/Driver/StageCosts.h"
#include "compiler/Support/Programs.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <set>

using namespace ptlc;
using namespace mlir;
namespace json = llvm::json;

int64_t ptlc::flopsOf(Region &region) {
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

std::string ptlc::bytesText(double bytes) {
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

static int64_t elementsOf(const json::Object &layout) {
  return integer(layout, "rows") * integer(layout, "cols");
}

namespace {
/// Sums over the weights, in elements and bytes per rank.
struct StateTotals {
  int64_t parameters = 0, trained = 0, weights = 0, copies = 0, gradients = 0, states = 0;
  int64_t local = 0; ///< elements of the rank's shards
};
} // namespace

namespace {
/// Bytes of tensors on a rank.
class Storage {
public:
  void add(const json::Object *layout) {
    if (!layout)
      return;
    if (!layout->getBoolean("packed").value_or(false))
      bytes += (text(*layout, "type") == "bf16" ? 2 : 4) * elementsOf(*layout);
    else if (buckets.insert(integer(*layout, "bucket")).second)
      bytes += integer(*layout, "part");
  }
  int64_t bytes = 0;

private:
  std::set<int64_t> buckets; ///< of which the rank has a part, by offset
};
} // namespace

static StateTotals totalsOf(const json::Object &program) {
  StateTotals totals;
  const json::Array *weights = program.getArray("weights");
  if (!weights)
    return totals;
  Storage stored, copies, gradients, states;
  for (const json::Value &entry : *weights) {
    const json::Object &weight = *entry.getAsObject();
    int64_t elements = 1;
    for (const json::Value &size : *weight.getArray("shape"))
      elements *= *size.getAsInteger();
    totals.parameters += elements;
    if (!weight.getBoolean("frozen").value_or(false))
      totals.trained += elements;
    totals.local += elementsOf(*weight.getObject("layout"));
    stored.add(weight.getObject("layout"));
    copies.add(weight.getObject("copy"));
    gradients.add(weight.getObject("grad"));
    if (const json::Array *list = weight.getArray("states"))
      for (const json::Value &state : *list)
        states.add(state.getAsObject()->getObject("layout"));
  }
  totals.weights = stored.bytes;
  totals.copies = copies.bytes;
  totals.gradients = gradients.bytes;
  totals.states = states.bytes;
  return totals;
}

std::string Collective::axesText() const { return llvm::join(axes, ", "); }

static Collective readCollective(const json::Object &object) {
  Collective collective;
  collective.kind = text(object, "kind");
  if (const json::Array *axes = object.getArray("axes"))
    for (const json::Value &axis : *axes)
      collective.axes.push_back(axis.getAsString()->str());
  collective.bytes = object.getNumber("bytes").value_or(0);
  collective.times = integer(object, "times");
  collective.line = text(object, "line");
  collective.reason = text(object, "reason");
  collective.insteadOf = text(object, "instead_of");
  if (const json::Array *members = object.getArray("members"))
    for (const json::Value &entry : *members) {
      Collective member = readCollective(*entry.getAsObject());
      member.kind = collective.kind;
      member.axes = collective.axes;
      member.times = collective.times;
      collective.members.push_back(std::move(member));
    }
  return collective;
}

/// Adds what a rank of a pipeline receives from other stages: the ledger of the run has the same
/// entries.
static void readMessages(const json::Object &program, std::vector<Collective> &list) {
  const json::Object *pipeline = program.getObject("pipeline");
  if (!pipeline)
    return;
  auto add = [&](const json::Object &entry, int64_t times) -> Collective & {
    Collective &message = list.emplace_back();
    message.kind = "message";
    message.axes = {text(*pipeline, "axis").str()};
    message.bytes = static_cast<double>(integer(entry, "bytes"));
    message.times = times;
    message.line = text(entry, "line");
    return message;
  };
  for (const json::Value &value : *pipeline->getArray("messages")) {
    const json::Object &entry = *value.getAsObject();
    if (!text(entry, "op").starts_with("recv"))
      continue;
    Collective &message = add(entry, integer(program, "microbatches"));
    message.isGradient = text(entry, "op") == "recv_g";
    message.edge = static_cast<int>(integer(entry, "edge"));
    message.reason = (message.isGradient ? "gradients of edge " : "values of edge ") +
                     std::to_string(message.edge);
  }
  for (const json::Value &value : *pipeline->getArray("exchanges")) {
    const json::Object &entry = *value.getAsObject();
    if (entry.getArray("receive")->empty())
      continue;
    Collective &message = add(entry, integer(entry, "times"));
    message.peer = static_cast<int>(integer(entry, "peer"));
    message.reason = text(entry, "reason");
  }
}

static std::vector<Collective> readCollectives(const json::Object &program) {
  std::vector<Collective> list;
  if (const json::Array *entries = program.getArray("collectives"))
    for (const json::Value &entry : *entries)
      list.push_back(readCollective(*entry.getAsObject()));
  readMessages(program, list);
  return list;
}

/// Returns the metadata of `module`, empty where it isn't at stage `memory`.
static json::Object metadataOf(ModuleOp module) {
  llvm::Expected<json::Value> parsed = json::parse(codegen::emitMetadata(module));
  if (parsed)
    return std::move(*parsed->getAsObject());
  llvm::consumeError(parsed.takeError());
  return {};
}

std::vector<Collective> ptlc::collectivesOf(ModuleOp module) {
  std::vector<Collective> list = readCollectives(metadataOf(module));
  llvm::erase_if(list, [](const Collective &collective) { return collective.times == 0; });
  return list;
}

std::vector<std::vector<Collective>> ptlc::trafficOf(ModuleOp module) {
  std::optional<schedule::Table> table = tableOf(module);
  std::vector<std::vector<Collective>> ranks;
  for (ModuleOp program : rankPrograms(module)) {
    std::vector<Collective> &list = ranks.emplace_back(collectivesOf(program));
    for (Collective &message : list)
      if (table && message.edge >= 0) {
        const schedule::Edge &edge = table->edges[message.edge];
        message.peer = table->place[message.isGradient ? edge.target : edge.source];
      }
  }
  return ranks;
}

double ptlc::arenaBytesOf(ModuleOp module) {
  double largest = 0;
  for (ModuleOp part : rankPrograms(module)) {
    json::Object program = metadataOf(part);
    if (const json::Object *arena = program.getObject("arena"))
      largest = std::max(largest, static_cast<double>(integer(*arena, "bytes")));
  }
  return largest;
}

/// Prints one collective with the bytes of `times` calls, and below it what travels in it.
static double printCollective(const Collective &collective, double times, llvm::raw_ostream &os) {
  os << llvm::formatv("  {0,-14} over {1,-8} {2,12}   {3}  {4}\n", collective.kind,
                      collective.axesText(), bytesText(collective.bytes * times), collective.line,
                      collective.reason);
  for (const Collective &member : collective.members)
    os << llvm::formatv("  {0,-14}      {1,-8} {2,12}   {3}  {4}\n", "", "",
                        bytesText(member.bytes * times), member.line, member.reason);
  return collective.bytes * times;
}

static void printCollectives(const json::Object &program, llvm::raw_ostream &os) {
  std::vector<Collective> collectives = readCollectives(program);
  if (collectives.empty()) {
    os << "communication    none\n";
    return;
  }
  double total = 0;
  bool others = false;
  os << "communication per rank and step\n";
  for (const Collective &collective : collectives) {
    others |= collective.times == 0;
    if (collective.times)
      total += printCollective(collective, static_cast<double>(collective.times), os);
  }
  os << llvm::formatv("  {0,-14}      {1,-8} {2,12}\n", "total", "", bytesText(total));
  if (others)
    os << "communication per rank and evaluation, batch of it, or sampled token\n";
  for (const Collective &collective : collectives)
    if (!collective.times)
      printCollective(collective, 1, os);
}

/// Prints which parts are computed again, those with equal costs in one line.
static void printRecomputed(ModuleOp module, llvm::raw_ostream &os) {
  auto list = module->getAttrOfType<ArrayAttr>("rt.recomputed");
  if (!list || list.empty())
    return;
  llvm::MapVector<int64_t, std::vector<llvm::StringRef>> parts;
  for (auto entry : list.getAsRange<DictionaryAttr>())
    parts[entry.getAs<IntegerAttr>("flops").getInt()].push_back(
        entry.getAs<StringAttr>("part").getValue());
  os << "computed again for the backward, per micro-batch\n";
  for (auto &[flops, names] : parts)
    os << llvm::formatv("  {0:e2} FLOPs each of {1}\n", static_cast<double>(flops),
                        llvm::join(llvm::reverse(names), ", "));
}

/// Returns the sizes of buckets that hold parts of weights, one for each set of axes.
static json::Array bucketsOf(ModuleOp module) {
  json::Array buckets;
  if (auto list = module->getAttrOfType<ArrayAttr>("ptl.buckets"))
    for (auto entry : list.getAsRange<DictionaryAttr>()) {
      json::Array axes;
      for (StringAttr axis : entry.getAs<spmd::AxesAttr>("axes").getNames())
        axes.push_back(axis.getValue().str());
      buckets.push_back(
          json::Object{{"axes", std::move(axes)},
                       {"bytes", entry.getAs<IntegerAttr>("bytes").getInt()},
                       {"reason", entry.getAs<StringAttr>("reason").getValue().str()}});
    }
  return buckets;
}

void ptlc::printBuckets(ModuleOp module, llvm::raw_ostream &os) {
  for (const json::Value &value : bucketsOf(module)) {
    const json::Object &bucket = *value.getAsObject();
    std::vector<llvm::StringRef> axes;
    for (const json::Value &axis : *bucket.getArray("axes"))
      axes.push_back(*axis.getAsString());
    os << llvm::formatv("buckets          {0} over {1}: {2}\n", bytesText(integer(bucket, "bytes")),
                        llvm::join(axes, ", "), text(bucket, "reason"));
  }
}

static void printText(ModuleOp module, const json::Object &program, llvm::ArrayRef<Saving> savings,
                      int64_t flops, llvm::raw_ostream &os) {
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
  if (totals.copies)
    os << llvm::formatv("  in bf16, too   {0,12}\n", bytesText(totals.copies));
  os << llvm::formatv("  gradients      {0,12}\n", bytesText(totals.gradients));
  os << llvm::formatv("  optimizer      {0,12}\n", bytesText(totals.states));
  if (totals.copies)
    os << llvm::formatv(
        "  a parameter    {0,12:f1} B\n",
        static_cast<double>(totals.weights + totals.copies + totals.gradients + totals.states) /
            static_cast<double>(totals.local));
  if (arena) {
    os << llvm::formatv("  activations    {0,12}\n",
                        bytesText(integer(*arena, "slots") + integer(*arena, "micro") +
                                  integer(*arena, "scratch")));
    os << llvm::formatv("  arena, peak    {0,12}\n", bytesText(integer(*arena, "bytes")));
  }
  if (const json::Object *peak = program.getObject("peak"))
    printMemoryPeak(*peak, os);
  if (arena)
    printSavings(savings, integer(*arena, "bytes"), os);
  printRecomputed(module, os);
  printBuckets(module, os);
  os << llvm::formatv("FLOPs per step   {0:e2} per rank\n", static_cast<double>(flops));
  printCollectives(program, os);
}

/// The report of a program as an object: the metadata, FLOPs and the activations' peak.
static json::Object reportOf(ModuleOp module) {
  int64_t flops = 0;
  if (auto step = module.lookupSymbol<func::FuncOp>("step"))
    flops = flopsOf(step.getBody());
  json::Object program = metadataOf(module);
  if (!program.empty()) {
    program["peak"] = memoryPeak(module);
    if (json::Array buckets = bucketsOf(module); !buckets.empty())
      program["buckets"] = std::move(buckets);
  }
  program["flops"] = flops;
  return program;
}

/// Each stage's rank, layers, and slots for what its forwards keep for their backwards.
static json::Array stagesOf(ModuleOp module, const CompiledPipeline &pipeline) {
  json::Array stages;
  auto lists = module->getAttrOfType<ArrayAttr>(kStageLayers);
  for (auto [stage, list] : llvm::enumerate(lists.getAsRange<ArrayAttr>())) {
    json::Array layers;
    for (auto path : list.getAsRange<StringAttr>())
      layers.push_back(path.getValue().str());
    int rank = pipeline.table.place[stage];
    int slots = pipeline.table.tables[rank].slots[static_cast<int>(schedule::SlotKind::S)];
    stages.push_back(json::Object{{"rank", rank}, {"layers", std::move(layers)}, {"kept", slots}});
  }
  return stages;
}

static void printStages(ModuleOp module, const CompiledPipeline &pipeline, llvm::raw_ostream &os) {
  os << "stages, and micro-batches that their ranks keep for the backward\n";
  for (auto [number, value] : llvm::enumerate(stagesOf(module, pipeline))) {
    const json::Object &stage = *value.getAsObject();
    std::vector<llvm::StringRef> layers;
    for (const json::Value &layer : *stage.getArray("layers"))
      layers.push_back(*layer.getAsString());
    os << llvm::formatv("  {0,-3} on rank {1,-3} {2,3}   {3}\n", number, integer(stage, "rank"),
                        integer(stage, "kept"), llvm::join(layers, ", "));
  }
  os << llvm::formatv(
      "bubble           {0:f1} % of a step, if stages take as long as their FLOPs\n",
      100 * bubbleOf(pipeline));
}

static void printLinks(const json::Object &links, llvm::raw_ostream &os) {
  auto bytes = [&](llvm::StringRef key) { return bytesText(links.getNumber(key).value_or(0)); };
  os << llvm::formatv(
      "links            {0} inside nodes, {1} between them, of all ranks and a step "
      "({2})\n",
      bytes("inside"), bytes("between"), text(links, "order"));
}

void ptlc::printReport(ModuleOp module, llvm::ArrayRef<Saving> savings, json::Object links,
                       bool asJson, llvm::raw_ostream &os) {
  json::Array all;
  for (ModuleOp part : rankPrograms(module)) {
    json::Object program = reportOf(part);
    int64_t flops = integer(program, "flops");
    if (const json::Object *arena = program.getObject("arena"))
      program["savings"] = savingsJson(savings, integer(*arena, "bytes"));
    if (auto rank = part->getAttrOfType<IntegerAttr>(kPipeRank); rank && !asJson)
      os << llvm::formatv("rank {0} of the pipeline\n", rank.getInt());
    if (program.size() == 1)
      os << llvm::formatv("FLOPs per step   {0:e2} per rank\n", static_cast<double>(flops));
    else if (!asJson)
      printText(part, program, savings, flops, os);
    else
      all.push_back(std::move(program));
  }
  std::optional<CompiledPipeline> pipeline = compiledPipelineOf(module);
  json::Object whole;
  if (pipeline && asJson)
    whole = json::Object{{"ranks", std::move(all)},
                         {"stages", stagesOf(module, *pipeline)},
                         {"bubble", bubbleOf(*pipeline)}};
  else if (!all.empty())
    whole = std::move(*all.front().getAsObject());
  if (pipeline && !asJson)
    printStages(module, *pipeline, os);
  if (!links.empty() && !asJson)
    printLinks(links, os);
  if (whole.empty())
    return;
  if (!links.empty())
    whole["links"] = std::move(links);
  os << llvm::formatv("{0:2}\n", json::Value(std::move(whole)));
}
