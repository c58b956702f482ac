//===- PlayPlans.cpp - Pipelines of planned layouts, played ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A closed form leaves out that the ranks of a full pipeline wait for messages, too:
// micro-batches in flight are few, so the way there and back is part of each round.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/PlayPlans.h"

#include "compiler/Schedule/Generators.h"
#include "compiler/Schedule/Lower.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace ptlc;

/// A link for each pair of ranks, by whether they share a node.
static std::vector<schedule::Link> linksOf(const cost::Times &times, const cost::Placement &place,
                                           int ranks) {
  std::vector<schedule::Link> links;
  auto nodeOf = [&](int rank) {
    return std::floor(rank * place.ranksBetweenStages() / times.machine.devices);
  };
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      bool leaves = nodeOf(from) != nodeOf(to);
      links.push_back({times.pointLatency(leaves), times.pointRate(leaves)});
    }
  return links;
}

schedule::Costs ptlc::predictedCosts(const cost::Profile &profile, const cost::Layout &layout,
                                     const cost::Times &times, int ranks,
                                     const std::vector<std::vector<unsigned>> &stages) {
  schedule::Costs costs;
  for (auto *list :
       {&costs.forward, &costs.backward, &costs.weight, &costs.loss, &costs.update, &costs.reduce})
    list->clear();
  std::vector<cost::UnitTime> units = unitTimes(profile, layout, times);
  for (const cost::StageTime &stage : stageTimes(profile, units, layout, times, stages)) {
    costs.forward.push_back(stage.forward);
    costs.backward.push_back(stage.backward);
    costs.weight.push_back(stage.weight);
    costs.loss.push_back(stage.loss);
    costs.update.push_back(stage.update);
    costs.reduce.push_back(stage.reduce);
  }
  costs.tie = tieTime(profile, layout, times, stages);
  costs.links = linksOf(times, cost::Placement(profile, layout, times.machine), ranks);
  return costs;
}

static std::optional<schedule::Kind> kindOf(cost::Schedule wish) {
  switch (wish) {
  case cost::Schedule::GPipe:
    return schedule::Kind::GPipe;
  case cost::Schedule::OneFOneB:
    return schedule::Kind::OneForwardOneBackward;
  case cost::Schedule::Interleaved:
    return schedule::Kind::Interleaved;
  case cost::Schedule::ZbH1:
    return schedule::Kind::ZbH1;
  case cost::Schedule::ZbV:
    return schedule::Kind::ZbV;
  }
  return std::nullopt;
}

namespace {
/// The tables of one pipeline for different numbers of micro-batches.
class Player {
public:
  Player(const cost::Profile &profile, const cost::Layout &layout, const cost::Times &times,
         schedule::Kind kind)
      : kind(kind), ranks(static_cast<int>(layout.stages)),
        chunks(kind == schedule::Kind::ZbV ? 2 : static_cast<int>(layout.chunks)) {
    auto stages = static_cast<unsigned>(ranks * chunks);
    costs = predictedCosts(profile, layout, times, ranks, stagesOf(profile, stages));
    costs.reduce = costs.update = {0};
    costs.tie = 0;
    edges =
        schedule::chain(ranks * chunks, static_cast<uint64_t>(cost::edgeBytes(profile, layout)));
  }

  std::optional<double> seconds(int micros) const {
    std::string error;
    std::optional<schedule::Orders> orders = schedule::generate(kind, ranks, micros, chunks, error);
    schedule::LowerOptions options;
    options.edges = edges;
    schedule::Stuck stuck;
    std::optional<schedule::Table> table =
        orders ? schedule::lower(*orders, options, stuck) : std::nullopt;
    std::optional<schedule::Simulation> result =
        table ? schedule::simulate(*table, costs) : std::nullopt;
    return result ? std::optional(result->makespan) : std::nullopt;
  }

private:
  schedule::Kind kind;
  int ranks, chunks;
  schedule::Costs costs;
  std::vector<schedule::Edge> edges;
};
} // namespace

static constexpr int kRounds = 4; ///< of as many micro-batches as ranks

