//===- Counters.h - What the collectives of a run moved -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums of what the ranks counted where they copied, next to what the compiler
// predicted.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_METRICS_COUNTERS_H
#define PTLRT_METRICS_COUNTERS_H

#include "runtime/comm/Collective.h"
#include <nlohmann/json.hpp>
#include <span>

namespace ptlrt {

struct CollectiveCount {
  int64_t calls = 0;     ///< per rank
  int64_t bytes = 0;     ///< all ranks together
  int64_t predicted = 0; ///< all ranks together
};

/// One entry per collective; `ranks` holds each rank's counters.
std::vector<CollectiveCount> sumTraffic(std::span<const Collective> collectives,
                                        std::span<const std::span<const Traffic>> ranks);

/// The same as JSON: a list of objects, and sums per set of axes.
nlohmann::ordered_json describeTraffic(std::span<const Collective> collectives, const Mesh &mesh,
                                       std::span<const CollectiveCount> counts);

} // namespace ptlrt

#endif // PTLRT_METRICS_COUNTERS_H
