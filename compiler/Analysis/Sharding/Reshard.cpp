//===- Reshard.cpp - The cheapest way from one sharding to another --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Dijkstra's algorithm over the graph of shardings that Reshard.h describes.
// Order of states with equal cost: fewer steps, fewer bytes, then earlier
// discovery, so that plans are the same from run to run. The graph of a shape
// grows as searches reach into it and is kept, since layers ask alike.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Reshard.h"

#include <algorithm>
#include <deque>
#include <queue>

using namespace ptlc::sharding;
using llvm::ArrayRef;

/// Meshes of so many axes are always searched to the end.
static constexpr size_t kExactAxes = 4;
/// States that a search on a larger mesh may settle: with six axes some 100 ms of a shape.
static constexpr unsigned kMostStates = 128;

class ReshardPlanner::Graph {
public:
  Graph(const Mesh &mesh, ArrayRef<int64_t> shape, int64_t elementBytes, Fold kind)
      : stepper(mesh, shape, elementBytes), kind(kind) {}

  /// A step to another state, by its number.
  struct Edge {
    Step step;
    unsigned to;
  };

  unsigned idOf(const Sharding &sharding) {
    auto [found, isNew] = ids.try_emplace(sharding, static_cast<unsigned>(states.size()));
    if (isNew)
      states.push_back({sharding, {}, false});
    return found->second;
  }
  const std::vector<Edge> &edgesOf(unsigned id) {
    if (!states[id].expanded) {
      std::vector<Edge> edges;
      for (Step &step : stepper.successors(states[id].sharding, kind)) {
        unsigned to = idOf(step.target);
        edges.push_back({std::move(step), to});
      }
      states[id].edges = std::move(edges);
      states[id].expanded = true;
    }
    return states[id].edges;
  }
  size_t size() const { return states.size(); }

  const Stepper stepper;

private:
  struct State {
    Sharding sharding;
    std::vector<Edge> edges;
    bool expanded;
  };
  Fold kind;
  std::deque<State> states; // searches point to steps
  std::map<Sharding, unsigned> ids;
};

ReshardPlanner::ReshardPlanner(const Mesh &mesh, int64_t elementBytes)
    : mesh(mesh), elementBytes(elementBytes) {}
ReshardPlanner::~ReshardPlanner() = default;

ReshardPlanner::Graph &ReshardPlanner::graphOf(ArrayRef<int64_t> shape, Fold kind) {
  auto &graph = graphs[{Shape(shape.begin(), shape.end()), kind}];
  if (!graph)
    graph = std::make_unique<Graph>(mesh, shape, elementBytes, kind);
  return *graph;
}

namespace {
/// What a way costs, the first difference deciding.
struct Length {
  double cost = 0;
  unsigned steps = 0;
  int64_t bytes = 0;

  bool operator<(const Length &other) const {
    return std::tie(cost, steps, bytes) < std::tie(other.cost, other.steps, other.bytes);
  }
  Length behind(const Step &step) const {
    return {cost + step.cost, steps + 1, bytes + step.bytes};
  }
};

/// Where the search stands with one sharding.
struct Visit {
  Length length;
  const Step *last = nullptr; ///< how it was reached
  unsigned from = 0;
  bool reached = false, done = false;
};

struct QueueEntry {
  Length length;
  unsigned order, at;
  bool operator<(const QueueEntry &other) const {
    if (length < other.length || other.length < length)
      return other.length < length;
    return order > other.order;
  }
};
} // namespace

Plan ReshardPlanner::search(ArrayRef<int64_t> shape, const Sharding &source,
                            const Sharding &target) {
  Graph &graph = graphOf(shape, target.partial ? target.kind : source.kind);
  bool exact = mesh.size() <= kExactAxes;
  Plan known = exact ? Plan() : greedyPlan(graph.stepper, source, target);
  double bound = exact ? std::numeric_limits<double>::infinity() : costOf(known);

  std::vector<Visit> visits;
  std::priority_queue<QueueEntry> queue;
  unsigned order = 0, settled = 0, first = graph.idOf(source), goal = graph.idOf(target);
  queue.push({{}, order++, first});
  visits.resize(graph.size());
  visits[first].reached = true;
  while (!queue.empty() && !visits[goal].done) {
    QueueEntry entry = queue.top();
    queue.pop();
    if (std::exchange(visits[entry.at].done, true) || entry.at == goal)
      continue;
    if (!exact && ++settled > kMostStates)
      break;
    const auto &edges = graph.edgesOf(entry.at);
    visits.resize(graph.size());
    for (const Graph::Edge &edge : edges) {
      Length length = entry.length.behind(edge.step);
      Visit &next = visits[edge.to];
      if (length.cost > bound || (next.reached && !(length < next.length)))
        continue;
      next = {length, &edge.step, entry.at, true, false};
      queue.push({length, order++, edge.to});
    }
  }
  if (!visits[goal].done)
    return known;
  Plan plan;
  for (unsigned at = goal; at != first; at = visits[at].from)
    plan.push_back(*visits[at].last);
  std::reverse(plan.begin(), plan.end());
  return plan;
}

const Plan &ReshardPlanner::plan(ArrayRef<int64_t> shape, const Sharding &source,
                                 const Sharding &target) {
  auto [found, isNew] = plans.try_emplace(Key(Shape(shape.begin(), shape.end()), source, target));
  if (isNew && source != target)
    found->second = search(shape, source, target);
  return found->second;
}

double ReshardPlanner::cost(ArrayRef<int64_t> shape, const Sharding &source,
                            const Sharding &target) {
  return costOf(plan(shape, source, target));
}
