//===- Metadata.cpp - What the runtime reads about a program --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything comes from attributes: roles and paths of arguments, the train
// block, buffers. Dictionaries that the importer made for the runtime pass
// through as they are.
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Metadata.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"
#include "compiler/Codegen/Collectives.h"
#include "compiler/Codegen/Weights.h"
#include "compiler/Support/Location.h"
#include "compiler/Support/Stages.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::codegen;
namespace json = llvm::json;

/// What the train block says; empty without one.
static DictionaryAttr trainOf(ModuleOp module) {
  auto train = module->getAttrOfType<DictionaryAttr>("ptl.train");
  return train ? train : DictionaryAttr::get(module.getContext());
}

namespace {
class Writer {
public:
  Writer(ModuleOp module, const Schedule &schedule, const TargetOptions &options)
      : module(module), schedule(schedule), options(options), places(module),
        train(trainOf(module)), step(module.lookupSymbol<func::FuncOp>("step")) {}
  std::string write();

private:
  StringRef argument(func::FuncOp function, unsigned index, StringRef name) const {
    auto attribute = function.getArgAttrOfType<StringAttr>(index, name);
    return attribute ? attribute.getValue() : StringRef();
  }
  json::Object layout(Value value) const { return layoutOf(value, places); }
  Type globalType(func::FuncOp function, unsigned index) const;
  void describeType(json::Object &object, func::FuncOp function, unsigned index) const;
  json::Array mesh() const;
  json::Array weights();
  json::Array fields(func::FuncOp function, DictionaryAttr data) const;
  json::Object data(func::FuncOp function, DictionaryAttr data) const;
  json::Array hypers() const;
  json::Array optimizers() const;
  json::Object outputs(func::FuncOp function) const;
  json::Object target() const;
  int64_t tokensPerSample() const;
  void addProgram(json::Object &root);
  void addTraining(json::Object &root);
  json::Array collectives() const;
  json::Array evaluations() const;
  void addMessages(json::Object &root) const;
  json::Array slotLayouts(ValueRange values) const;
  void addSampling(json::Object &root) const;
  int64_t integer(DictionaryAttr dictionary, StringRef name, int64_t otherwise) const {
    auto attribute = dictionary.getAs<IntegerAttr>(name);
    return attribute ? attribute.getInt() : otherwise;
  }

  ModuleOp module;
  const Schedule &schedule;
  const TargetOptions &options;
  Places places;
  DictionaryAttr train;
  mutable func::FuncOp step;
  llvm::StringMap<unsigned> weightNumbers; ///< by path
};
} // namespace

Type Writer::globalType(func::FuncOp function, unsigned index) const {
  auto global = function.getArgAttrOfType<TypeAttr>(index, "spmd.global_type");
  return global ? global.getValue() : function.getArgumentTypes()[index];
}

void Writer::describeType(json::Object &object, func::FuncOp function, unsigned index) const {
  describeTensor(object, function.getArgAttrDict(index), function.getArgumentTypes()[index]);
  object["layout"] = layout(function.getArgument(index));
}

json::Array Writer::mesh() const {
  json::Array axes;
  if (spmd::MeshOp mesh = spmd::findMesh(module))
    for (spmd::AxisAttr axis : mesh.getAxisRange())
      axes.push_back(
          json::Object{{"name", axis.getName().getValue().str()}, {"size", axis.getSize()}});
  return axes;
}

json::Array Writer::weights() {
  json::Array list = describeWeights(step, places);
  for (auto [number, weight] : llvm::enumerate(list))
    weightNumbers[weight.getAsObject()->getString("path").value_or("")] = number;
  return list;
}

