//===- Training.cpp - The training run ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Before the steps: data, reports. After them, on the main thread, while the
// ranks' memory is still there: weights, the last checkpoint, traces.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Training.h"

#include "runtime/core/Log.h"
#include "runtime/exec/StepLoop.h"

namespace ptlrt {

BatchOrder Training::orderOf(const DataSpec &data, const DataSource &from, bool forTraining) const {
  return BatchOrder(from.samples(), info.batch, data.tail, forTraining && data.shuffle, info.seed);
}

static Status checkEnough(const DataSpec &data, const BatchOrder &order, int64_t samples,
                          int64_t batch) {
  if (samples > 0 && order.batchesPerPass() > 0)
    return Status::ok();
  return failure("the data of {} has {} samples, a batch takes {}; 'tail: wrap' repeats them",
                 data.line, samples, batch);
}

Status Training::openSources() {
  Expected<std::unique_ptr<DataSource>> opened = openData(info.data);
  if (opened.isError())
    return opened.status();
  source = std::move(*opened);
  PTLRT_TRY(
      checkEnough(info.data, orderOf(info.data, *source, true), source->samples(), info.batch));
  for (const EvalInfo &eval : info.evals) {
    opened = openData(eval.data);
    if (opened.isError())
      return opened.status();
    evalSources.push_back(std::move(*opened));
    PTLRT_TRY(checkEnough(eval.data, orderOf(eval.data, *evalSources.back(), false),
                          evalSources.back()->samples(), info.batch));
  }
  return Status::ok();
}

static void addEvalNames(const ProgramInfo &info, std::vector<std::string> &names) {
  for (size_t i = 0; i < info.evals.size(); ++i) {
    std::string prefix = i == 0 ? "" : fmt::format("{}_", i + 1);
    names.push_back(prefix + "loss");
    for (const MetricInfo &metric : info.evals[i].outputs.metrics)
      names.push_back(prefix + metric.name);
  }
}

Status Training::openReporter() {
  ReporterOptions options;
  options.quiet = job.options().quiet || observer || !job.isTalker();
  options.logPath = job.isTalker() ? job.options().log : "";
  options.appendLog = job.resumed().has_value();
  options.firstStep = firstStep;
  options.steps = info.steps;
  options.throughput = info.data.kind == DataKind::Npy ? "samples" : "tokens";
  for (const MetricInfo &metric : info.outputs.metrics)
    options.metrics.push_back(metric.name);
  addEvalNames(info, options.evaluation);
  Expected<Reporter> created = Reporter::create(std::move(options));
  if (created.isError())
    return created.status();
  reporter.emplace(std::move(*created));
  return Status::ok();
}

void Training::announce() {
  reporter->say(fmt::format("{}: {} parameters, {}, {:.1f} MB a rank, {} steps of {} samples",
                            info.model, info.parameters(), info.mesh.describe(),
                            static_cast<double>(info.arenaBytes) / 1e6, info.steps, info.batch));
  if (job.resumed())
    reporter->say(fmt::format("goes on from '{}' at step {}", job.resumed()->folder, firstStep));
  BatchOrder order = orderOf(info.data, *source, true);
  if (source->samples() == kEndless)
    return;
  std::string text =
      fmt::format("data: {} samples, {} batches a pass", source->samples(), order.batchesPerPass());
  if (order.leftOut() > 0)
    text += fmt::format("; each pass leaves out {} samples", order.leftOut());
  reporter->say(text);
}

Status Training::prepare() {
  const Options &wishes = job.options();
  for (const std::string &path : {wishes.save, wishes.saveGradients, wishes.trace, wishes.report})
    if (!path.empty() && job.isTalker())
      PTLRT_TRY(checkWritable(path));
  PTLRT_TRY(openSources());
  if (job.resumed()) {
    const RunState &run = job.resumed()->run;
    firstStep = run.step;
    if (run.dataSamples != source->samples() && job.isTalker())
      printWarning(fmt::format("the data has {} samples, '{}' was written with {}: the order of "
                               "samples differs from there on",
                               source->samples(), job.resumed()->folder, run.dataSamples));
  }
  nextStep = firstStep;
  PTLRT_TRY(openReporter());
  announce();
  PTLRT_TRY(job.allocate());
  for (const std::unique_ptr<RankState> &state : job.ranks())
    state->trace.isOn = !wishes.trace.empty();
  return Status::ok();
}

Status Training::writeGradients() {
  return writeSafetensors(job.options().saveGradients, gradientSources(info, job.comm()));
}

Status Training::saveCheckpoint() {
  RunState run{nextStep,          info.seed,  info.batch,
               source->samples(), info.model, info.mesh.describe()};
  Expected<std::string> path =
      writeCheckpoint(info.checkpoint->directory, run, weightSources(info, job.comm()),
                      stateSources(info, job.comm()), job.options().keep);
  if (path.isError())
    return path.status();
  savedStep = nextStep;
  reporter->say(fmt::format("checkpoint '{}'", *path));
  return Status::ok();
}

namespace {
/// Names for the trace of a training run.
class Names : public TraceNames {
public:
  explicit Names(const Job &job) : job(job) {}
  std::string nameOf(const TraceEvent &event) const override {
    static constexpr const char *kOps[] = {"count", "fb",   "reduce", "norm",
                                           "opt",   "eval", "sample"};
    if (event.kind == TraceKind::Collective)
      return job.info().collectives[event.detail].describe(job.info().mesh);
    if (event.kind == TraceKind::Instruction) {
      const ptlrt_instruction &instruction = job.program().table[event.detail];
      return fmt::format("{} {}", instruction.op < std::size(kOps) ? kOps[instruction.op] : "?",
                         instruction.micro);
    }
    return fmt::format("{} {}",
                       event.kind == TraceKind::Data         ? "data"
                       : event.kind == TraceKind::Evaluation ? "evaluation"
                                                             : "checkpoint",
                       event.detail);
  }

private:
  const Job &job;
};
} // namespace

/// The bytes of a list of plain records, and back.
template <typename T> static std::vector<uint8_t> bytesOf(std::span<const T> list) {
  const auto *begin = reinterpret_cast<const uint8_t *>(list.data());
  return {begin, begin + list.size_bytes()};
}
template <typename T> static std::span<const T> listOf(const std::vector<uint8_t> &bytes) {
  return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
}

void Training::collectRecords() {
  std::vector<std::vector<uint8_t>> moved, events;
  for (const std::unique_ptr<RankState> &state : job.ranks()) {
    moved.push_back(bytesOf(state->comm->traffic()));
    events.push_back(bytesOf(state->trace.all()));
  }
  traffic = job.collect(std::move(moved));
  traces = job.collect(std::move(events));
}

Status Training::writeTraceFile() {
  std::vector<std::span<const TraceEvent>> ranks;
  for (const std::vector<uint8_t> &bytes : traces)
    ranks.push_back(listOf<TraceEvent>(bytes));
  return writeTrace(job.options().trace, ranks, Names(job));
}

std::vector<CollectiveCount> Training::countTraffic() const {
  std::vector<std::span<const Traffic>> ranks;
  for (const std::vector<uint8_t> &bytes : traffic)
    ranks.push_back(listOf<Traffic>(bytes));
  return sumTraffic(info.collectives, ranks);
}

Status Training::writeReport() {
  nlohmann::ordered_json report = describeTraffic(info.collectives, info.mesh, countTraffic());
  report["model"] = info.model;
  report["ranks"] = info.mesh.ranks();
  report["steps"] = nextStep - firstStep;
  report["arena_bytes"] = info.arenaBytes;
  report["peak_resident_bytes"] = peakResidentMemory();
  report["compiled"] = nlohmann::ordered_json::parse(info.report);
  return writeFile(job.options().report, report.dump(2) + "\n");
}

void Training::printCounters() {
  std::vector<CollectiveCount> counts = countTraffic();
  for (size_t i = 0; i < counts.size(); ++i)
    printLine(fmt::format("{}: {} calls, {} bytes between ranks, {} predicted; {}",
                          info.collectives[i].describe(info.mesh), counts[i].calls, counts[i].bytes,
                          counts[i].predicted, info.collectives[i].reason));
  if (counts.empty())
    printLine("no collectives");
}

Status Training::finish() {
  collectRecords();
  // The others wait, and lend their memory.
  return job.settle(job.isTalker() ? writeResults() : Status::ok());
}

Status Training::writeResults() {
  // Each is tried, whatever became of the others: a full disk may have room for one of them.
  Status first = reporter->finish();
  auto attempt = [&](Status status) {
    if (first.isOk())
      first = std::move(status);
  };
  if (info.checkpoint && savedStep != nextStep && nextStep > firstStep)
    attempt(saveCheckpoint());
  if (const std::string &path = job.options().save; !path.empty()) {
    attempt(writeSafetensors(path, weightSources(info, job.comm())));
    if (first.isOk())
      reporter->say(fmt::format("weights '{}'", path));
  }
  if (!job.options().trace.empty())
    attempt(writeTraceFile());
  if (!job.options().report.empty())
    attempt(writeReport());
  if (job.options().counters)
    printCounters();
  return first;
}

Expected<int> Training::run() {
  PTLRT_TRY(prepare());
  Status status = job.runRanks([this](RankState &state) {
    StepLoop loop(*this, state);
    return loop.run();
  });
  if (status.isError()) {
    (void)reporter->finish();
    return status;
  }
  PTLRT_TRY(finish());
  if (stopped == 0)
    return 0;
  reporter->say(
      fmt::format("stopped by signal {} after {} of {} steps", stopped, nextStep, info.steps));
  return 128 + stopped;
}

} // namespace ptlrt
