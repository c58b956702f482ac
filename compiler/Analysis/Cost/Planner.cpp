//===- Planner.cpp - Search for the fastest plan --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/Planner.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace ptlc::cost;

std::string Candidate::kind() const {
  std::vector<std::string> words;
  if (tensor > 1)
    words.push_back("tp");
  if (layout.stages > 1)
    words.push_back("pp");
  if (layout.dataRanks > 1) {
    std::string word = layout.zero ? "z" + std::to_string(layout.zero) : "dp";
    words.push_back(word + (layout.shardRanks < layout.dataRanks ? "h" : ""));
  }
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : "+") + word;
  return text.empty() ? "single" : text;
}

double Candidate::complexity() const {
  static constexpr double kZero[] = {0, 1, 2, 2};
  return 3 * (layout.stages > 1) + 2 * (tensor > 1) + kZero[layout.zero] +
         (layout.shardRanks < layout.dataRanks) + (layout.remat != Remat::None) +
         (layout.schedule != Schedule::OneFOneB) + 0.5 * sequence;
}

std::string Candidate::schedule() const {
  switch (layout.schedule) {
  case Schedule::GPipe:
    return "gpipe";
  case Schedule::OneFOneB:
    return "one_f_one_b";
  case Schedule::Interleaved:
    return "interleaved(" + std::to_string(layout.chunks) + ")";
  case Schedule::ZbH1:
    return "zb_h1";
  case Schedule::ZbV:
    return "zb_v";
  }
  return "";
}

static std::vector<unsigned> divisors(unsigned number) {
  std::vector<unsigned> result;
  for (unsigned i = 1; i <= number; ++i)
    if (number % i == 0)
      result.push_back(i);
  return result;
}

namespace {
/// A share of the parts whose activations are computed again.
struct RematChoice {
  Remat remat;
  double share;
};

/// One search. Members are the choices that outer loops have made.
class Searcher {
public:
  Searcher(ProfileSource &source, const PlanSpace &space, const Times &times)
      : source(source), space(space), times(times),
        ranks(static_cast<unsigned>(times.machine.ranks())) {}
  Search run();

private:
  void withTensor(unsigned tensor);
  bool divides(unsigned stages) const;
  void withStages(unsigned stages);
  void withStorage();
  void withMemory();
  bool withSamples();
  bool withSchedules();
  bool withSchedule();
  void time();
  bool isIdleRemat() const;
  bool stateFits();
  std::vector<unsigned> chunkCounts() const;
  const std::vector<UnitTime> &unitsOf(const Profile &profile);

  ProfileSource &source;
  const PlanSpace &space;
  const Times &times;
  unsigned ranks;
  Candidate now;
  const Profile *profile = nullptr;
  std::map<const Profile *, std::vector<UnitTime>> units;
  Search result;
};
} // namespace

static constexpr RematChoice kChoices[] = {{Remat::None, 1},    {Remat::Selective, 1},
                                           {Remat::Full, 0.25}, {Remat::Full, 0.5},
                                           {Remat::Full, 0.75}, {Remat::Full, 1}};

/// Axes of tensors are innermost in every order, so the times of units are always the same.
const std::vector<UnitTime> &Searcher::unitsOf(const Profile &profile) {
  auto found = units.find(&profile);
  if (found == units.end())
    found = units.emplace(&profile, unitTimes(profile, now.layout, times)).first;
  return found->second;
}

bool Searcher::stateFits() {
  const Profile *smallest = source.profile(now.tensor, false, 1);
  if (!smallest)
    return false;
  std::vector<StageMemory> all = memoryOf(*smallest, now.layout);
  return llvm::all_of(
      all, [&](const StageMemory &memory) { return memory.state() <= times.machine.memory; });
}

void Searcher::time() {
  now.time = timeOf(*profile, unitsOf(*profile), now.layout, times);
  ++result.timed;
  result.fits.push_back(now);
}

/// Whether the choice of recomputation keeps as much as none would.
bool Searcher::isIdleRemat() const {
  auto remat = static_cast<unsigned>(now.layout.remat);
  return remat > 0 && llvm::all_of(profile->units, [&](const Unit &unit) {
           return !unit.isPart || unit.keptBytes[remat] == unit.keptBytes[0];
         });
}

bool Searcher::withSchedule() {
  now.memory = peakOf(*profile, now.layout);
  now.bytes = now.memory.state() + space.reserve +
              (1 + space.fragmentation) * (now.memory.total() - now.memory.state());
  if (now.bytes > times.machine.memory) {
    ++result.tooLarge;
    return false;
  }
  bool both = now.layout.stages > 1 && now.layout.dataRanks > 1;
  for (bool stagesInside : {false, true}) {
    if (stagesInside && !both)
      continue;
    now.layout.order.clear();
    for (size_t axis = profile->axes.size(); axis-- > 0;)
      if (!(profile->dataAxes >> axis & 1))
        now.layout.order.push_back(static_cast<int>(axis));
    now.layout.order.push_back(stagesInside ? Layout::kStages : Layout::kData);
    now.layout.order.push_back(stagesInside ? Layout::kData : Layout::kStages);
    time();
    size_t count = result.fits.size();
    if (stagesInside && result.fits[count - 1].time.total == result.fits[count - 2].time.total)
      result.fits.pop_back();
  }
  return true;
}

