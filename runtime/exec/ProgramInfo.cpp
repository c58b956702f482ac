//===- ProgramInfo.cpp - Reading the metadata of a program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A broken description is a fault of the compiler, not of the user, but it must
// not become a wild pointer: everything is checked once, here. JSON access may
// throw; readProgram() is the border where that becomes a Status.
//===----------------------------------------------------------------------===//
#include "runtime/exec/ProgramInfo.h"

#include "ptlrt/schedule.h"
#include "runtime/exec/ProgramCheck.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace ptlrt {

using nlohmann::json;

namespace {
/// Thrown inside this file only.
struct BrokenMetadata {
  std::string message;
};
} // namespace

static Layout readLayout(const json &from) {
  return {from.at("offset"), from.at("rows"), from.at("cols"), from.at("stride")};
}

static Element readElement(const std::string &name) {
  if (name == "f32")
    return Element::F32;
  if (name == "bf16")
    return Element::BF16;
  if (name == "i32")
    return Element::I32;
  if (name == "i64")
    return Element::I64;
  if (name == "i1" || name == "i8" || name == "bool")
    return Element::Byte;
  throw BrokenMetadata{fmt::format("unknown element type '{}'", name)};
}

static int readAxis(const json &from, const Mesh &mesh) {
  int axis = mesh.find(from.get<std::string>());
  if (axis < 0)
    throw BrokenMetadata{fmt::format("unknown axis '{}'", from.get<std::string>())};
  return axis;
}

static Storage readStorage(const json &from, const Mesh &mesh) {
  Storage storage{readLayout(from), {}};
  if (!from.contains("part"))
    return storage;
  storage.split.offset = from.at("bucket");
  storage.split.part = from.at("part");
  storage.split.packed = from.at("packed");
  for (const json &axis : from.at("axes"))
    storage.split.axes.push_back(readAxis(axis, mesh));
  return storage;
}

/// Reads what weights, fields and logits have in common.
static TensorInfo readTensor(const json &from, const char *nameKey, const Mesh &mesh) {
  TensorInfo tensor;
  tensor.name = from.value(nameKey, "");
  tensor.element = readElement(from.value("type", "f32"));
  tensor.shape = from.at("shape").get<std::vector<int64_t>>();
  tensor.dims = from.value("dims", std::vector<std::string>());
  if (tensor.shape.size() > kMaxDims)
    throw BrokenMetadata{fmt::format("'{}' has {} dimensions, at most {} are supported",
                                     tensor.name, tensor.shape.size(), kMaxDims)};
  for (const json &dim : from.value("sharding", json::array())) {
    tensor.sharding.emplace_back();
    for (const json &axis : dim)
      tensor.sharding.back().push_back(readAxis(axis, mesh));
  }
  if (tensor.sharding.size() > tensor.shape.size())
    throw BrokenMetadata{
        fmt::format("'{}' has a sharding of {} dimensions", tensor.name, tensor.sharding.size())};
  Storage storage = readStorage(from.at("layout"), mesh);
  tensor.layout = storage.layout;
  tensor.split = storage.split;
  return tensor;
}

static WeightInfo readWeight(const json &from, const Mesh &mesh) {
  WeightInfo weight;
  weight.tensor = readTensor(from, "path", mesh);
  const json init = from.value("init", json{{"kind", "zeros"}});
  Expected<Initial> initial =
      parseInitial(init.at("kind"), init.value("args", std::vector<double>()));
  if (initial.isError())
    throw BrokenMetadata{fmt::format("weight '{}': {}", weight.tensor.name, initial.message())};
  weight.initial = *initial;
  weight.frozen = from.value("frozen", false);
  weight.line = from.value("line", "");
  if (from.contains("grad") && !from["grad"].empty()) {
    Storage storage = readStorage(from["grad"], mesh);
    weight.gradient = weight.tensor;
    weight.gradient->element = readElement(from["grad"].value("type", "f32"));
    weight.gradient->layout = storage.layout;
    weight.gradient->split = storage.split;
  }
  for (const json &state : from.value("states", json::array()))
    weight.states.push_back({state.at("name"), readStorage(state.at("layout"), mesh)});
  return weight;
}

