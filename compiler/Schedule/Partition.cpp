//===- Partition.cpp - Which layers each stage gets -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Two dynamic programs over (parts left, first layer): the least largest part, then the least sum
// of squares under it. The least largest part alone isn't enough: 8, 8, 8, 6 equal layers have the
// same as 8, 8, 7, 7.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace ptlc::schedule {

namespace {
/// Costs with their sums.
class Layers {
public:
  explicit Layers(const std::vector<int64_t> &costs) : sums(costs.size() + 1) {
    std::partial_sum(costs.begin(), costs.end(), sums.begin() + 1);
  }
  int count() const { return static_cast<int>(sums.size()) - 1; }
  int64_t cost(int first, int end) const { return sums[end] - sums[first]; }

private:
  std::vector<int64_t> sums;
};

/// Best values for the layers from `first` on in `parts` parts.
using Best = std::vector<std::vector<double>>; // [parts][first]
} // namespace

static constexpr double kNever = std::numeric_limits<double>::infinity();

static Best leastLargest(const Layers &layers, int parts) {
  int n = layers.count();
  Best best(parts + 1, std::vector<double>(n + 1, kNever));
  best[0][n] = 0;
  for (int k = 1; k <= parts; ++k)
    for (int i = n - k; i >= 0; --i)
      for (int j = i + 1; j <= n - k + 1; ++j)
        best[k][i] =
            std::min(best[k][i], std::max(static_cast<double>(layers.cost(i, j)), best[k - 1][j]));
  return best;
}

static double square(int64_t cost) { return static_cast<double>(cost) * static_cast<double>(cost); }

static Best leastSquares(const Layers &layers, int parts, double most) {
  int n = layers.count();
  Best best(parts + 1, std::vector<double>(n + 1, kNever));
  best[0][n] = 0;
  for (int k = 1; k <= parts; ++k)
    for (int i = n - k; i >= 0; --i)
      for (int j = i + 1; j <= n - k + 1; ++j)
        if (static_cast<double>(layers.cost(i, j)) <= most)
          best[k][i] = std::min(best[k][i], square(layers.cost(i, j)) + best[k - 1][j]);
  return best;
}

std::optional<std::vector<Part>> partition(const std::vector<int64_t> &costs, int parts) {
  Layers layers(costs);
  if (parts < 1 || parts > layers.count())
    return std::nullopt;
  double most = leastLargest(layers, parts)[parts][0];
  Best best = leastSquares(layers, parts, most);
  std::vector<Part> result;
  int first = 0;
  for (int left = parts; left > 0; --left) {
    int end = first + 1; // the smallest first part of the best ones
    while (static_cast<double>(layers.cost(first, end)) > most ||
           square(layers.cost(first, end)) + best[left - 1][end] != best[left][first])
      ++end;
    result.emplace_back(first, end);
    first = end;
  }
  return result;
}

namespace {
using Bounds = std::vector<int>;
/// Smaller is better: the largest load of a rank, their sum of squares, the largest stage, and the
/// bounds themselves.
using Load = std::tuple<int64_t, double, int64_t, Bounds>;

class Balancer {
public:
  Balancer(const Layers &layers, int ranks, const std::vector<int> &place)
      : layers(layers), ranks(ranks), place(place) {}

  Bounds improve(Bounds bounds) const {
    Load best = loadOf(bounds);
    while (true) {
      Load next = bestNeighbour(std::get<Bounds>(best));
      if (std::tie(std::get<0>(next), std::get<1>(next), std::get<2>(next)) >=
          std::tie(std::get<0>(best), std::get<1>(best), std::get<2>(best)))
        return std::get<Bounds>(best);
      best = std::move(next);
    }
  }

private:
  Load loadOf(const Bounds &bounds) const {
    std::vector<int64_t> loads(ranks);
    int64_t largest = 0;
    for (size_t stage = 0; stage < place.size(); ++stage) {
      int64_t cost = layers.cost(bounds[stage], bounds[stage + 1]);
      loads[place[stage]] += cost;
      largest = std::max(largest, cost);
    }
    double squares = 0;
    for (int64_t load : loads)
      squares += square(load);
    return {*std::max_element(loads.begin(), loads.end()), squares, largest, bounds};
  }

  static bool ascend(const Bounds &bounds) {
    return std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) == bounds.end();
  }

  /// The best of all bounds with one or two moved by one.
  Load bestNeighbour(const Bounds &bounds) const {
    Load best{std::numeric_limits<int64_t>::max(), 0, 0, {}};
    auto offer = [&](const Bounds &moved) {
      if (ascend(moved))
        best = std::min(best, loadOf(moved));
    };
    for (size_t i = 1; i + 1 < bounds.size(); ++i)
      for (int step : {-1, 1}) {
        Bounds moved = bounds;
        moved[i] += step;
        offer(moved);
        for (size_t j = i + 1; j + 1 < bounds.size(); ++j)
          for (int other : {-1, 1}) {
            Bounds both = moved;
            both[j] += other;
            offer(both);
          }
      }
    return best;
  }

  const Layers &layers;
  int ranks;
  const std::vector<int> &place;
};
} // namespace

std::optional<std::vector<Part>> partitionRanks(const std::vector<int64_t> &costs, int ranks,
                                                const std::vector<int> &place) {
  std::optional<std::vector<Part>> parts = partition(costs, static_cast<int>(place.size()));
  if (!parts)
    return std::nullopt;
  Bounds bounds{0};
  for (const Part &part : *parts)
    bounds.push_back(part.second);
  Layers layers(costs);
  bounds = Balancer(layers, ranks, place).improve(bounds);
  for (size_t i = 0; i < parts->size(); ++i)
    (*parts)[i] = {bounds[i], bounds[i + 1]};
  return parts;
}

} // namespace ptlc::schedule
