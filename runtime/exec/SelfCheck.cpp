//===- SelfCheck.cpp - A mesh of ranks against one rank -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The talker owns the run on one rank and moves it on while the ranks of the mesh
// wait. It takes over the mesh's gradients once they have been compared, so that
// each update is compared by itself: an optimizer that divides by a gradient's
// size would make rounding in small gradients as large as the learning rate.
//===----------------------------------------------------------------------===//
#include "runtime/exec/SelfCheck.h"

#include "runtime/core/Bfloat16.h"
#include "runtime/core/Log.h"
#include "runtime/exec/Comparison.h"
#include "runtime/exec/StepLoop.h"
#include <algorithm>
#include <cstring>

namespace ptlrt {

/// What rounding explains: of the loss (at least of kLeastLoss), of the gradients' norm, of the
/// largest value of a tensor. A gradient that is zero but for rounding is measured by a part of the
/// largest gradient of all. Norm and weights follow from equal gradients, in f32 always.
struct Tolerance {
  double loss, gradient, leastGradient;
};
static constexpr Tolerance kFloat = {1e-5, 1e-4, 1e-3}, kBf16 = {1e-3, 3e-2, 3e-2};
static constexpr double kLeastLoss = 0.1, kNorm = 1e-5, kWeight = 1e-5;
static constexpr size_t kNotes = 9;

namespace {

/// The run on one rank.
struct OneRank {
  std::unique_ptr<Job> job;
  std::unique_ptr<Training> training;
  std::unique_ptr<cpu::Device> device;
  std::optional<StepLoop> loop;

  RankState &state() const { return *job->ranks().front(); }
};

/// A tensor of both runs.
struct Pair {
  const WeightInfo *weight;
  std::string name;
  const TensorInfo *tensor, *tensorOfOne;
  std::vector<Holder> holders; ///< on the mesh
  Layout layoutOfOne;
};

struct Finding {
  std::string place, text;
};

/// The largest difference of some tensors, as a part of the tensor's largest value.
struct Worst {
  double part = 0;
  std::string name;
};

class SelfCheck : public StepObserver {
public:
  explicit SelfCheck(Job &job)
      : job(job), info(job.info()), tolerance(info.bf16 ? kBf16 : kFloat) {}
  /// Gets the run on one rank ready. Only the talker calls this.
  Status open(const ptlrt_program_t &program, const Options &options);
  Expected<int> run();

  Status beforeUpdate(RankState &state, bool &ended) override {
    return together(state, ended, [this](RankState &talker) { return compareGradients(talker); });
  }
  Status afterUpdate(RankState &state, bool &ended) override {
    return together(state, ended, [this](RankState &talker) { return compareWeights(talker); });
  }

private:
  template <typename Work> Status together(RankState &state, bool &ended, Work &&work);
  Status pairUp();
  Status compareGradients(RankState &talker);
  Status compareWeights(RankState &talker);
  void compareLoss(RankState &talker);
  void compareNorm(RankState &talker);
  void compareNumber(const std::string &name, float mesh, float alone, double limit);
  Expected<Worst> comparePairs(std::span<const Pair> pairs, double part, double least,
                               RankState &talker, const std::string &when);
  Status describe(const Pair &pair, double limit, const Distance &distance, RankState &talker,
                  const std::string &when);
  Status compareRanks(const Pair &pair, RankState &talker, const std::string &when);
  Status takeGradients(RankState &talker);
  TensorSource onMesh(const Pair &pair, RankState &talker) const {
    return sourceOf(pair.name, *pair.tensor, pair.holders, info.mesh, *talker.comm);
  }
  TensorSource onOne(const Pair &pair) const {
    return sourceOf(pair.name, *pair.tensorOfOne, pair.layoutOfOne, one.job->info().mesh,
                    *one.state().comm);
  }
  void add(const std::string &place, std::string text) {
    findings.push_back({place.empty() ? info.source : place, std::move(text)});
  }
  void report() const;

