//===- SimulateCosts.cpp - Costs of a pipeline from files -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/SimulateCosts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace ptlc;
using schedule::Op;

static std::optional<llvm::json::Value> readJson(llvm::StringRef path, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    error = "can't read '" + path.str() + "': " + buffer.getError().message();
    return std::nullopt;
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse((*buffer)->getBuffer());
  if (value)
    return std::move(*value);
  error = path.str() + ": " + llvm::toString(value.takeError());
  return std::nullopt;
}

namespace {
/// Reads fields of one object; the first mistake is kept.
class Fields {
public:
  explicit Fields(const llvm::json::Object &object) : object(object) {}

  void number(llvm::StringRef key, double &result) {
    if (const llvm::json::Value *value = find(key))
      if (std::optional<double> read = readNumber(*value, key))
        result = *read;
  }

  /// A number, or one per stage.
  void list(llvm::StringRef key, std::vector<double> &result) {
    const llvm::json::Value *value = find(key);
    if (!value)
      return;
    result.clear();
    if (const llvm::json::Array *array = value->getAsArray())
      for (const llvm::json::Value &element : *array)
        result.push_back(readNumber(element, key).value_or(0));
    else
      result.push_back(readNumber(*value, key).value_or(0));
    if (result.empty())
      fail("'" + key + "' is an empty list");
  }

  template <typename Integer> void integer(llvm::StringRef key, Integer &result) {
    double value = static_cast<double>(result);
    number(key, value);
    if (value != std::floor(value) || value > 1e15)
      fail("'" + key + "' takes a whole number");
    else
      result = static_cast<Integer>(value);
  }

  void boolean(llvm::StringRef key, bool &result) {
    const llvm::json::Value *value = find(key);
    if (value && !value->getAsBoolean())
      fail("'" + key + "' takes true or false");
    else if (value)
      result = *value->getAsBoolean();
  }

  const llvm::json::Value *find(llvm::StringRef key) {
    known.push_back(key);
    return object.get(key);
  }

  void fail(const llvm::Twine &message) {
    if (mistake.empty())
      mistake = message.str();
  }

  /// Reports a field that nobody has asked for. Returns the first mistake.
  std::string finish() {
    for (const auto &[key, value] : object)
      if (!llvm::is_contained(known, llvm::StringRef(key)))
        fail("there is no field '" + llvm::StringRef(key) + "'; the fields are " +
             llvm::join(known, ", "));
    return mistake;
  }

private:
  std::optional<double> readNumber(const llvm::json::Value &value, llvm::StringRef key) {
    std::optional<double> number = value.getAsNumber();
    if (!number || !(*number >= 0))
      fail("'" + key + "' takes numbers of at least 0");
    return number;
  }

  const llvm::json::Object &object;
  std::vector<llvm::StringRef> known;
  std::string mistake;
};
} // namespace

static void readEdges(Fields &fields, PipelineCosts &costs) {
  const llvm::json::Value *value = fields.find("edges");
  if (!value)
    return;
  const llvm::json::Array *array = value->getAsArray();
  if (!array)
    return fields.fail("'edges' takes a list of {\"from\", \"to\", \"bytes\", \"gradient\"}");
  for (const llvm::json::Value &element : *array) {
    const llvm::json::Object *object = element.getAsObject();
    if (!object)
      return fields.fail("'edges' takes a list of {\"from\", \"to\", \"bytes\", \"gradient\"}");
    schedule::Edge &edge = costs.edges.emplace_back();
    Fields own(*object);
    own.integer("from", edge.source);
    own.integer("to", edge.target);
    own.integer("bytes", edge.bytes);
    own.boolean("gradient", edge.gradient);
    if (std::string mistake = own.finish(); !mistake.empty())
      fields.fail(mistake);
  }
}

static void readSlots(Fields &fields, PipelineCosts &costs) {
  const llvm::json::Value *value = fields.find("slots");
  if (!value)
    return;
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return fields.fail("'slots' takes bytes by kind: {\"S\": 4096}");
  Fields own(*object);
  for (llvm::StringRef kind : {"X", "S", "Y", "G", "D", "C"}) {
    std::vector<double> bytes;
    own.list(kind, bytes);
    if (!bytes.empty())
      costs.slotBytes[kind[0]] = bytes;
  }
  if (std::string mistake = own.finish(); !mistake.empty())
    fields.fail(mistake);
}

static void readOverlap(Fields &fields, schedule::Costs &seconds) {
  const llvm::json::Value *value = fields.find("overlap");
  if (!value)
    return;
  llvm::StringRef word = value->getAsString().value_or("");
  if (word == "channel")
    seconds.overlap = schedule::Overlap::Channel;
  else if (word == "rank")
    seconds.overlap = schedule::Overlap::Rank;
  else if (word == "off")
    seconds.overlap = schedule::Overlap::Off;
  else
    fields.fail("'overlap' takes \"channel\", \"rank\" or \"off\"");
}

bool ptlc::readCosts(llvm::StringRef path, PipelineCosts &costs, std::string &error) {
  std::optional<llvm::json::Value> value = readJson(path, error);
  if (!value)
    return false;
  const llvm::json::Object *object = value->getAsObject();
  if (!object) {
    error = path.str() + ": expected an object with costs, such as {\"forward\": 0.01}";
    return false;
  }
  Fields fields(*object);
  schedule::Costs &seconds = costs.seconds;
  fields.list("forward", seconds.forward);
  fields.list("backward", seconds.backward);
  fields.list("weight", seconds.weight);
  fields.list("both", seconds.both);
  fields.list("loss", seconds.loss);
  fields.list("update", seconds.update);
  fields.list("gather", seconds.gather);
  fields.list("reduce", seconds.reduce);
  fields.number("tie", seconds.tie);
  fields.number("norm", seconds.norm);
  fields.number("latency", seconds.link.latency);
  fields.number("bandwidth", seconds.link.bandwidth);
  fields.boolean("shared_wire", seconds.sharedWire);
  readOverlap(fields, seconds);
  fields.integer("bytes", costs.messageBytes);
  readEdges(fields, costs);
  readSlots(fields, costs);
  fields.integer("copies", costs.copies);
  fields.boolean("clip", costs.clip);
  std::vector<double> tied;
  fields.list("tied", tied);
  costs.tied.assign(tied.begin(), tied.end());
  std::string mistake = fields.finish();
  if (!mistake.empty())
    error = path.str() + ": " + mistake;
  return mistake.empty();
}