static FieldSpec readField(const json &from, const Mesh &mesh) {
  FieldSpec field;
  field.tensor = readTensor(from, "name", mesh);
  if (std::string file = from.value("file", ""); !file.empty())
    field.files.push_back(file);
  field.limit = from.value("limit", int64_t{0});
  field.limitName = from.value("limit_dim", "");
  if (from.contains("ignore") && !from["ignore"].is_null())
    field.ignore = from["ignore"].get<int64_t>();
  return field;
}

static DataSpec readData(const json &from, const Mesh &mesh) {
  DataSpec data;
  std::string kind = from.value("kind", "npy"), tail = from.value("tail", "drop");
  data.kind = kind == "tokens" ? DataKind::Tokens : kind == "text" ? DataKind::Text : DataKind::Npy;
  if (data.kind == DataKind::Npy && kind != "npy")
    throw BrokenMetadata{fmt::format("unknown kind of data '{}'", kind)};
  data.tail = tail == "short" ? Tail::Short : tail == "wrap" ? Tail::Wrap : Tail::Drop;
  if (data.tail == Tail::Drop && tail != "drop")
    throw BrokenMetadata{fmt::format("unknown tail '{}'", tail)};
  data.files = from.value("files", std::vector<std::string>());
  data.shuffle = from.value("shuffle", false);
  data.line = from.value("line", "");
  for (const json &field : from.value("fields", json::array()))
    data.fields.push_back(readField(field, mesh));
  return data;
}

static OutputInfo readOutputs(const json &from) {
  OutputInfo outputs;
  outputs.loss = from.at("loss");
  outputs.gradNorm = from.value("grad_norm", int64_t{-1});
  outputs.line = from.value("line", "");
  for (const json &metric : from.value("metrics", json::array()))
    outputs.metrics.push_back({metric.at("name"), metric.at("offset")});
  return outputs;
}

static EvalInfo readEval(const json &from, const Mesh &mesh) {
  EvalInfo eval;
  eval.data = readData(from, mesh);
  eval.every = from.value("every", int64_t{0});
  eval.batches = from.value("batches", int64_t{0});
  eval.function = from.at("function");
  if (from.contains("end"))
    eval.end = from["end"].get<int64_t>();
  eval.outputs = readOutputs(from.at("outputs"));
  return eval;
}

static Schedule readSchedule(const json &from) {
  static constexpr std::pair<const char *, ScheduleKind> kKinds[] = {
      {"constant", ScheduleKind::Constant},
      {"warmup_cosine", ScheduleKind::WarmupCosine},
      {"warmup_linear", ScheduleKind::WarmupLinear},
      {"steps", ScheduleKind::Steps}};
  Schedule schedule;
  std::string kind = from.value("kind", "constant");
  bool known = false;
  for (auto [name, value] : kKinds)
    if (kind == name) {
      schedule.kind = value;
      known = true;
    }
  if (!known)
    throw BrokenMetadata{fmt::format("unknown schedule '{}'", kind)};
  schedule.warmup = from.value("warmup", int64_t{0});
  schedule.total = from.value("total", int64_t{0});
  schedule.minLr = from.value("min_lr", 0.0);
  schedule.at = from.value("at", std::vector<int64_t>());
  schedule.factor = from.value("factor", 1.0);
  return schedule;
}