std::optional<double> ptlc::playedSeconds(const cost::Profile &profile, const cost::Layout &layout,
                                          const cost::Times &times) {
  std::optional<schedule::Kind> kind = kindOf(layout.schedule);
  if (!kind || layout.stages <= 1)
    return std::nullopt;
  Player player(profile, layout, times, *kind);
  auto micros = static_cast<int>(layout.microbatches), ranks = static_cast<int>(layout.stages);
  if (micros <= (kRounds + 1) * ranks)
    return player.seconds(micros);
  std::optional<double> all = player.seconds(kRounds * ranks),
                        less = player.seconds((kRounds - 1) * ranks);
  if (!all || !less)
    return std::nullopt;
  return *all + (*all - *less) * static_cast<double>(micros - kRounds * ranks) / ranks;
}

static void replace(std::optional<double> played, cost::StepTime &time) {
  if (!played)
    return;
  double more = *played - time.pipeline;
  time.pipeline += more;
  time.bubble += more;
  time.total += more;
}

void ptlc::playPipeline(const cost::Profile &profile, const cost::Layout &layout,
                        const cost::Times &times, cost::StepTime &time) {
  replace(playedSeconds(profile, layout, times), time);
}

/// What the played time depends on; states that are kept whole don't change it.
PlanPlayer::Key PlanPlayer::keyOf(const cost::Candidate &candidate) {
  const cost::Layout &layout = candidate.layout;
  bool isSpread = layout.zero >= 2;
  return {{static_cast<double>(candidate.tensor), static_cast<double>(candidate.sequence),
           static_cast<double>(candidate.samples), static_cast<double>(layout.stages),
           static_cast<double>(layout.schedule), static_cast<double>(layout.chunks),
           layout.microbatches, static_cast<double>(layout.remat), layout.rematShare,
           isSpread ? static_cast<double>(layout.zero) : 0, isSpread ? layout.shardRanks : 0,
           static_cast<double>(layout.order.back() == cost::Layout::kStages)}};
}

bool PlanPlayer::play(cost::Candidate &candidate) {
  constexpr double kMostWork = 200'000; // stages x micro-batches: a second or two
  const cost::Layout &layout = candidate.layout;
  if (candidate.isPlayed || layout.stages <= 1)
    return false;
  auto [found, isNew] = known.try_emplace(keyOf(candidate));
  if (isNew && work < kMostWork) {
    // ZB-V tries all policies of the list scheduler if there are few micro-batches.
    bool isListed =
        layout.schedule == cost::Schedule::ZbV && layout.microbatches < 2 * layout.stages - 1;
    work += std::min(layout.microbatches, 2.0 * kRounds * layout.stages) * layout.stages *
            layout.stagesPerRank() * (isListed ? 16 : 1);
    found->second = playedSeconds(
        *source.profile(candidate.tensor, candidate.sequence, candidate.samples), layout, times);
  }
  candidate.isPlayed = true;
  replace(found->second, candidate.time);
  return found->second.has_value();
}

void PlanPlayer::rankAgain(cost::Search &search, size_t shown) {
  std::set<std::pair<double, size_t>> open;
  for (auto [number, candidate] : llvm::enumerate(search.fits))
    open.emplace(candidate.time.total, number);
  std::vector<cost::Candidate> ranked;
  std::set<std::string> kinds;
  auto takeBest = [&] {
    size_t number = open.begin()->second;
    open.erase(open.begin());
    cost::Candidate &candidate = search.fits[number];
    bool isNew = play(candidate);
    if (isNew)
      open.emplace(candidate.time.total, number);
    return isNew ? nullptr : &candidate;
  };
  while (!open.empty() &&
         (ranked.size() < shown ||
          open.begin()->first <= ranked.front().time.total * (1 + space.tolerance)))
    if (cost::Candidate *next = takeBest()) {
      kinds.insert(next->kind());
      ranked.push_back(std::move(*next));
    }
  size_t exact = ranked.size();
  for (auto [seconds, number] : std::set(open))
    if (kinds.insert(search.fits[number].kind()).second && play(search.fits[number])) {
      open.erase({seconds, number});
      open.emplace(search.fits[number].time.total, number);
    }
  for (auto [seconds, number] : open)
    ranked.push_back(std::move(search.fits[number]));
  search.fits = std::move(ranked);
  search.chosen = cost::simplestOf(search.fits, exact, space.tolerance);
}