json::Array Writer::fields(func::FuncOp function, DictionaryAttr data) const {
  json::Array list;
  llvm::StringMap<std::string> files;
  if (auto all = data ? data.getAs<ArrayAttr>("files") : ArrayAttr())
    for (auto file : all.getAsRange<DictionaryAttr>())
      files[file.getAs<StringAttr>("field").getValue()] =
          file.getAs<StringAttr>("file").getValue().str();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (argument(function, i, "ptl.role") != "data")
      continue;
    StringRef name = argument(function, i, "ptl.path");
    json::Object field{{"name", name.str()},
                       {"file", files.lookup(name)},
                       {"type", elementName(function.getArgumentTypes()[i])}};
    describeType(field, function, i);
    auto limit = function.getArgAttrOfType<IntegerAttr>(i, "ptl.limit");
    field["limit"] = limit ? limit.getInt() : 0;
    if (auto ignore = function.getArgAttrOfType<IntegerAttr>(i, "ptl.ignore"))
      field["ignore"] = ignore.getInt();
    list.push_back(std::move(field));
  }
  return list;
}

json::Object Writer::data(func::FuncOp function, DictionaryAttr data) const {
  json::Object object;
  json::Array files;
  if (data) {
    for (StringRef name : {"kind", "shuffle", "tail", "line"})
      if (Attribute value = data.get(name))
        object[name] = toJson(value);
    if (auto all = data.getAs<ArrayAttr>("files"))
      for (auto file : all.getAsRange<DictionaryAttr>())
        files.push_back(file.getAs<StringAttr>("file").getValue().str());
  }
  object["files"] = std::move(files);
  object["fields"] = fields(function, data);
  return object;
}

/// Hyper-parameters are called "lr" or "opt1.beta1": the optimizer's number and its argument.
json::Array Writer::hypers() const {
  json::Array list;
  auto optimizers = train.getAs<ArrayAttr>("optimizers");
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    if (argument(step, i, "ptl.role") != "hyper")
      continue;
    StringRef name = argument(step, i, "ptl.path"), rest = name;
    unsigned group = 0;
    if (rest.consume_front("opt") && !rest.consumeInteger(10, group) && rest.consume_front("."))
      name = rest;
    Attribute value = step.getArgAttr(i, "ptl.value");
    if (!value && optimizers && group < optimizers.size())
      value = cast<DictionaryAttr>(optimizers[group]).get(name);
    if (!value)
      value = train.get(name);
    list.push_back(json::Object{{"name", name.str()},
                                {"group", int64_t(group)},
                                {"value", value ? toJson(value) : json::Value(0.0)},
                                {"offset", places.of(step.getArgument(i)).offset},
                                {"scheduled", name == "lr"}});
  }
  return list;
}

json::Array Writer::optimizers() const {
  json::Array list;
  if (auto all = train.getAs<ArrayAttr>("optimizers"))
    for (auto optimizer : all.getAsRange<DictionaryAttr>()) {
      json::Object object, arguments;
      json::Array numbers;
      for (NamedAttribute entry : optimizer) {
        StringRef name = entry.getName().getValue();
        if (name == "kind")
          object["kind"] = toJson(entry.getValue());
        else if (name == "weights") {
          for (auto path : cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>())
            if (auto number = weightNumbers.find(path.getValue()); number != weightNumbers.end())
              numbers.push_back(int64_t(number->second));
        } else if (name != "line") {
          arguments[name] = toJson(entry.getValue());
        }
      }
      object["args"] = std::move(arguments);
      object["weights"] = std::move(numbers);
      list.push_back(std::move(object));
    }
  return list;
}

json::Object Writer::outputs(func::FuncOp function) const {
  json::Object object;
  json::Array metrics;
  Operation *end = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    auto role = function.getResultAttrOfType<StringAttr>(i, "ptl.role");
    if (!role || cast<RankedTensorType>(value.getType()).getRank())
      continue;
    int64_t offset = places.of(value).offset;
    auto path = function.getResultAttrOfType<StringAttr>(i, "ptl.path");
    if (role == "metric")
      metrics.push_back(
          json::Object{{"name", path ? path.getValue().str() : ""}, {"offset", offset}});
    else
      object[role.getValue()] = offset;
  }
  object["metrics"] = std::move(metrics);
  if (std::string line = lineOf(function.getLoc()); !line.empty())
    object["line"] = line;
  return object;
}

