//===- Checkpoint.cpp - The state of a run on disk ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Order matters: every file is on the disk before the folder gets its name, the
// name is on the disk before an older checkpoint goes, and one that goes loses
// its name first.
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/core/Number.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ptlrt {

namespace fs = std::filesystem;

static constexpr const char *kPrefix = "step-", *kAside = ".writing-", *kGone = ".removing-";
static constexpr int kFormat = 1;

static std::string folderName(int64_t step) { return fmt::format("{}{:06}", kPrefix, step); }

/// The step of a checkpoint's folder, or nothing for another name.
static std::optional<int64_t> stepOf(const std::string &name) {
  if (!name.starts_with(kPrefix))
    return std::nullopt;
  std::optional<int64_t> step = parseInteger(name.substr(std::string(kPrefix).size()));
  return step && *step >= 0 ? step : std::nullopt;
}

/// The steps of all checkpoints in `folder`, ascending.
static std::vector<int64_t> listSteps(const std::string &folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (std::optional<int64_t> step = stepOf(i->path().filename().string()))
      if (folderName(*step) == i->path().filename().string())
        steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

static std::string describeRun(const RunState &run) {
  nlohmann::ordered_json text = {
      {"format", kFormat},  {"step", run.step},   {"samples_seen", run.step * run.batch},
      {"seed", run.seed},   {"batch", run.batch}, {"data_samples", run.dataSamples},
      {"model", run.model}, {"mesh", run.mesh}};
  return text.dump(2) + "\n";
}

static Expected<RunState> readRun(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (file.isError())
    return file.status();
  std::span<const uint8_t> bytes = file->bytes();
  try {
    nlohmann::json text = nlohmann::json::parse(bytes.begin(), bytes.end());
    if (int format = text.at("format"); format != kFormat)
      return failure("'{}' has format {}, this runtime reads {}", path, format, kFormat);
    RunState run{text.at("step"),         text.at("seed"),  text.at("batch"),
                 text.at("data_samples"), text.at("model"), text.at("mesh")};
    if (run.step < 0)
      return failure("'{}' names step {}", path, run.step);
    return run;
  } catch (const nlohmann::json::exception &error) {
    return failure("can't read '{}': {}", path, error.what());
  }
}

/// Removes what earlier runs left half written or half removed.
static void removeRemains(const std::string &folder) {
  std::error_code error;
  std::vector<fs::path> remains;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    std::string name = i->path().filename().string();
    if (name.starts_with(kAside) || name.starts_with(kGone))
      remains.push_back(i->path());
  }
  for (const fs::path &path : remains)
    fs::remove_all(path, error);
}

/// Gives the folder `from` the name `to`. If there is one, the two change places in one step, so
/// that there is never none.
static Status takePlace(const std::string &folder, const std::string &from, const std::string &to) {
  std::error_code error;
  if (fs::exists(to, error)) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0)
      return failure("can't replace '{}': {}", to, errorText(errno));
    PTLRT_TRY(syncFolder(folder));
    fs::remove_all(from, error);
    return Status::ok();
  }
  fs::rename(from, to, error);
  if (error)
    return failure("can't write '{}': {}", to, error.message());
  return syncFolder(folder);
}

static void removeOld(const std::string &folder, int64_t keep) {
  std::vector<int64_t> steps = listSteps(folder);
  std::error_code error;
  for (size_t i = 0; keep > 0 && i + keep < steps.size(); ++i) {
    std::string name = folderName(steps[i]), gone = folder + "/" + kGone + name;
    fs::rename(folder + "/" + name, gone, error);
    fs::remove_all(gone, error);
  }
}

static Status writeAll(const std::string &aside, const RunState &run,
                       std::span<const TensorSource> weights,
                       std::span<const TensorSource> states) {
  PTLRT_TRY(writeSafetensors(aside + "/weights.safetensors", weights));
  PTLRT_TRY(writeSafetensors(aside + "/state.safetensors", states));
  return writeFile(aside + "/run.json", describeRun(run));
}

Expected<std::string> writeCheckpoint(const std::string &folder, const RunState &run,
                                      std::span<const TensorSource> weights,
                                      std::span<const TensorSource> states, int64_t keep) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return failure("can't make folder '{}': {}", folder, error.message());
  removeRemains(folder);
  std::string name = folderName(run.step);
  std::string aside = fmt::format("{}/{}{}", folder, kAside, name), place = folder + "/" + name;
  fs::create_directory(aside, error);
  if (error)
    return failure("can't make folder '{}': {}", aside, error.message());
  Status status = writeAll(aside, run, weights, states);
  if (status.isOk())
    status = takePlace(folder, aside, place);
  if (status.isError()) {
    fs::remove_all(aside, error);
    return failure("the checkpoint of step {} wasn't written, older ones are as they were: {}",
                   run.step, status.message());
  }
  removeOld(folder, keep);
  return place;
}

Expected<Checkpoint> openCheckpoint(const std::string &path) {
  std::string folder = path;
  std::error_code error;
  if (!fs::exists(path + "/run.json", error)) {
    std::vector<int64_t> steps = listSteps(path);
    if (!fs::is_directory(path, error))
      return failure("there is no checkpoint folder '{}'", path);
    if (steps.empty())
      return failure("the folder '{}' holds no checkpoint", path);
    folder = path + "/" + folderName(steps.back());
  }
  Expected<RunState> run = readRun(folder + "/run.json");
  if (run.isError())
    return run.status();
  Expected<SafetensorsFile> weights = SafetensorsFile::open(folder + "/weights.safetensors");
  if (weights.isError())
    return weights.status();
  Expected<SafetensorsFile> states = SafetensorsFile::open(folder + "/state.safetensors");
  if (states.isError())
    return states.status();
  return Checkpoint{folder, *run, std::move(*weights), std::move(*states)};
}

} // namespace ptlrt
