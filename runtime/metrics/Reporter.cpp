//===- Reporter.cpp - What a run tells while it trains --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small models make ten thousand steps a second, so what is shown is limited by
// time, while the log has every step.
//===----------------------------------------------------------------------===//
#include "runtime/metrics/Reporter.h"

#include "runtime/core/Log.h"
#include "runtime/data/File.h"
#include "runtime/memory/Arena.h"
#include <cerrno>
#include <cmath>
#include <iterator>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace ptlrt {

static constexpr auto kShowEvery = std::chrono::milliseconds(1000);
static constexpr auto kBarEvery = std::chrono::milliseconds(100);
static constexpr auto kFlushEvery = std::chrono::milliseconds(200);
static constexpr int64_t kAlwaysShown = 10; ///< first steps that plain output shows one by one

Reporter::Reporter(ReporterOptions wishes) : options(std::move(wishes)) {
  isTerminal = ::isatty(STDOUT_FILENO) != 0;
  start = lastFlush = Clock::now();
}

Expected<Reporter> Reporter::create(ReporterOptions options) {
  Reporter reporter(std::move(options));
  const std::string &path = reporter.options.logPath;
  if (!path.empty()) {
    reporter.log = std::fopen(path.c_str(), reporter.options.appendLog ? "ae" : "we");
    if (!reporter.log)
      return failure("can't write '{}': {}", path, errorText(errno));
  }
  return reporter;
}

Reporter::Reporter(Reporter &&other) noexcept
    : options(std::move(other.options)), log(std::exchange(other.log, nullptr)),
      line(std::move(other.line)), isTerminal(other.isTerminal), barShown(other.barShown),
      start(other.start), lastShown(other.lastShown), lastFlush(other.lastFlush) {}

Reporter::~Reporter() {
  if (log)
    (void)std::fclose(log);
}

/// Appends `"name":value`; JSON has no word for NaN or infinity, so null stands for them.
static void appendNumber(fmt::memory_buffer &line, std::string_view prefix, std::string_view name,
                         double value) {
  auto out = std::back_inserter(line);
  if (std::isfinite(value))
    fmt::format_to(out, ",\"{}{}\":{:.9g}", prefix, name, value);
  else
    fmt::format_to(out, ",\"{}{}\":null", prefix, name);
}

void Reporter::appendLogLine(const StepReport &report) {
  line.clear();
  fmt::format_to(std::back_inserter(line), "{{\"step\":{}", report.step);
  appendNumber(line, "", "loss", report.loss);
  if (report.hasNorm)
    appendNumber(line, "", "grad_norm", report.gradNorm);
  appendNumber(line, "", "lr", report.learningRate);
  appendNumber(line, "", "tokens_s", report.tokensPerSecond);
  appendNumber(line, "", "ms", report.seconds * 1e3);
  for (size_t i = 0; i < report.metrics.size(); ++i)
    appendNumber(line, "", options.metrics[i], report.metrics[i]);
  for (size_t i = 0; i < report.evaluation.size(); ++i)
    appendNumber(line, "eval_", options.evaluation[i], report.evaluation[i]);
  if (report.skipped)
    fmt::format_to(std::back_inserter(line), ",\"skipped\":true");
  fmt::format_to(std::back_inserter(line), "}}\n");
  (void)std::fwrite(line.data(), 1, line.size(), log);
}

Status Reporter::flushLog() {
  if (log && (std::fflush(log) != 0 || std::ferror(log)))
    return failure("can't write '{}': {}", options.logPath, errorText(errno));
  return Status::ok();
}

double Reporter::secondsLeft(int64_t step) const {
  double spent = std::chrono::duration<double>(Clock::now() - start).count();
  auto done = static_cast<double>(step + 1 - options.firstStep);
  return spent / done * static_cast<double>(options.steps - step - 1);
}

static std::string duration(double seconds) {
  auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

static std::string describe(const StepReport &report, const ReporterOptions &options) {
  std::string text = fmt::format("loss {:.4f}", report.loss);
  if (report.hasNorm)
    text += fmt::format("  norm {:.4g}", report.gradNorm);
  for (size_t i = 0; i < report.metrics.size(); ++i)
    text += fmt::format("  {} {:.4g}", options.metrics[i], report.metrics[i]);
  text += fmt::format("  lr {:.3g}  {:.0f} {}/s", report.learningRate, report.tokensPerSecond,
                      options.throughput);
  return text;
}

void Reporter::showPlain(const StepReport &report) {
  printLine(fmt::format("step {}/{}  {}  {:.1f} ms{}", report.step + 1, options.steps,
                        describe(report, options), report.seconds * 1e3,
                        report.skipped ? "  (not finite, skipped)" : ""));
}

void Reporter::showBar(const StepReport &report) {
  constexpr int kWidth = 20;
  auto filled =
      static_cast<size_t>(kWidth * (report.step + 1) / std::max<int64_t>(1, options.steps));
  std::string text = fmt::format(
      "{}/{} [{:<20}]  {}  {:.0f} MB  {} left", report.step + 1, options.steps,
      std::string(std::min<size_t>(filled, kWidth), '#'), describe(report, options),
      static_cast<double>(peakResidentMemory()) / 1e6, duration(secondsLeft(report.step)));
  winsize size{};
  size_t columns =
      ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
  text.resize(std::min(text.size(), columns - 1));
  fmt::print("\r{}\x1b[K", text);
  (void)std::fflush(stdout);
  barShown = true;
}

void Reporter::say(std::string_view text) {
  if (options.quiet)
    return;
  if (barShown)
    fmt::print("\r\x1b[K");
  barShown = false;
  printLine(text);
}

Status Reporter::step(const StepReport &report) {
  auto now = Clock::now();
  if (log) {
    appendLogLine(report);
    if (now - lastFlush >= kFlushEvery) {
      lastFlush = now;
      PTLRT_TRY(flushLog());
    }
  }
  if (options.quiet)
    return Status::ok();
  bool isLast = report.step + 1 == options.steps;
  bool isFirst = !isTerminal && report.step - options.firstStep < kAlwaysShown;
  if (isLast || isFirst || report.skipped ||
      now - lastShown >= (isTerminal ? kBarEvery : kShowEvery)) {
    lastShown = now;
    isTerminal ? showBar(report) : showPlain(report);
  }
  if (!report.evaluation.empty()) {
    std::string text = fmt::format("evaluation after step {}:", report.step + 1);
    for (size_t i = 0; i < report.evaluation.size(); ++i)
      text += fmt::format("  {} {:.4f}", options.evaluation[i], report.evaluation[i]);
    say(text);
  }
  return Status::ok();
}

Status Reporter::finish() {
  if (barShown)
    fmt::print("\n");
  barShown = false;
  return flushLog();
}

} // namespace ptlrt
