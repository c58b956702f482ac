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
  if (info.bf16)
    reporter->say(fmt::format("bf16: {}", cpu::probeBf16().text));
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
  return writeSafetensors(job.options().saveGradients, gradientSources(job.set(), job.comm()));
}

Status Training::saveCheckpoint() {
  RunState run{nextStep,          info.seed,  info.batch,
               source->samples(), info.model, info.mesh.describe()};
  Expected<std::string> path =
      writeCheckpoint(info.checkpoint->directory, run, weightSources(job.set(), job.comm()),
                      stateSources(job.set(), job.comm()), job.options().keep);
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
  std::string nameOf(int rank, const TraceEvent &event) const override {
    if (event.kind == TraceKind::Collective || event.kind == TraceKind::Start ||
        event.kind == TraceKind::Wait)
      return (event.kind == TraceKind::Start  ? "start "
              : event.kind == TraceKind::Wait ? "wait for "
                                              : "") +
             job.info(rank).collectives[event.detail].describe(job.info().mesh);
    if (event.kind == TraceKind::Instruction)
      return job.play(rank).nameOf(event.detail);
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

Training::Ledger Training::countTraffic() const {
  Ledger ledger;
  const ProgramSet &set = job.set();
  for (size_t part = 0; part < set.count(); ++part) {
    const std::vector<Collective> &entries = set.part(part).collectives;
    // Those of several programs stand first in all of them, and count once.
    size_t shared = set.sharedCollectives();
    std::vector<std::span<const Traffic>> own, all;
    for (size_t rank = 0; rank < traffic.size(); ++rank) {
      std::span<const Traffic> counts = listOf<Traffic>(traffic[rank]);
      all.push_back(counts.first(shared));
      if (set.partOf(static_cast<int>(rank)) == part)
        own.push_back(counts.subspan(shared));
    }
    auto add = [&](std::span<const Collective> some, std::span<const std::span<const Traffic>> of) {
      std::vector<CollectiveCount> counts = sumTraffic(some, of);
      ledger.entries.insert(ledger.entries.end(), some.begin(), some.end());
      ledger.counts.insert(ledger.counts.end(), counts.begin(), counts.end());
      ledger.parts.insert(ledger.parts.end(), some.size(), part);
    };
    if (part == 0)
      add(std::span(entries).first(shared), all);
    add(std::span(entries).subspan(shared), own);
  }
  return ledger;
}

Status Training::writeReport() {
  Ledger ledger = countTraffic();
  nlohmann::ordered_json report = describeTraffic(ledger.entries, info.mesh, ledger.counts);
  report["model"] = info.model;
  report["ranks"] = info.mesh.ranks();
  report["steps"] = nextStep - firstStep;
  report["arena_bytes"] = info.arenaBytes;
  report["peak_resident_bytes"] = peakResidentMemory();
  report["compiled"] = nlohmann::ordered_json::parse(info.report);
  return writeFile(job.options().report, report.dump(2) + "\n");
}

void Training::printCounters() {
  Ledger ledger = countTraffic();
  for (size_t i = 0; i < ledger.entries.size(); ++i) {
    const CollectiveCount &count = ledger.counts[i];
    bool isOfOne = job.set().count() > 1 && i >= job.set().sharedCollectives();
    std::string where = isOfOne ? fmt::format("pipeline rank {}: ", ledger.parts[i]) : "";
    printLine(fmt::format("{}{}: {} calls, {} bytes between ranks, {} predicted; {}", where,
                          ledger.entries[i].describe(info.mesh), count.calls, count.bytes,
                          count.predicted, ledger.entries[i].reason));
  }
  if (ledger.entries.empty())
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
    attempt(writeSafetensors(path, weightSources(job.set(), job.comm())));
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
