//===- Sampling.cpp - Text from a trained model ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All ranks compute the logits of the same window; rank 0 draws and tells the
// others. Attention is causal, so what stands after the last id changes nothing.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Sampling.h"

#include "runtime/core/Number.h"
#include "runtime/exec/Signals.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace ptlrt {

size_t drawToken(std::span<const float> logits, double temperature, int64_t topK, double u) {
  auto best = static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  if (temperature <= 0)
    return best;
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (topK > 0 && topK < static_cast<int64_t>(order.size())) {
    // Equal logits: the lower id first, so that the choice is the same everywhere.
    auto before = [&](size_t a, size_t b) {
      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    std::partial_sort(order.begin(), order.begin() + topK, order.end(), before);
    order.resize(topK);
  }
  double total = 0;
  auto weightOf = [&](size_t id) {
    return std::exp((static_cast<double>(logits[id]) - logits[best]) / temperature);
  };
  for (size_t id : order)
    total += weightOf(id);
  double rest = u * total;
  for (size_t id : order)
    if ((rest -= weightOf(id)) < 0)
      return id;
  return best;
}

namespace {

class Sampler {
public:
  Sampler(Job &job, bool isText) : job(job), sample(*job.info().sample), isText(isText) {}
  Status readPrompt();
  Status run(RankState &state);
  void print(int64_t id) const;

private:
  std::vector<Holder> holders() const;
  void writeWindow(RankState &state, std::span<const int64_t> ids) const;
  Expected<int64_t> draw(const TensorSource &logits, size_t position, size_t index) const;

  Job &job;
  const SampleInfo &sample;
  bool isText;
  std::vector<int64_t> prompt;
};

} // namespace

Status Sampler::readPrompt() {
  const std::string &text = job.options().prompt;
  if (isText) {
    for (char c : text)
      prompt.push_back(static_cast<unsigned char>(c));
  } else {
    size_t at = 0;
    while ((at = text.find_first_not_of(", ", at)) != std::string::npos) {
      size_t end = std::min(text.find_first_of(", ", at), text.size());
      std::optional<int64_t> id = parseInteger(text.substr(at, end - at));
      if (!id)
        return failure("'--prompt': '{}' isn't a token id; this model's tokens aren't bytes, so "
                       "the prompt is a list of ids",
                       text.substr(at, end - at));
      prompt.push_back(*id);
      at = end;
    }
  }
  if (prompt.empty())
    prompt.push_back(isText ? '\n' : 0);
  for (int64_t id : prompt)
    if (id < 0 || id >= sample.vocab)
      return failure("'--prompt': token {} is outside [0, {})", id, sample.vocab);
  return Status::ok();
}

void Sampler::print(int64_t id) const {
  if (isText)
    (void)std::fputc(static_cast<int>(id), stdout);
  else
    fmt::print("{} ", id);
  (void)std::fflush(stdout);
}

/// The ranks that make the logits.
std::vector<Holder> Sampler::holders() const {
  std::vector<Holder> list;
  for (int rank = 0; rank < job.info().mesh.ranks(); ++rank)
    if (const std::optional<TensorInfo> &logits = job.info(rank).sample->logits)
      list.push_back({rank, logits->storage()});
  return list;
}

void Sampler::writeWindow(RankState &state, std::span<const int64_t> ids) const {
  const std::optional<TensorInfo> &field = job.info(state.rank.rank).sample->field;
  if (!field)
    return;
  forEachRun(pieceOf(*field, job.info().mesh, state.rank.rank), [&](Run run) {
    int64_t global = run.global;
    forEachPart(field->layout, 4, run.local, run.count, [&](int64_t offset, int64_t count) {
      auto *to = reinterpret_cast<int32_t *>(state.memory() + offset);
      for (int64_t i = 0; i < count; ++i, ++global)
        to[i] = global < static_cast<int64_t>(ids.size()) ? static_cast<int32_t>(ids[global]) : 0;
    });
    return true;
  });
}

Expected<int64_t> Sampler::draw(const TensorSource &logits, size_t position, size_t index) const {
  std::vector<float> row(sample.vocab);
  PTLRT_TRY(logits.read(static_cast<int64_t>(position) * sample.vocab, sample.vocab, row.data()));
  for (float value : row)
    if (!std::isfinite(value))
      return failure("the logits of token {} are not finite", index);
  double u = RandomStream(job.info().seed, "sample").uniform(index, 0);
  return static_cast<int64_t>(drawToken(row, job.options().temperature, job.options().topK, u));
}

Status Sampler::run(RankState &state) {
  std::vector<int64_t> ids = prompt;
  bool isTalker = state.rank.rank == 0;
  TensorSource logits = sourceOf("logits", *sample.logits, holders(), job.info().mesh, *state.comm);
  if (isTalker)
    std::for_each(ids.begin(), ids.end(), [&](int64_t id) { print(id); });
  state.rank.valid = 1;
  for (int64_t count = 0; count < job.options().tokens; ++count) {
    size_t length = std::min<size_t>(ids.size(), sample.seq);
    writeWindow(state, std::span(ids).last(length));
    PTLRT_TRY(state.call(
        job.program(state.rank.rank).functions[job.info(state.rank.rank).sample->function], 0));
    PTLRT_TRY(state.comm->barrier());
    int64_t next = -1;
    if (isTalker && stopSignal() == 0) {
      Expected<int64_t> drawn = draw(logits, length - 1, ids.size());
      if (drawn.isError())
        return drawn.status();
      next = *drawn;
      print(next);
    }
    Expected<int64_t> agreed = state.comm->agree(next);
    if (agreed.isError())
      return agreed.status();
    if (*agreed < 0)
      break;
    ids.push_back(*agreed);
  }
  return Status::ok();
}

Expected<int> runSampling(Job &job) {
  if (!job.info().sample)
    return failure("this program can't sample: its model has no 'fn logits(tokens)'");
  bool isText = job.info().data.kind == DataKind::Text || job.info().sample->vocab == 256;
  Sampler sampler(job, isText);
  PTLRT_TRY(sampler.readPrompt());
  PTLRT_TRY(job.allocate());
  PTLRT_TRY(job.runRanks([&](RankState &state) { return sampler.run(state); }));
  if (job.isTalker())
    fmt::print("\n");
  return stopSignal() == 0 ? 0 : 128 + stopSignal();
}

} // namespace ptlrt