/// Chunks of `interleaved`, which needs equal stages and whole rounds of micro-batches.
std::vector<unsigned> Searcher::chunkCounts() const {
  std::vector<unsigned> counts;
  unsigned stages = now.layout.stages;
  if (stages <= 1 || space.parts % stages ||
      static_cast<unsigned>(now.layout.microbatches) % stages)
    return counts;
  for (unsigned chunks : divisors(space.parts / stages))
    if (chunks > 1 && chunks <= space.mostChunks)
      counts.push_back(chunks);
  return counts;
}

/// Whether few places for parts in `stages` stay empty.
bool Searcher::divides(unsigned stages) const {
  unsigned slots = (space.parts + stages - 1) / stages * stages;
  return stages == 1 || (stages <= space.parts && slots <= space.parts * (1 + space.uneven));
}

/// Returns whether any schedule fits. A split backward with `remat full` would keep what it has
/// computed again.
bool Searcher::withSchedules() {
  now.layout.schedule = Schedule::OneFOneB;
  now.layout.chunks = 1;
  bool any = withSchedule();
  if (now.layout.stages == 1)
    return any;
  if (now.layout.remat != Remat::Full) {
    now.layout.schedule = Schedule::ZbH1;
    any |= withSchedule();
    now.layout.schedule = Schedule::ZbV;
    any |= divides(2 * now.layout.stages) && withSchedule();
  }
  now.layout.schedule = Schedule::Interleaved;
  for (unsigned chunks : chunkCounts()) {
    now.layout.chunks = chunks;
    any |= withSchedule();
  }
  return any;
}

/// Returns whether anything fits.
bool Searcher::withSamples() {
  profile = source.profile(now.tensor, now.sequence, now.samples);
  if (!profile || isIdleRemat())
    return false;
  now.layout.sequenceCut = now.sequence;
  return withSchedules();
}

void Searcher::withMemory() {
  for (bool sequence : {false, true}) {
    if (sequence && (now.tensor == 1 || !space.canCutSequence))
      continue;
    now.sequence = sequence;
    double share = space.batch / now.layout.dataRanks;
    for (unsigned samples = 1; samples <= space.mostSamples; samples *= 2) {
      if (std::fmod(share, samples) != 0)
        break;
      now.samples = samples;
      now.layout.microbatches = share / samples;
      if (!withSamples())
        break;
    }
  }
}

void Searcher::withStorage() {
  double local = std::max(1.0, std::floor(times.machine.devices / now.tensor));
  double data = now.layout.dataRanks;
  for (int zero = 0; zero <= (data > 1 ? 3 : 0); ++zero) {
    std::vector<double> sharing = {data};
    if (zero == 3 && local > 1 && local < data && std::fmod(data, local) == 0)
      sharing.push_back(local);
    for (double shards : sharing) {
      now.layout.zero = zero;
      now.layout.shardRanks = shards;
      now.layout.microbatches = 1; // least memory
      if (!stateFits()) {
        ++result.tooLarge;
        continue;
      }
      for (const RematChoice &choice : kChoices) {
        now.layout.remat = choice.remat;
        now.layout.rematShare = choice.share;
        withMemory();
      }
    }
  }
}

void Searcher::withStages(unsigned stages) {
  now.layout.stages = stages;
  now.layout.dataRanks = static_cast<double>(ranks / now.tensor / stages);
  if (std::fmod(space.batch, now.layout.dataRanks) == 0)
    withStorage();
}

void Searcher::withTensor(unsigned tensor) {
  now.tensor = tensor;
  for (unsigned stages : divisors(ranks / tensor))
    if (divides(stages))
      withStages(stages);
}

Search Searcher::run() {
  now.layout.bytes = space.bytes;
  now.layout.overlapTensor = now.layout.overlapData = true;
  for (unsigned tensor : space.tensor)
    if (ranks % tensor == 0)
      withTensor(tensor);
  llvm::stable_sort(result.fits, [](const Candidate &a, const Candidate &b) {
    return a.time.total < b.time.total;
  });
  result.chosen = simplestOf(result.fits, result.fits.size(), space.tolerance);
  return std::move(result);
}

size_t ptlc::cost::simplestOf(const std::vector<Candidate> &fits, size_t count, double tolerance) {
  size_t chosen = 0;
  for (size_t i = 0; i < count; ++i) {
    if (fits[i].time.total > fits.front().time.total * (1 + tolerance))
      break;
    auto key = [](const Candidate &candidate) {
      return std::tuple(candidate.complexity(), candidate.layout.stages, candidate.tensor,
                        candidate.time.total);
    };
    if (key(fits[i]) < key(fits[chosen]))
      chosen = i;
  }
  return chosen;
}

Search ptlc::cost::searchPlans(ProfileSource &source, const PlanSpace &space, const Times &times) {
  return Searcher(source, space, times).run();
}