json::Array Writer::collectives() const {
  json::Array list;
  llvm::DenseMap<Operation *, int64_t> times;
  for (auto [number, function] : llvm::enumerate(schedule.functions))
    for (Operation *op : function.operations)
      times[op] = number < schedule.stepFunctions ? function.pieces : 0;
  for (Operation *op : schedule.collectives)
    list.push_back(describeCollective(op, places, times.lookup(op)));
  return list;
}

static int64_t bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += kernel::byteSize(kernel::elementOf(value.getType())) *
             cast<RankedTensorType>(value.getType()).getNumElements();
  return bytes;
}

/// Where values lie that travel between stages.
json::Array Writer::slotLayouts(ValueRange values) const {
  json::Array list;
  for (Value value : values) {
    json::Object entry = layout(value);
    entry["type"] = elementName(value.getType());
    entry["slot_stride"] = places.of(value).slotStride;
    list.push_back(std::move(entry));
  }
  return list;
}

/// What a rank of a pipeline sends and receives.
void Writer::addMessages(json::Object &root) const {
  auto pipeline = pipelineOf(module);
  if (!pipeline || !step)
    return;
  json::Array messages, exchanges;
  step.walk([&](Operation *op) {
    auto add = [&](StringRef name, ValueRange values, int64_t edge) {
      messages.push_back(json::Object{{"op", name.str()},
                                      {"edge", edge},
                                      {"line", lineOf(op->getLoc())},
                                      {"bytes", bytesOf(values)},
                                      {"segments", slotLayouts(values)}});
    };
    if (auto send = dyn_cast<rt::SendOp>(op))
      add(send.getGradient() ? "send_g" : "send_a", send.getValues(), send.getEdge());
    else if (auto receive = dyn_cast<rt::ReceiveOp>(op))
      add(receive.getGradient() ? "recv_g" : "recv_a", receive.getValues(), receive.getEdge());
  });
  for (Operation *op : schedule.exchanges) {
    auto exchange = cast<rt::ExchangeOp>(op);
    bool isOfStep = op->getParentOfType<func::FuncOp>() == step;
    exchanges.push_back(json::Object{
        {"peer", int64_t(exchange.getPeer())},
        {"times", int64_t(isOfStep)},
        {"reason", isOfStep ? "sums of a tied weight" : "a stage's values for another"},
        {"line", lineOf(op->getLoc())},
        {"bytes", bytesOf(exchange.getTheirs())},
        {"send", slotLayouts(exchange.getMine())},
        {"receive", slotLayouts(exchange.getTheirs())}});
  }
  root["pipeline"] = json::Object{{"axis", pipeline.getAs<StringAttr>("axis").getValue().str()},
                                  {"messages", std::move(messages)},
                                  {"exchanges", std::move(exchanges)}};
}

json::Array Writer::evaluations() const {
  json::Array list;
  auto evals = train.getAs<ArrayAttr>("evals");
  if (!schedule.eval || !evals)
    return list;
  func::FuncOp function = schedule.functions[*schedule.eval].owner;
  for (auto spec : evals.getAsRange<DictionaryAttr>()) {
    json::Object eval = data(function, spec.getAs<DictionaryAttr>("data"));
    eval["every"] = integer(spec, "every", 0);
    eval["batches"] = integer(spec, "batches", 0);
    eval["function"] = int64_t(*schedule.eval);
    if (schedule.evalEnd)
      eval["end"] = int64_t(*schedule.evalEnd);
    eval["outputs"] = outputs(function);
    list.push_back(std::move(eval));
  }
  return list;
}

