//===- Reporter.h - What a run tells while it trains ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A bar on a terminal, plain lines elsewhere, and the log: one JSON object per
// step. Used by rank 0's thread only.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_METRICS_REPORTER_H
#define PTLRT_METRICS_REPORTER_H

#include "runtime/core/Status.h"
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <span>
#include <vector>

namespace ptlrt {

struct StepReport {
  int64_t step = 0;
  double loss = 0, gradNorm = 0, learningRate = 0;
  bool hasNorm = false, skipped = false;
  double seconds = 0, tokensPerSecond = 0;
  std::span<const float> metrics;     ///< in the order of ReporterOptions::metrics
  std::span<const double> evaluation; ///< likewise; empty if there was none after this step
};

struct ReporterOptions {
  bool quiet = false;
  std::string logPath; ///< empty: no log
  bool appendLog = false;
  int64_t firstStep = 0, steps = 0;
  std::string throughput = "tokens";            ///< what is counted per second
  std::vector<std::string> metrics, evaluation; ///< names
};

class Reporter {
public:
  static Expected<Reporter> create(ReporterOptions options);
  Reporter(Reporter &&other) noexcept;
  ~Reporter();

  /// Reports a step; an error says that the log can't be written.
  Status step(const StepReport &report);
  /// Ends the bar's line and writes out the log.
  Status finish();
  /// Prints a line of its own, also while the bar is shown; nothing when quiet.
  void say(std::string_view line);

private:
  explicit Reporter(ReporterOptions options);
  void appendLogLine(const StepReport &report);
  Status flushLog();
  void showPlain(const StepReport &report);
  void showBar(const StepReport &report);
  double secondsLeft(int64_t step) const;

  using Clock = std::chrono::steady_clock;
  ReporterOptions options;
  FILE *log = nullptr;
  fmt::memory_buffer line;
  bool isTerminal = false, barShown = false;
  Clock::time_point start, lastShown, lastFlush;
};

} // namespace ptlrt

#endif // PTLRT_METRICS_REPORTER_H
