//===- Trace.h - What each rank did, and when -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Events of one rank, written by its own thread; after the run they become a
// file in Chrome's trace format, which chrome://tracing and Perfetto show. Off,
// an event costs one comparison.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_METRICS_TRACE_H
#define PTLRT_METRICS_TRACE_H

#include "runtime/core/Status.h"
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace ptlrt {

enum class TraceKind : uint8_t {
  Instruction,
  Collective,
  Start, ///< of a collective that is waited for later
  Wait,
  Data,
  Evaluation,
  Checkpoint
};

struct TraceEvent {
  TraceKind kind;
  int64_t detail;     ///< index in the table or in the list of collectives; else the step
  int64_t begin, end; ///< nanoseconds on the steady clock
};

class RankTrace {
public:
  bool isOn = false;
  /// The time, if the trace is on.
  int64_t now() const {
    return isOn ? std::chrono::steady_clock::now().time_since_epoch().count() : 0;
  }
  void add(TraceKind kind, int64_t detail, int64_t begin) {
    if (isOn)
      events.push_back({kind, detail, begin, now()});
  }
  std::span<const TraceEvent> all() const { return events; }

private:
  std::vector<TraceEvent> events;
};

/// Names an event: "fb 0", "all_reduce sum over dp (…)".
class TraceNames {
public:
  virtual ~TraceNames() = default;
  virtual std::string nameOf(int rank, const TraceEvent &event) const = 0;
};

/// Writes the events of all ranks to `path`.
Status writeTrace(const std::string &path, std::span<const std::span<const TraceEvent>> ranks,
                  const TraceNames &names);

} // namespace ptlrt

#endif // PTLRT_METRICS_TRACE_H