static Collective readCollective(const json &from, const Mesh &mesh) {
  static constexpr std::pair<const char *, CollectiveKind> kKinds[] = {
      {"all_reduce", CollectiveKind::AllReduce},
      {"all_gather", CollectiveKind::AllGather},
      {"reduce_scatter", CollectiveKind::ReduceScatter},
      {"all_to_all", CollectiveKind::AllToAll},
      {"permute", CollectiveKind::Permute},
      {"broadcast", CollectiveKind::Broadcast}};
  Collective collective;
  std::string kind = from.at("kind"), reduce = from.value("reduce", "sum");
  bool known = false;
  for (auto [name, value] : kKinds)
    if (kind == name) {
      collective.kind = value;
      known = true;
    }
  if (!known || (reduce != "sum" && reduce != "max" && reduce != "min"))
    throw BrokenMetadata{fmt::format("unknown collective '{} {}'", kind, reduce)};
  collective.reduce = reduce == "sum"   ? ReduceKind::Sum
                      : reduce == "max" ? ReduceKind::Max
                                        : ReduceKind::Min;
  collective.element = readElement(from.value("type", "f32"));
  for (const json &axis : from.at("axes"))
    collective.axes.push_back(readAxis(axis, mesh));
  for (const json &segment : from.at("segments")) {
    bool pair = segment.contains("in");
    CommSegment result;
    result.in = readLayout(pair ? segment.at("in") : segment);
    result.out = pair ? readLayout(segment.at("out")) : result.in;
    result.outer = segment.value("outer", int64_t{1});
    result.length = segment.value("length", int64_t{1});
    result.inner = segment.value("inner", int64_t{1});
    result.step = segment.value("step", int64_t{0});
    result.middle = segment.value("middle", int64_t{1});
    result.other = segment.value("other", int64_t{1});
    result.joinsSecond = segment.value("joins_second", false);
    collective.segments.push_back(result);
  }
  collective.root = from.value("root", 0);
  collective.sources = from.value("sources", std::vector<int>());
  collective.predictedBytes = from.value("bytes", 0.0);
  collective.times = from.value("times", int64_t{1});
  collective.overlaps = from.value("overlaps", false);
  collective.line = from.value("line", "");
  collective.reason = from.value("reason", "");
  return collective;
}

static void readTraining(const json &from, ProgramInfo &info) {
  info.data = readData(from.value("data", json::object()), info.mesh);
  info.batch = from.value("batch", int64_t{1});
  info.microbatches = from.value("microbatches", int64_t{1});
  info.steps = from.value("steps", int64_t{1});
  info.seed = from.value("seed", uint64_t{0});
  info.tokensPerSample = from.value("tokens_per_sample", int64_t{1});
  for (const json &hyper : from.value("hypers", json::array()))
    info.hypers.push_back({hyper.at("name"), hyper.value("group", int64_t{0}), hyper.at("value"),
                           hyper.at("offset"), hyper.value("scheduled", false)});
  info.schedule = readSchedule(from.value("schedule", json::object()));
  info.skipNonfinite = from.value("on_nonfinite", "stop") == "skip";
  info.bf16 = from.value("precision", "f32") == "bf16";
  info.outputs = readOutputs(from.at("outputs"));
  const json evals = from.value("eval", json());
  if (evals.is_array())
    for (const json &eval : evals)
      info.evals.push_back(readEval(eval, info.mesh));
  else if (!evals.empty())
    info.evals.push_back(readEval(evals, info.mesh));
  if (const json checkpoint = from.value("checkpoint", json()); !checkpoint.empty())
    info.checkpoint = {checkpoint.at("dir"), checkpoint.value("every", int64_t{0})};
  for (const json &init : from.value("init", json::array()))
    info.inits.push_back({init.at("file"), init.value("to", ""),
                          init.value("weights", std::vector<size_t>()), init.value("line", "")});
}

static SampleInfo readSample(const json &from, const Mesh &mesh) {
  SampleInfo sample;
  sample.function = from.at("function");
  if (from.contains("field"))
    sample.field = readTensor(from["field"], "name", mesh);
  if (!from.contains("logits"))
    return sample;
  sample.vocab = from.at("vocab");
  sample.seq = from.at("seq");
  sample.logits = readTensor(from["logits"], "name", mesh);
  return sample;
}

static std::vector<MessageSegment> readSegments(const json &from) {
  std::vector<MessageSegment> list;
  for (const json &segment : from)
    list.push_back({readLayout(segment), readElement(segment.at("type")),
                    segment.value("slot_stride", int64_t{0})});
  return list;
}

