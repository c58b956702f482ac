//===- Times.cpp - How long a kernel or a collective takes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/Times.h"

#include <limits>

using namespace ptlc::cost;

namespace {
struct Tile {
  double rows, cols, efficiency;
};
} // namespace

static constexpr Tile kTiles[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.93},
                                  {128, 64, 0.80}, {64, 128, 0.80}, {64, 64, 0.62}};

double Times::product(double m, double n, double k, double batch, double efficiency,
                      double width) const {
  m = std::max(1.0, std::ceil(m));
  n = std::max(1.0, std::ceil(n));
  k = std::max(1.0, std::ceil(k));
  double rate = machine.peakOf(width) * constants.products * efficiency / machine.units;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile &tile : kTiles) {
    double tiles = std::ceil(m / tile.rows) * std::ceil(n / tile.cols) * batch;
    double waves = std::ceil(tiles / machine.units);
    best = std::min(best, waves * 2 * tile.rows * tile.cols * (k + constants.tileStart) /
                              (rate * tile.efficiency));
  }
  double bytes = width * batch * (m * k + k * n + m * n);
  return std::max(best, bytes / (machine.bandwidth * constants.streams)) + constants.launch;
}

double Times::stream(double bytes, double kernels) const {
  return bytes > 0 ? bytes / (machine.bandwidth * constants.streams) + kernels * constants.launch
                   : 0;
}

double Times::attention(double flops, double bytes, double kernels, double width) const {
  return flops / (machine.peakOf(width) * constants.products * constants.attention) +
         stream(bytes, kernels);
}

/// The time of one step of a ring: a mean over its links.
double Times::hop(const Group &group) const {
  if (group.nodes() <= 1)
    return machine.intraLatency;
  return (machine.interLatency * group.nodes() +
          machine.intraLatency * (group.size - group.nodes())) /
         group.size;
}

double Times::allGather(double bytes, const Group &group) const {
  if (group.size <= 1 || bytes <= 0)
    return 0;
  double n = group.size, k = group.local, q = group.nodes(), share = (n - 1) / n;
  double best = (n - 1) * hop(group) + share * bytes / bus(group);
  if (q <= 1) // everybody to everybody at once
    best = std::min(best, machine.intraLatency + share * bytes / inside());
  else if (k > 1) // between nodes, each member its part, then inside
    best = std::min(best, (q - 1) * machine.interLatency + (q - 1) / q * (bytes / k) / between() +
                              (k - 1) * machine.intraLatency + (k - 1) / k * bytes / inside());
  return constants.collective + best;
}

double Times::allReduce(double bytes, const Group &group) const {
  if (group.size <= 1 || bytes <= 0)
    return 0;
  double n = group.size, k = group.local, q = group.nodes(), share = (n - 1) / n;
  double ring = 2 * (n - 1) * hop(group) + 2 * share * bytes / bus(group);
  double tree = 2 * std::ceil(std::log2(q)) * machine.interLatency +
                2 * (k - 1) * machine.intraLatency + 2 * bytes / (0.9 * bus(group));
  double best = std::min(ring, tree);
  if (q <= 1) {
    best = std::min(best, 2 * machine.intraLatency + 2 * share * bytes / inside());
    best = std::min(best, machine.intraLatency + (n - 1) * bytes / inside());
  } else if (k > 1) {
    best = std::min(best, 2 * (k - 1) * machine.intraLatency + 2 * (k - 1) / k * bytes / inside() +
                              2 * (q - 1) * machine.interLatency +
                              2 * (q - 1) / q * (bytes / k) / between());
  }
  return constants.collective + best;
}

double Times::allToAll(double bytes, const Group &group) const {
  if (group.size <= 1 || bytes <= 0)
    return 0;
  double n = group.size, k = group.local;
  bool leaves = group.nodes() > 1;
  double near = (k - 1) / n * bytes / inside();
  double far = leaves ? (n - k) / n * bytes / between() : 0;
  return constants.collective + (leaves ? machine.interLatency : machine.intraLatency) +
         std::max(near, far);
}

double Times::pointLatency(bool betweenNodes) const {
  return constants.collective + (betweenNodes ? machine.interLatency : machine.intraLatency);
}

double Times::pointRate(bool betweenNodes) const {
  return betweenNodes ? machine.inter * constants.interPoint : inside();
}

double Times::point(double bytes, bool betweenNodes) const {
  return bytes > 0 ? pointLatency(betweenNodes) + bytes / pointRate(betweenNodes) : 0;
}