void Writer::addSampling(json::Object &root) const {
  if (!schedule.sample)
    return;
  func::FuncOp function = schedule.functions[*schedule.sample].owner;
  json::Object sample{{"function", int64_t(*schedule.sample)}};
  json::Array inputs = fields(function, {});
  if (!inputs.empty())
    sample["field"] = std::move(inputs[0]);
  Operation *end = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    auto role = function.getResultAttrOfType<StringAttr>(i, "ptl.role");
    if (!role || role != "logits")
      continue;
    json::Object logits{{"layout", layout(value)}, {"type", elementName(value.getType())}};
    describeTensor(logits, function.getResultAttrDict(i), value.getType());
    const json::Array &shape = *logits.getArray("shape");
    sample["seq"] = shape[shape.size() - 2];
    sample["vocab"] = shape.back();
    sample["logits"] = std::move(logits);
  }
  root["sample"] = std::move(sample);
}

json::Object Writer::target() const {
  json::Array features;
  SmallVector<StringRef> parts;
  StringRef(options.features).split(parts, ',', -1, false);
  for (StringRef part : parts)
    if (part.consume_front("+"))
      features.push_back(part.str());
  return json::Object{{"cpu", options.cpu}, {"features", std::move(features)}};
}

int64_t Writer::tokensPerSample() const {
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (argument(step, i, "ptl.role") == "data") {
      int64_t elements = cast<RankedTensorType>(globalType(step, i)).getNumElements();
      if (int64_t tokens = elements / integer(train, "batch", 1); tokens > 1)
        return tokens;
    }
  return 1;
}

/// What the program is, and what it runs on.
void Writer::addProgram(json::Object &root) {
  auto text = [&](StringRef name) {
    auto attribute = module->getAttrOfType<StringAttr>(name);
    return attribute ? attribute.getValue().str() : std::string();
  };
  root["model"] = text("ptl.model");
  root["source"] = text("ptl.source");
  root["compiler"] = "ptlc 0.1.0";
  root["target"] = target();
  root["mesh"] = mesh();
  if (auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan"))
    if (auto line = plan.getAs<StringAttr>("mesh_line"))
      root["mesh_line"] = line.getValue();
  root["arena"] = json::Object{{"bytes", places.arena.total()},
                               {"persistent", places.arena.persistent},
                               {"slots", places.arena.slots},
                               {"micro", places.arena.micro},
                               {"scratch", places.arena.scratch}};
  if (auto memory = module->getAttr("rt.memory"))
    root["report"] = toJson(memory);
}

/// What the train block says.
void Writer::addTraining(json::Object &root) {
  if (step) {
    root["weights"] = weights();
    root["data"] = data(step, train.getAs<DictionaryAttr>("data"));
    root["hypers"] = hypers();
    root["outputs"] = outputs(step);
  }
  root["batch"] = integer(train, "batch", 1);
  root["steps"] = integer(train, "steps", 0);
  root["seed"] = integer(train, "seed", 0);
  auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan");
  root["microbatches"] = plan ? integer(plan, "microbatches", 1) : 1;
  root["tokens_per_sample"] = step ? tokensPerSample() : 1;
  root["optimizers"] = optimizers();
  if (plan && plan.get("precision"))
    root["precision"] = "bf16";
  for (StringRef name : {"schedule", "clip", "on_nonfinite", "checkpoint", "init"})
    if (Attribute value = train.get(name))
      root[name] = toJson(value);
}

std::string Writer::write() {
  json::Object root;
  addProgram(root);
  addTraining(root);
  root["collectives"] = collectives();
  addMessages(root);
  root["eval"] = evaluations();
  addSampling(root);
  return llvm::formatv("{0}", json::Value(std::move(root))).str();
}

std::string codegen::buildMetadata(ModuleOp module, const Schedule &schedule,
                                   const TargetOptions &options) {
  return Writer(module, schedule, options).write();
}

std::string codegen::emitMetadata(ModuleOp module, const TargetOptions &options) {
  return buildMetadata(module, buildSchedule(module), options);
}