/// `BW s1 m0`: the op and its stage.
static std::optional<std::pair<Op, int>> parseEvent(llvm::StringRef name) {
  auto [word, rest] = name.split(' ');
  int stage = 0;
  if (!rest.consume_front("s") || rest.split(' ').first.getAsInteger(10, stage) || stage < 0)
    return std::nullopt;
  for (unsigned op = 1; op < schedule::kOps; ++op)
    if (word == llvm::StringRef(schedule::name(static_cast<Op>(op))))
      return std::pair(static_cast<Op>(op), stage);
  return std::nullopt;
}

static double medianOf(std::vector<double> &values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

namespace {
/// One computation of a trace.
struct Event {
  Op op;
  int stage;
  double start, seconds;
};
} // namespace

/// Computations of each thread in order of time.
static std::map<int64_t, std::vector<Event>> readEvents(const llvm::json::Array &events) {
  std::map<int64_t, std::vector<Event>> threads;
  for (const llvm::json::Value &element : events) {
    const llvm::json::Object *event = element.getAsObject();
    std::optional<double> duration = event ? event->getNumber("dur") : std::nullopt;
    std::optional<llvm::StringRef> name = event ? event->getString("name") : std::nullopt;
    if (!duration || !name)
      continue;
    std::optional<std::pair<Op, int>> what = parseEvent(*name);
    if (what && schedule::isCompute(what->first))
      threads[event->getInteger("tid").value_or(0)].push_back(
          {what->first, what->second, event->getNumber("ts").value_or(0) * 1e-6, *duration * 1e-6});
  }
  for (auto &[thread, list] : threads)
    llvm::stable_sort(list, [](const Event &a, const Event &b) { return a.start < b.start; });
  return threads;
}

/// How many computations of a step the ranks with this stage have.
static size_t countOf(const schedule::Table &table, int stage) {
  return llvm::count_if(table.tables[table.place[stage]].instructions,
                        [](const schedule::Instruction &at) { return schedule::isCompute(at.op); });
}

/// Cuts each thread's list into steps. Times of a drawing count from its start, and its tables have
/// one step.
static MeasuredSteps measureSteps(const schedule::Table &table,
                                  const std::map<int64_t, std::vector<Event>> &threads) {
  struct Window {
    double begin = std::numeric_limits<double>::infinity(), end = 0, busy = 0;
  };
  std::vector<Window> steps;
  for (const auto &[thread, list] : threads) {
    size_t count = std::max<size_t>(countOf(table, list.front().stage), 1);
    steps.resize(std::max(steps.size(), llvm::divideCeil(list.size(), count)));
    for (auto [number, event] : llvm::enumerate(list)) {
      Window &window = steps[number / count];
      window.begin = std::min(window.begin, event.start);
      window.end = std::max(window.end, event.start + event.seconds);
      window.busy += event.seconds;
    }
  }
  MeasuredSteps measured;
  double first = steps.size() > 1 ? 1 : 0, all = 0, busy = 0;
  for (const Window &window : llvm::ArrayRef(steps).drop_front(static_cast<size_t>(first))) {
    all += window.end - window.begin;
    busy += window.busy;
  }
  measured.seconds = all / (static_cast<double>(steps.size()) - first);
  measured.busy = busy / (all * static_cast<double>(threads.size()));
  return measured;
}

std::optional<MeasuredSteps> ptlc::readTrace(llvm::StringRef path, const schedule::Table &table,
                                             PipelineCosts &costs, std::string &error) {
  std::optional<llvm::json::Value> value = readJson(path, error);
  if (!value)
    return std::nullopt;
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Array *events = object ? object->getArray("traceEvents") : nullptr;
  std::map<int64_t, std::vector<Event>> threads;
  if (events)
    threads = readEvents(*events);
  std::map<std::pair<Op, int>, std::vector<double>> durations;
  for (const auto &[thread, list] : threads)
    for (const Event &event : list) {
      if (event.stage >= table.stages()) {
        error = path.str() + ": there is a stage " + std::to_string(event.stage) + ", of " +
                std::to_string(table.stages());
        return std::nullopt;
      }
      durations[{event.op, event.stage}].push_back(event.seconds);
    }
  if (durations.empty()) {
    error = path.str() + ": there are no events of a pipeline, such as 'F s0 m0'";
    return std::nullopt;
  }
  auto list = [&](Op op, double missing, std::vector<double> &result) {
    result.assign(table.stages(), missing);
    for (int stage = 0; stage < table.stages(); ++stage)
      if (auto found = durations.find({op, stage}); found != durations.end())
        result[stage] = medianOf(found->second);
  };
  schedule::Costs &seconds = costs.seconds;
  list(Op::F, NAN, seconds.forward);
  list(Op::B, NAN, seconds.backward);
  list(Op::W, NAN, seconds.weight);
  list(Op::BW, NAN, seconds.both);
  list(Op::Loss, 0, seconds.loss);
  return measureSteps(table, threads);
}
