//===- StepLoop.cpp - The steps of one rank -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The decisions that end a run or leave out an update are taken on values that
// are equal on all ranks (or agreed on), so no rank waits for one that has left.
//===----------------------------------------------------------------------===//
#include "runtime/exec/StepLoop.h"

#include "runtime/exec/Comparison.h"
#include "runtime/exec/Signals.h"
#include <cmath>

namespace ptlrt {

using Clock = std::chrono::steady_clock;

StepLoop::StepLoop(Training &training, RankState &state)
    : training(training), state(state), job(training.job), info(job.info(state.rank.rank)),
      table(job.play(state.rank.rank)),
      loader(info.data, *training.source, info.mesh, state.rank.rank, info.microbatches,
             training.orderOf(info.data, *training.source, true), job.info().data),
      metrics(info.outputs.metrics.size()) {
  for (size_t i = 0; i < info.evals.size(); ++i) {
    const EvalInfo &eval = info.evals[i];
    BatchOrder order = training.orderOf(eval.data, *training.evalSources[i], false);
    int64_t batches = order.batchesPerPass();
    evalBatches.push_back(eval.batches > 0 ? std::min(eval.batches, batches) : batches);
    evalLoaders.emplace_back(eval.data, *training.evalSources[i], info.mesh, state.rank.rank, 1,
                             order, job.info().evals[i].data);
    evaluation.resize(evaluation.size() + 1 + eval.outputs.metrics.size());
  }
}

template <typename Work> Status StepLoop::alone(Work &&work) {
  PTLRT_TRY(state.comm->barrier());
  if (isTalker()) {
    int64_t begin = state.trace.now();
    PTLRT_TRY(work());
    state.trace.add(TraceKind::Checkpoint, state.rank.step, begin);
  }
  return state.comm->barrier();
}

Status StepLoop::run() {
  for (int64_t current = training.firstStep; current < info.steps && !ended; ++current) {
    Expected<int64_t> stop = state.comm->agree(stopSignal());
    if (stop.isError())
      return stop.status();
    if (*stop != 0) {
      if (isFirstHere())
        training.stopped = static_cast<int>(*stop);
      return Status::ok();
    }
    PTLRT_TRY(step(current));
  }
  return Status::ok();
}

Status StepLoop::step(int64_t step) {
  auto start = Clock::now();
  PTLRT_TRY(computeGradients(step));
  PTLRT_TRY(computeNorm());
  PTLRT_TRY(beforeUpdate());
  if (!ended)
    PTLRT_TRY(update());
  if (!ended)
    PTLRT_TRY(observe(&StepObserver::afterUpdate));
  if (ended)
    return Status::ok();
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (isFirstHere())
    training.nextStep = step + 1;
  if (job.options().checkReplicas)
    PTLRT_TRY(checkReplicas());
  PTLRT_TRY(evaluate(step));
  if (isTalker())
    PTLRT_TRY(reportStep(step, seconds));
  return checkpointIfDue(step);
}

void StepLoop::writeHypers(int64_t step) {
  for (const HyperInfo &hyper : info.hypers) {
    double value = hyper.scheduled ? info.schedule.rate(hyper.value, step) : hyper.value;
    state.floatAt(hyper.offset) = static_cast<float>(value);
  }
}

Status StepLoop::play(size_t index) {
  const Move &move = table.moves()[index];
  for (const MessageWait &wait : table.waitsOf(move))
    PTLRT_TRY(state.comm->finish(wait.port, wait.number));
  int64_t begin = state.trace.now();
  if (move.port >= 0)
    PTLRT_TRY(state.comm->post(move.port, move.slot));
  for (const SlotUse &use : table.slotsOf(move))
    state.rank.slots[use.pool] = use.slot;
  if (move.function)
    PTLRT_TRY(state.call(move.function, move.micro));
  state.trace.add(TraceKind::Instruction, static_cast<int64_t>(index), begin);
  return Status::ok();
}

Status StepLoop::computeGradients(int64_t step) {
  state.rank.step = step;
  state.rank.valid = loader.valid(step);
  int64_t begin = state.trace.now();
  PTLRT_TRY(loader.load(step, state.memory()));
  state.trace.add(TraceKind::Data, step, begin);
  writeHypers(step);
  position = 0;
  return playUntil(PTLRT_OP_NORM);
}

Status StepLoop::computeNorm() { return playUntil(PTLRT_OP_OPT); }

Status StepLoop::playUntil(uint32_t op) {
  std::span<const Move> moves = table.moves();
  for (; position < moves.size(); ++position) {
    if (moves[position].op == op || moves[position].op == PTLRT_OP_OPT)
      break;
    PTLRT_TRY(play(position));
  }
  return Status::ok();
}

Status StepLoop::update() {
  for (; position < table.moves().size(); ++position)
    if (!skipped || table.moves()[position].op != PTLRT_OP_OPT)
      PTLRT_TRY(play(position));
  return Status::ok();
}

Status StepLoop::observe(Status (StepObserver::*at)(RankState &, bool &)) {
  return training.observer ? (training.observer->*at)(state, ended) : Status::ok();
}

Status StepLoop::beforeUpdate() {
  skipped = false;
  if (!job.options().saveGradients.empty() && state.rank.step == training.firstStep)
    PTLRT_TRY(alone([&] { return training.writeGradients(); }));
  PTLRT_TRY(observe(&StepObserver::beforeUpdate));
  if (ended)
    return Status::ok();
  float loss = state.floatAt(info.outputs.loss);
  float norm = info.outputs.gradNorm >= 0 ? state.floatAt(info.outputs.gradNorm) : 0;
  if (std::isfinite(loss) && std::isfinite(norm))
    return Status::ok();
  if (info.skipNonfinite) {
    skipped = true;
    return Status::ok();
  }
  job.failEverywhere();
  return failure("loss {}, gradient norm {}: not finite; the weights are those before this step "
                 "('on_nonfinite skip' leaves such steps out)",
                 loss, norm);
}

Status StepLoop::evaluate(int64_t step) {
  evaluated = false;
  size_t position = 0;
  for (size_t i = 0; i < info.evals.size(); ++i) {
    const EvalInfo &eval = info.evals[i];
    size_t count = 1 + eval.outputs.metrics.size();
    bool isDue = eval.every > 0 ? (step + 1) % eval.every == 0 : step + 1 == info.steps;
    std::span<double> results(evaluation.data() + position, count);
    position += count;
    if (!isDue)
      continue;
    if (!std::exchange(evaluated, true))
      std::fill(evaluation.begin(), evaluation.end(), std::nan(""));
    PTLRT_TRY(evaluateOne(i, results));
  }
  state.rank.valid = loader.valid(step);
  return Status::ok();
}

void StepLoop::addOutputs(const OutputInfo &outputs, double weight, std::span<double> results) {
  results[0] += weight * state.floatAt(outputs.loss);
  for (size_t m = 0; m < outputs.metrics.size(); ++m)
    results[1 + m] += weight * state.floatAt(outputs.metrics[m].offset);
}

Status StepLoop::evaluateOne(size_t index, std::span<double> results) {
  const EvalInfo &eval = info.evals[index];
  BatchLoader &batches = evalLoaders[index];
  std::fill(results.begin(), results.end(), 0.0);
  double samples = 0;
  int64_t begin = state.trace.now();
  for (int64_t batch = 0; batch < evalBatches[index]; ++batch) {
    PTLRT_TRY(batches.load(batch, state.memory()));
    state.rank.valid = batches.valid(batch);
    PTLRT_TRY(state.call(job.program(state.rank.rank).functions[eval.function], batch));
    samples += static_cast<double>(state.rank.valid);
    if (!eval.end)
      addOutputs(eval.outputs, static_cast<double>(state.rank.valid), results);
  }
  if (eval.end) {
    PTLRT_TRY(state.call(job.program(state.rank.rank).functions[*eval.end], 0));
    addOutputs(eval.outputs, samples, results);
  }
  for (double &result : results)
    result /= samples;
  state.trace.add(TraceKind::Evaluation, state.rank.step, begin);
  return Status::ok();
}

Status StepLoop::compareWithFirst(const WeightInfo &weight, const std::string &name,
                                  TensorPart part) {
  std::vector<Holder> holders = holdersOf(job.set(), weight.tensor.name, part);
  const Holder &first = holders[firstHolder(holders, weight.tensor, info.mesh, state.rank.rank)];
  const Storage own = *storageOf(weight, part);
  ByteRange range = heldBytes(own, 4, info.mesh, state.rank.rank);
  if (first.rank == state.rank.rank || range.bytes == 0)
    return Status::ok();
  ByteRange theirs = heldBytes(first.storage, 4, info.mesh, first.rank);
  replica.resize(std::max(range.bytes, theirs.bytes));
  PTLRT_TRY(state.comm->fetch(first.rank, theirs.offset, theirs.bytes, replica.data()));
  const Layout &layout = first.storage.layout;
  if (layout.cols != own.layout.cols || layout.stride != own.layout.stride)
    return failure("'{}' lies in rows of {} here, of {} on rank {}", name, own.layout.cols,
                   layout.cols, first.rank);
  std::optional<Difference> found = compareReplicas(weight.tensor, own, info.mesh, state.rank.rank,
                                                    replica.data(), state.memory() + range.offset);
  if (!found)
    return Status::ok();
  return failure("replicas differ: element {} of '{}' is {} here, {} on rank {}",
                 indexOf(found->element, weight.tensor.shape), name, found->second, found->first,
                 first.rank);
}

Status StepLoop::checkReplicas() {
  PTLRT_TRY(state.comm->barrier());
  for (const WeightInfo &weight : info.weights) {
    const std::string &name = weight.tensor.name;
    PTLRT_TRY(compareWithFirst(weight, name, {}));
    for (size_t s = 0; s < weight.states.size(); ++s)
      PTLRT_TRY(compareWithFirst(weight, name + "#" + weight.states[s].name,
                                 {TensorPart::Kind::State, s}));
  }
  return state.comm->barrier();
}

Status StepLoop::reportStep(int64_t step, double seconds) {
  StepReport report;
  report.step = step;
  report.loss = state.floatAt(info.outputs.loss);
  report.hasNorm = info.outputs.gradNorm >= 0;
  if (report.hasNorm)
    report.gradNorm = state.floatAt(info.outputs.gradNorm);
  for (const HyperInfo &hyper : info.hypers)
    if (hyper.name == "lr") {
      report.learningRate = state.floatAt(hyper.offset);
      break;
    }
  report.skipped = skipped;
  report.seconds = seconds;
  report.tokensPerSecond = static_cast<double>(state.rank.valid * info.tokensPerSample) / seconds;
  for (size_t i = 0; i < metrics.size(); ++i)
    metrics[i] = state.floatAt(info.outputs.metrics[i].offset);
  report.metrics = metrics;
  if (evaluated)
    report.evaluation = evaluation;
  return training.reporter->step(report);
}

Status StepLoop::checkpointIfDue(int64_t step) {
  const std::optional<CheckpointInfo> &checkpoint = info.checkpoint;
  if (!checkpoint || checkpoint->every <= 0 || (step + 1) % checkpoint->every != 0)
    return Status::ok();
  return alone([&] { return training.saveCheckpoint(); });
}

} // namespace ptlrt