  Job &job;
  const ProgramInfo &info;
  const Tolerance &tolerance;
  OneRank one;
  std::vector<Pair> gradients, weights; ///< and states
  std::vector<Finding> findings;
  std::string stepText; ///< what the gradients of a step have shown
  bool failed = false;  ///< known to every process
};

} // namespace

Status SelfCheck::pairUp() {
  const ProgramInfo &other = one.job->info();
  bool isSame = info.weights.size() == other.weights.size();
  for (size_t i = 0; isSame && i < info.weights.size(); ++i) {
    const WeightInfo &mine = info.weights[i];
    const WeightInfo *found = other.findWeight(mine.tensor.name);
    isSame = found != nullptr;
    if (!isSame)
      break;
    const WeightInfo &its = *found;
    isSame = mine.tensor.shape == its.tensor.shape && mine.states.size() == its.states.size() &&
             mine.gradient.has_value() == its.gradient.has_value();
    if (!isSame)
      break;
    const std::string &name = mine.tensor.name;
    auto held = [&](TensorPart part) { return holdersOf(job.set(), name, part); };
    weights.push_back({&mine, name, &mine.tensor, &its.tensor, held({}), its.tensor.layout});
    if (mine.gradient)
      gradients.push_back({&mine, name, &*mine.gradient, &*its.gradient,
                           held({TensorPart::Kind::Gradient, 0}), its.gradient->layout});
    for (size_t s = 0; s < mine.states.size(); ++s)
      weights.push_back({&mine, name + "#" + mine.states[s].name, &mine.tensor, &its.tensor,
                         held({TensorPart::Kind::State, s}), its.states[s].storage.layout});
  }
  return isSame ? Status::ok() : failure("the program for one rank has other weights");
}

Status SelfCheck::open(const ptlrt_program_t &program, const Options &options) {
  Options quiet = options;
  quiet.quiet = true;
  quiet.ranks.reset();
  Expected<std::unique_ptr<Job>> created = Job::create(program, quiet);
  if (created.isError())
    return created.status();
  one.job = std::move(*created);
  PTLRT_TRY(pairUp());
  one.training = std::make_unique<Training>(*one.job);
  PTLRT_TRY(one.training->prepare());
  one.device = one.job->makeDevice();
  one.state().device = one.device.get();
  one.job->fill(one.state());
  one.loop.emplace(*one.training, one.state());
  if (!job.options().quiet)
    printLine(fmt::format("{}: {} against one rank, {} steps of {} samples", info.model,
                          info.mesh.describe(), *options.check, info.batch));
  return Status::ok();
}

/// The talker does `work` while the others wait; a finding ends the run of all.
template <typename Work> Status SelfCheck::together(RankState &state, bool &ended, Work &&work) {
  PTLRT_TRY(state.comm->barrier());
  bool isTalker = state.rank.rank == 0;
  if (isTalker)
    PTLRT_TRY(work(state));
  Expected<int64_t> stop = state.comm->agree(isTalker && !findings.empty());
  if (stop.isError())
    return stop.status();
  ended = *stop != 0;
  if (ended && &state == job.ranks().front().get())
    failed = true;
  return Status::ok();
}

void SelfCheck::compareNumber(const std::string &name, float mesh, float alone, double limit) {
  bool isClose = std::abs(static_cast<double>(mesh) - alone) <= limit;
  if (isClose || mesh == alone || (std::isnan(mesh) && std::isnan(alone)))
    return;
  add(info.outputs.line, fmt::format("{} is {:.9g} on the mesh, {:.9g} on one rank; rounding "
                                     "explains a difference of {:.2g}",
                                     name, mesh, alone, limit));
}

void SelfCheck::compareLoss(RankState &talker) {
  const OutputInfo &outputs = job.info(0).outputs, &others = one.job->info().outputs;
  float loss = talker.floatAt(outputs.loss), alone = one.state().floatAt(others.loss);
  compareNumber(fmt::format("loss of step {}", talker.rank.step), loss, alone,
                tolerance.loss * std::max<double>(std::abs(alone), kLeastLoss));
  stepText = fmt::format("step {}: loss {:.6f}, differs by {:.1e}; largest differences of",
                         talker.rank.step, loss, std::abs(static_cast<double>(loss) - alone));
}

void SelfCheck::compareNorm(RankState &talker) {
  const OutputInfo &outputs = job.info(0).outputs, &others = one.job->info().outputs;
  if (outputs.gradNorm < 0 || others.gradNorm < 0)
    return;
  float alone = one.state().floatAt(others.gradNorm);
  compareNumber(fmt::format("gradient norm of step {}", talker.rank.step),
                talker.floatAt(outputs.gradNorm), alone, kNorm * std::abs(alone));
}

Status SelfCheck::describe(const Pair &pair, double limit, const Distance &distance,
                           RankState &talker, const std::string &when) {
  Expected<std::optional<Difference>> found = findBeyond(onMesh(pair, talker), onOne(pair), limit);
  if (found.isError())
    return found.status();
  const Difference &first = **found;
  add(pair.weight->line,
      fmt::format("{} '{}' differs from that of one rank: element {} is {:.9g} on the mesh, {:.9g} "
                  "on one rank; the largest difference is {:.2g}, rounding explains {:.2g}",
                  when, pair.name, indexOf(first.element, pair.weight->tensor.shape), first.first,
                  first.second, distance.difference, limit));
  return Status::ok();
}

Status SelfCheck::compareRanks(const Pair &pair, RankState &talker, const std::string &when) {
  const TensorInfo &tensor = *pair.tensor;
  std::vector<uint8_t> first, second;
  size_t fetched = pair.holders.size();
  auto fetch = [&](const Holder &from, std::vector<uint8_t> &to) {
    ByteRange range = heldBytes(from.storage, elementSize(tensor.element), info.mesh, from.rank);
    to.resize(range.bytes);
    return talker.comm->fetch(from.rank, range.offset, range.bytes, to.data());
  };
  for (size_t number = 0; number < pair.holders.size(); ++number) {
    const Holder &own = pair.holders[number];
    int rank = own.rank;
    size_t other = firstHolder(pair.holders, tensor, info.mesh, rank);
    if (other == number ||
        heldBytes(own.storage, elementSize(tensor.element), info.mesh, rank).bytes == 0)
      continue;
    int holder = pair.holders[other].rank;
    if (std::exchange(fetched, other) != other)
      PTLRT_TRY(fetch(pair.holders[other], first));
    PTLRT_TRY(fetch(own, second));
    std::optional<Difference> found =
        compareReplicas(tensor, own.storage, info.mesh, rank, first.data(), second.data());
    if (!found)
      continue;
    add(pair.weight->line,
        fmt::format(
            "{} '{}' differs between ranks: element {} is {:.9g} on rank {}, {:.9g} on rank "
            "{}; replicas must agree in every bit",
            when, pair.name, indexOf(found->element, tensor.shape), found->first, holder,
            found->second, rank));
    return Status::ok();
  }
  return Status::ok();
}

Expected<Worst> SelfCheck::comparePairs(std::span<const Pair> pairs, double part, double least,
                                        RankState &talker, const std::string &when) {
  std::vector<Distance> distances;
  double largest = 0;
  for (const Pair &pair : pairs) {
    Expected<Distance> distance = measureDistance(onMesh(pair, talker), onOne(pair));
    if (distance.isError())
      return distance.status();
    distances.push_back(*distance);
    largest = std::max(largest, distance->largest);
  }
  Worst worst;
  for (size_t i = 0; i < pairs.size(); ++i) {
    double scale = std::max(distances[i].largest, least * largest);
    if (distances[i].difference > part * scale)
      PTLRT_TRY(describe(pairs[i], part * scale, distances[i], talker, when));
    else
      PTLRT_TRY(compareRanks(pairs[i], talker, when));
    if (double found = scale > 0 ? distances[i].difference / scale : 0; found > worst.part)
      worst = {found, pairs[i].name};
  }
  return worst;
}

/// Writes numbers as f32 or bf16.
static void putFloats(const float *from, int64_t count, Element element, uint8_t *to) {
  if (element == Element::F32)
    std::memcpy(to, from, count * sizeof(float));
  else
    std::transform(from, from + count, reinterpret_cast<uint16_t *>(to), toBfloat16);
}

Status SelfCheck::takeGradients(RankState &talker) {
  constexpr int64_t kChunk = 1 << 16;
  std::vector<float> values(kChunk);
  for (const Pair &pair : gradients) {
    TensorSource source = onMesh(pair, talker);
    for (int64_t begin = 0, end = pair.tensorOfOne->elements(); begin < end; begin += kChunk) {
      int64_t count = std::min(kChunk, end - begin);
      PTLRT_TRY(source.read(begin, count, values.data()));
      const float *from = values.data();
      Element element = pair.tensorOfOne->element;
      forEachPart(pair.layoutOfOne, elementSize(element), begin, count,
                  [&](int64_t offset, int64_t part) {
                    putFloats(from, part, element, one.state().memory() + offset);
                    from += part;
                  });
    }
  }
  return Status::ok();
}

static std::string textOf(const char *kind, const Worst &worst) {
  return worst.part == 0 ? fmt::format(" {} 0", kind)
                         : fmt::format(" {} {:.1e} ('{}')", kind, worst.part, worst.name);
}

Status SelfCheck::compareGradients(RankState &talker) {
  PTLRT_TRY(one.loop->computeGradients(talker.rank.step));
  compareLoss(talker);
  Expected<Worst> worst =
      comparePairs(gradients, tolerance.gradient, tolerance.leastGradient, talker,
                   fmt::format("in step {}, the gradient of", talker.rank.step));
  if (worst.isError())
    return worst.status();
  stepText += textOf("gradients", *worst);
  if (!findings.empty())
    return Status::ok();
  PTLRT_TRY(takeGradients(talker));
  PTLRT_TRY(one.loop->computeNorm());
  compareNorm(talker);
  return Status::ok();
}

Status SelfCheck::compareWeights(RankState &talker) {
  PTLRT_TRY(one.loop->beforeUpdate());
  PTLRT_TRY(one.loop->update());
  Expected<Worst> worst =
      comparePairs(weights, kWeight, 0, talker, fmt::format("after step {},", talker.rank.step));
  if (worst.isError())
    return worst.status();
  if (!job.options().quiet)
    printLine(stepText + "," + textOf("weights", *worst));
  return Status::ok();
}

void SelfCheck::report() const {
  for (size_t i = 0; i < std::min(findings.size(), kNotes); ++i)
    printAt(findings[i].place, i == 0 ? "error" : "note", findings[i].text);
  if (findings.size() > kNotes)
    printAt(info.source, "note", fmt::format("{} more differ", findings.size() - kNotes));
}

Expected<int> SelfCheck::run() {
  Expected<int> status = Training(job, this).run();
  if (status.isError())
    return status;
  report();
  if (*status == 0 && !failed && job.isTalker() && !job.options().quiet)
    printLine(fmt::format("check passed: loss, {} gradients, {} weights and states, and all "
                          "replicas agree",
                          gradients.size(), weights.size()));
  return failed ? 1 : *status;
}

Expected<int> runSelfCheck(const ptlrt_program_t &program, const ptlrt_program_t *one,
                           const Options &options, Processes *processes) {
  Expected<std::unique_ptr<Job>> job = Job::create(program, options, processes);
  if (job.isError())
    return job.status();
  if ((*job)->info().mesh.ranks() == 1)
    return failure("'--check' compares a mesh of ranks with one rank; this program was compiled "
                   "for one rank");
  if (!one)
    return failure("'--check' has nothing to compare with: this program was compiled with "
                   "'ptlc --no-check'");
  SelfCheck check(**job);
  if ((*job)->isTalker())
    PTLRT_TRY(check.open(*one, options));
  return check.run();
}

} // namespace ptlrt
