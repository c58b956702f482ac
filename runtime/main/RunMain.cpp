//===- RunMain.cpp - What main does ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing thrown leaves this function, and each failure prints one line.
//===----------------------------------------------------------------------===//
#include "runtime/main/RunMain.h"

#include "runtime/core/Log.h"
#include "runtime/exec/InfoText.h"
#include "runtime/exec/Sampling.h"
#include "runtime/exec/Signals.h"
#include "runtime/exec/Training.h"
#include "runtime/main/CommandLine.h"
#include <cstdio>
#include <exception>

namespace ptlrt {

static Expected<int> runCommand(const ptlrt_program_t &program, const Options &options) {
  if (options.command == Command::Info) {
    Expected<ProgramInfo> info = readProgram(program);
    if (info.isError())
      return info.status();
    fmt::print("{}", infoText(*info));
    return 0;
  }
  installSignalHandlers();
  Expected<std::unique_ptr<Job>> job = Job::create(program, options);
  if (job.isError())
    return job.status();
  if (options.command == Command::Sample)
    return runSampling(**job);
  return Training(**job).run();
}

int runMain(const ptlrt_program_t &program, int argc, const char *const *argv) {
  try {
    auto parsed = parseCommandLine(argc, argv);
    if (parsed.isError()) {
      printError(parsed.message());
      return 2;
    }
    if (const auto *text = std::get_if<PrintAndLeave>(&*parsed)) {
      fmt::print("{}", text->text);
      return 0;
    }
    Expected<int> result = runCommand(program, std::get<Options>(*parsed));
    if (result.isOk())
      return *result;
    printError(result.message());
  } catch (const std::exception &error) {
    printError(error.what());
  }
  return 1;
}

} // namespace ptlrt
