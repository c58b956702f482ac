//===- Counters.cpp - What the collectives of a run moved -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every byte that crosses is either read or written by the rank that copies it,
// so the sum over ranks of both is the traffic.
//===----------------------------------------------------------------------===//
#include "runtime/metrics/Counters.h"

#include <cmath>
#include <map>

namespace ptlrt {

std::vector<CollectiveCount> sumTraffic(std::span<const Collective> collectives,
                                        std::span<const std::span<const Traffic>> ranks) {
  std::vector<CollectiveCount> counts(collectives.size());
  std::vector<double> predicted(collectives.size());
  for (std::span<const Traffic> rank : ranks)
    for (size_t i = 0; i < collectives.size(); ++i) {
      counts[i].calls = std::max(counts[i].calls, rank[i].calls);
      counts[i].bytes += rank[i].read + rank[i].written;
      predicted[i] += static_cast<double>(rank[i].calls) * collectives[i].predictedBytes;
      counts[i].predicted = std::llround(predicted[i]);
    }
  return counts;
}

static std::string axesOf(const Collective &collective, const Mesh &mesh) {
  std::string text;
  for (int axis : collective.axes)
    text += (text.empty() ? "" : ",") + mesh.axes()[axis].name;
  return text;
}

nlohmann::ordered_json describeTraffic(std::span<const Collective> collectives, const Mesh &mesh,
                                       std::span<const CollectiveCount> counts) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::map<std::string, int64_t> perAxes;
  for (size_t i = 0; i < collectives.size(); ++i) {
    const Collective &collective = collectives[i];
    list.push_back({{"kind", collectiveName(collective.kind)},
                    {"axes", axesOf(collective, mesh)},
                    {"calls", counts[i].calls},
                    {"bytes", counts[i].bytes},
                    {"predicted_bytes", counts[i].predicted},
                    {"line", collective.line},
                    {"reason", collective.reason}});
    perAxes[axesOf(collective, mesh)] += counts[i].bytes;
  }
  return {{"collectives", list}, {"bytes_per_axes", perAxes}};
}

} // namespace ptlrt