static PipelineInfo readPipeline(const json &from, const Mesh &mesh) {
  static constexpr std::pair<const char *, uint8_t> kOps[] = {{"send_a", PTLRT_SCHEDULE_SEND_A},
                                                              {"recv_a", PTLRT_SCHEDULE_RECV_A},
                                                              {"send_g", PTLRT_SCHEDULE_SEND_G},
                                                              {"recv_g", PTLRT_SCHEDULE_RECV_G}};
  PipelineInfo pipeline;
  pipeline.axis = readAxis(from.at("axis"), mesh);
  for (const json &entry : from.at("messages")) {
    MessageInfo message{0, entry.at("edge"), entry.value("line", ""),
                        readSegments(entry.at("segments"))};
    for (auto [name, op] : kOps)
      if (entry.at("op") == name)
        message.op = op;
    if (message.op == 0)
      throw BrokenMetadata{"unknown kind of message"};
    pipeline.messages.push_back(std::move(message));
  }
  for (const json &entry : from.at("exchanges"))
    pipeline.exchanges.push_back({entry.at("peer"), entry.value("times", int64_t{1}),
                                  entry.value("line", ""), entry.value("reason", ""),
                                  readSegments(entry.at("send")),
                                  readSegments(entry.at("receive"))});
  return pipeline;
}

/// Entries of the ledger for what a rank of a pipeline receives.
static void addLedger(ProgramInfo &info) {
  auto add = [&](const std::vector<MessageSegment> &segments, int64_t times,
                 const std::string &line, std::string reason) {
    Collective entry;
    entry.kind = CollectiveKind::Message;
    entry.axes = {info.pipeline->axis};
    entry.times = times;
    entry.line = line;
    entry.reason = std::move(reason);
    for (const MessageSegment &segment : segments)
      entry.predictedBytes += static_cast<double>(segment.bytes());
    info.collectives.push_back(std::move(entry));
  };
  for (const MessageInfo &message : info.pipeline->messages)
    if (message.op == PTLRT_SCHEDULE_RECV_A || message.op == PTLRT_SCHEDULE_RECV_G)
      add(message.segments, info.microbatches, message.line,
          fmt::format("{} of edge {}", message.op == PTLRT_SCHEDULE_RECV_A ? "values" : "gradients",
                      message.edge));
  for (const ExchangeInfo &exchange : info.pipeline->exchanges)
    if (!exchange.received.empty())
      add(exchange.received, exchange.times, exchange.line, exchange.reason);
}

static ProgramInfo readAll(const json &from) {
  ProgramInfo info;
  info.model = from.value("model", "");
  info.source = from.value("source", "");
  info.compiler = from.value("compiler", "");
  const json target = from.value("target", json::object());
  info.cpu = target.value("cpu", "");
  info.features = target.value("features", std::vector<std::string>());
  std::vector<MeshAxis> axes;
  for (const json &axis : from.value("mesh", json::array()))
    axes.push_back({axis.at("name"), axis.at("size")});
  info.mesh = Mesh(std::move(axes));
  info.meshLine = from.value("mesh_line", "");
  const json &arena = from.at("arena");
  info.arenaBytes = arena.at("bytes");
  info.persistentBytes = arena.value("persistent", int64_t{0});
  info.slotBytes = arena.value("slots", int64_t{0});
  info.microBytes = arena.value("micro", int64_t{0});
  info.scratchBytes = arena.value("scratch", int64_t{0});
  for (const json &weight : from.value("weights", json::array()))
    info.weights.push_back(readWeight(weight, info.mesh));
  readTraining(from, info);
  if (const json sample = from.value("sample", json()); !sample.empty())
    info.sample = readSample(sample, info.mesh);
  for (const json &collective : from.value("collectives", json::array()))
    info.collectives.push_back(readCollective(collective, info.mesh));
  if (const json pipeline = from.value("pipeline", json()); !pipeline.empty()) {
    info.pipeline = readPipeline(pipeline, info.mesh);
    addLedger(info);
  }
  info.report = from.value("report", json::object()).dump();
  return info;
}

int64_t ProgramInfo::parameters() const {
  int64_t count = 0;
  for (const WeightInfo &weight : weights)
    count += weight.tensor.elements();
  return count;
}

std::vector<std::string> ProgramInfo::weightNames() const {
  std::vector<std::string> names;
  for (const WeightInfo &weight : weights)
    names.push_back(weight.tensor.name);
  return names;
}

