//===- Options.h - What the command line asks for -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Plain values; main/CommandLine.cpp fills and describes them.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_OPTIONS_H
#define PTLRT_EXEC_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptlrt {

enum class Command : uint8_t { Train, Sample, Info };

struct Options {
  Command command = Command::Train;
  std::optional<int64_t> steps, ranks;
  std::optional<int64_t> check; ///< steps to compare with one rank
  std::optional<uint64_t> seed;
  std::vector<std::string> data; ///< files, or field=file for arrays
  std::vector<std::string> set;  ///< name=value
  std::string init, save, saveGradients, log, trace, report;
  int64_t threads = 0; ///< per rank; 0: the cores divided among the ranks
  bool quiet = false, counters = false, checkReplicas = false;

  std::optional<std::string> resume; ///< empty: the program's checkpoint folder
  std::string checkpointFolder;
  std::optional<int64_t> checkpointEvery;
  int64_t keep = 0;

  std::string prompt;
  int64_t tokens = 200, topK = 0;
  double temperature = 0.8;
};

} // namespace ptlrt

#endif // PTLRT_EXEC_OPTIONS_H
