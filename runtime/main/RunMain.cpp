//===- RunMain.cpp - What main does ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing thrown leaves this function, and each failure prints one line.
//===----------------------------------------------------------------------===//
#include "runtime/main/RunMain.h"

#include "runtime/core/Log.h"
#include "runtime/exec/InfoText.h"
#include "runtime/exec/Sampling.h"
#include "runtime/exec/SelfCheck.h"
#include "runtime/exec/Signals.h"
#include "runtime/exec/Training.h"
#include "runtime/main/CommandLine.h"
#include <cstdio>
#include <exception>
#include <thread>

namespace ptlrt {

namespace {
/// The programs of an executable.
struct Programs {
  const ptlrt_program_t &program;
  const ptlrt_program_t *oneRank;
};
} // namespace

static Expected<int> runCommand(const Programs &programs, const Options &options,
                                Processes *processes) {
  const ptlrt_program_t &program = programs.program;
  if (options.command == Command::Info) {
    Expected<ProgramSet> set = ProgramSet::read(program);
    if (set.isError())
      return set.status();
    if (!processes || processes->rank() == 0)
      fmt::print("{}", infoText(set->whole()));
    return 0;
  }
  installSignalHandlers();
  if (options.check)
    return runSelfCheck(program, programs.oneRank, options, processes);
  Expected<std::unique_ptr<Job>> job = Job::create(program, options, processes);
  if (job.isError())
    return job.status();
  if (options.command == Command::Sample)
    return runSampling(**job);
  return Training(**job).run();
}

/// What a run ended with: its status, and what to say of it.
static std::pair<int, std::string> runAll(const Programs &programs, const Options &options,
                                          Processes *processes) {
  try {
    Expected<int> result = runCommand(programs, options, processes);
    return result.isOk() ? std::pair(*result, std::string()) : std::pair(1, result.message());
  } catch (const std::exception &error) {
    return {1, error.what()};
  }
}

/// Prints an error that all processes of a launcher meet alike, once. The launcher may end all when
/// one ends, so the others wait for the speaker.
static void printOnce(const std::string &message) {
  if (Processes::launchedRank() == 0)
    printError(message);
  else
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// One rank of a run whose ranks are processes. Only one process speaks, and all end together.
static int runLaunched(const Programs &programs, const Options &options) {
  Expected<std::unique_ptr<Processes>> joined = Processes::join();
  if (joined.isError()) {
    printOnce(joined.message());
    return 1;
  }
  Processes &processes = **joined;
  auto [status, message] = runAll(programs, options, &processes);
  int failed = processes.settle(!message.empty());
  if (failed == processes.rank())
    printError(message);
  return failed >= 0 ? 1 : status;
}

static int runParsed(const Programs &programs, const Options &options) {
  if (Processes::areLaunched())
    return runLaunched(programs, options);
  auto [status, message] = runAll(programs, options, nullptr);
  if (!message.empty())
    printError(message);
  return status;
}

int runMain(const ptlrt_program_t &program, const ptlrt_program_t *oneRank, int argc,
            const char *const *argv) {
  try {
    auto parsed = parseCommandLine(argc, argv);
    if (parsed.isError()) {
      printOnce(parsed.message());
      return 2;
    }
    if (const auto *options = std::get_if<Options>(&*parsed))
      return runParsed({program, oneRank}, *options);
    if (Processes::launchedRank() == 0)
      fmt::print("{}", std::get<PrintAndLeave>(*parsed).text);
    return 0;
  } catch (const std::exception &error) {
    printError(error.what());
  }
  return 1;
}

} // namespace ptlrt