Expected<ProgramInfo> readProgram(const ptlrt_program_t &program) {
  if (program.magic != PTLRT_MAGIC)
    return failure("the object linked into this executable isn't a compiled program");
  if (program.version != PTLRT_ABI_VERSION)
    return failure(
        "the program was compiled for runtime interface {}, this runtime has {}; compile "
        "it again with the ptlc that belongs to the runtime",
        program.version, PTLRT_ABI_VERSION);
  try {
    ProgramInfo info =
        readAll(json::parse(program.metadata, program.metadata + program.metadata_size));
    if (Status status = checkProgram(info, program); status.isError())
      return failure("the program's description is broken: {}", status.message());
    return info;
  } catch (const json::exception &error) {
    return failure("the program's description is broken: {}", error.what());
  } catch (const BrokenMetadata &error) {
    return failure("the program's description is broken: {}", error.message);
  }
}

Expected<ProgramSet> ProgramSet::read(const ptlrt_program_t &program) {
  ProgramSet set;
  if (program.magic == PTLRT_MAGIC && program.version == PTLRT_ABI_VERSION)
    for (uint64_t part = 0; part < program.part_count; ++part) {
      Expected<ProgramInfo> info = readProgram(program.parts[part]);
      if (info.isError())
        return info.status();
      set.parts.push_back(std::move(*info));
    }
  if (set.parts.empty()) {
    Expected<ProgramInfo> info = readProgram(program);
    if (info.isError())
      return info.status();
    set.parts.push_back(std::move(*info));
  }
  set.join();
  if (Status status = set.checkShared(); status.isError())
    return status;
  return set;
}

static int64_t elementsOf(const Collective &collective) {
  int64_t count = 0;
  for (const CommSegment &segment : collective.segments)
    count += segment.in.rows * segment.in.cols;
  return count;
}

/// Members of a group tell collectives apart by their places in their own lists, so those of
/// several programs must be the same in all of them.
Status ProgramSet::checkShared() const {
  auto isAlike = [](const Collective &a, const Collective &b) {
    return std::tie(a.kind, a.reduce, a.element, a.axes) ==
               std::tie(b.kind, b.reduce, b.element, b.axes) &&
           elementsOf(a) == elementsOf(b);
  };
  std::span<const Collective> first =
      std::span(parts.front().collectives).first(sharedCollectives());
  for (const ProgramInfo &part : parts)
    if (part.collectives.size() < first.size() ||
        !std::equal(first.begin(), first.end(), part.collectives.begin(), isAlike))
      return failure("the ranks of the pipeline run other collectives with each other");
  return Status::ok();
}

static void joinFields(const DataSpec &from, DataSpec &into) {
  for (const FieldSpec &field : from.fields)
    if (std::none_of(into.fields.begin(), into.fields.end(), [&](const FieldSpec &known) {
          return known.tensor.name == field.tensor.name;
        }))
      into.fields.push_back(field);
}

void ProgramSet::join() {
  all = parts.front();
  if (all.pipeline)
    axis = all.pipeline->axis;
  for (size_t number = 1; number < parts.size(); ++number) {
    const ProgramInfo &part = parts[number];
    all.arenaBytes = std::max(all.arenaBytes, part.arenaBytes);
    for (const WeightInfo &weight : part.weights)
      if (!all.findWeight(weight.tensor.name))
        all.weights.push_back(weight);
    joinFields(part.data, all.data);
    for (size_t eval = 0; eval < part.evals.size(); ++eval)
      joinFields(part.evals[eval].data, all.evals[eval].data);
    if (part.sample && part.sample->logits)
      all.sample = part.sample;
    for (const HyperInfo &hyper : part.hypers)
      if (std::none_of(all.hypers.begin(), all.hypers.end(), [&](const HyperInfo &known) {
            return known.name == hyper.name && known.group == hyper.group;
          }))
        all.hypers.push_back(hyper);
  }
}

size_t ProgramSet::sharedCollectives() const {
  size_t count = 0;
  auto isShared = [&](const Collective &entry) {
    return entry.kind != CollectiveKind::Message &&
           std::find(entry.axes.begin(), entry.axes.end(), axis) != entry.axes.end();
  };
  const std::vector<Collective> &list = parts.front().collectives;
  while (axis >= 0 && count < list.size() && isShared(list[count]))
    ++count;
  return count;
}

const WeightInfo *ProgramInfo::findWeight(const std::string &path) const {
  for (const WeightInfo &weight : weights)
    if (weight.tensor.name == path)
      return &weight;
  return nullptr;
}

} // namespace ptlrt
