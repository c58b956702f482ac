//===- Job.cpp - A program, its options and its ranks ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever can be wrong with files and options is found before the first thread
// starts.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Job.h"

#include "runtime/comm/local/LocalWorld.h"
#include "runtime/comm/mpi/MpiWorld.h"
#include "runtime/core/Env.h"
#include "runtime/core/Number.h"
#include "runtime/core/Suggest.h"
#include "runtime/exec/Signals.h"
#include <algorithm>
#include <sched.h>
#include <thread>

namespace ptlrt {

Job::~Job() = default;

Expected<std::unique_ptr<Job>> Job::create(const ptlrt_program_t &program, const Options &options,
                                           Processes *processes) {
  Expected<ProgramSet> set = ProgramSet::read(program);
  if (set.isError())
    return set.status();
  PTLRT_TRY(checkFeatures(set->whole().features, set->whole().cpu));
  if (std::string problem; !cpu::checkCpu(problem))
    return Status::error(problem);
  std::unique_ptr<Job> job(new Job(program, std::move(*set), options, processes));
  PTLRT_TRY(job->checkProcesses());
  PTLRT_TRY(job->readPlays());
  for (const std::string &text : options.set)
    PTLRT_TRY(job->checkSet(text));
  PTLRT_TRY(job->programs.change([&](ProgramInfo &info) { return job->applyOptions(info); }));
  PTLRT_TRY(job->applyData());
  PTLRT_TRY(job->openWeights());
  if (options.check)
    PTLRT_TRY(job->limitToCheck());
  return job;
}

Status Job::readPlays() {
  for (int rank = 0; rank < info().mesh.ranks(); ++rank) {
    Expected<Play> play = Play::read(code, programs, rank);
    if (play.isError())
      return failure("the program's description is broken: {}", play.message());
    plays.push_back(std::move(*play));
  }
  return Status::ok();
}

Status Job::limitToCheck() {
  return programs.change([&](ProgramInfo &description) {
    description.steps = *wishes.check + (checkpoint ? checkpoint->run.step : 0);
    description.checkpoint.reset();
    description.evals.clear();
    return Status::ok();
  });
}

std::string Job::describeRanks() const {
  const Mesh &mesh = info().mesh;
  const std::string &line = info().meshLine;
  return fmt::format("{} ranks ({}{}{})", mesh.ranks(), mesh.describe(),
                     line.empty() ? "" : ", as in ", line);
}

Status Job::checkProcesses() const {
  const Mesh &mesh = info().mesh;
  if (!processes || processes->ranks() == mesh.ranks())
    return Status::ok();
  return failure("the program was compiled for {}, the launcher started {} processes; each rank is "
                 "one process (an empty PTL_MPI_LIBRARY makes ranks threads)",
                 describeRanks(), processes->ranks());
}

int threadsFor(int cores, int bound, int ranks) {
  return std::max(1, std::min(bound, cores / ranks));
}

int Job::threadsPerRank() const {
  if (wishes.threads > 0)
    return static_cast<int>(wishes.threads);
  int cores = static_cast<int>(std::thread::hardware_concurrency()), bound = cores;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    bound = CPU_COUNT(&allowed);
  // Ranks that are threads share what this process is bound to, also the one of --check that a
  // launched process runs besides its own.
  return threadsFor(processes ? cores : bound, bound, ranksHere());
}

/// The name and the number of `--set name=number`.
static std::pair<std::string, std::optional<double>> parseSet(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return {text, std::nullopt};
  return {text.substr(0, equals), parseNumber(text.substr(equals + 1))};
}

static bool isCalled(const HyperInfo &hyper, const std::string &name) {
  return name == hyper.name || name == fmt::format("opt{}.{}", hyper.group, hyper.name);
}

Status Job::checkSet(const std::string &text) const {
  auto [name, value] = parseSet(text);
  if (!value)
    return failure("'--set {}': expected name=number", text);
  std::vector<std::string> names;
  for (const HyperInfo &hyper : info().hypers) {
    if (isCalled(hyper, name))
      return Status::ok();
    names.insert(names.end(), {hyper.name, fmt::format("opt{}.{}", hyper.group, hyper.name)});
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return failure("the program has no number '{}'{}", name, didYouMean(name, names));
}

void Job::applySet(const std::string &text, ProgramInfo &description) const {
  auto [name, value] = parseSet(text);
  for (HyperInfo &hyper : description.hypers)
    if (isCalled(hyper, name))
      hyper.value = *value;
}

Status Job::applyData() {
  DataSpec &data = programs.whole().data;
  if (wishes.data.empty())
    return Status::ok();
  data.line = "--data";
  if (data.kind != DataKind::Npy) {
    data.files = wishes.data;
    return Status::ok();
  }
  std::vector<std::string> names;
  for (const FieldSpec &field : data.fields)
    names.push_back(field.tensor.name);
  std::vector<bool> isGiven(data.fields.size());
  for (const std::string &text : wishes.data) {
    size_t equals = text.find('=');
    if (equals == std::string::npos)
      return failure("'--data {}': expected field=file", text);
    size_t field = std::find(names.begin(), names.end(), text.substr(0, equals)) - names.begin();
    if (field == names.size())
      return failure("'--data {}': the program has no field '{}'{}", text, text.substr(0, equals),
                     didYouMean(text.substr(0, equals), names));
    if (!isGiven[field])
      data.fields[field].files.clear();
    isGiven[field] = true;
    data.fields[field].files.push_back(text.substr(equals + 1));
  }
  return Status::ok();
}

Status Job::applyOptions(ProgramInfo &description) const {
  if (wishes.ranks && *wishes.ranks != description.mesh.ranks())
    return failure("the program was compiled for {}, not {}; compile it with another --mesh",
                   describeRanks(), *wishes.ranks);
  if (wishes.steps)
    description.steps = *wishes.steps;
  if (wishes.seed)
    description.seed = *wishes.seed;
  for (const std::string &text : wishes.set)
    applySet(text, description);
  if (!wishes.checkpointFolder.empty()) {
    if (!description.checkpoint)
      description.checkpoint.emplace();
    description.checkpoint->directory = wishes.checkpointFolder;
  }
  if (wishes.checkpointEvery) {
    if (!description.checkpoint)
      return failure("'--checkpoint-every' needs '--checkpoint-dir': the program has no "
                     "'checkpoint'");
    description.checkpoint->every = *wishes.checkpointEvery;
  }
  return Status::ok();
}

Status Job::openResume() {
  std::string folder = *wishes.resume;
  if (folder.empty() && info().checkpoint)
    folder = info().checkpoint->directory;
  if (folder.empty())
    return failure("'--resume' needs a folder: the program has no 'checkpoint'");
  if (!wishes.init.empty())
    return failure("'--init' and '--resume' can't be given together");
  Expected<Checkpoint> opened = openCheckpoint(folder);
  if (opened.isError())
    return opened.status();
  checkpoint = std::move(*opened);
  const RunState &run = checkpoint->run;
  if (wishes.command == Command::Sample)
    return Status::ok();
  if (wishes.seed && *wishes.seed != run.seed)
    return failure("'{}' was written with seed {}, not {}", checkpoint->folder, run.seed,
                   *wishes.seed);
  if (run.batch != info().batch)
    return failure("'{}' was written with batch {}, the program has batch {}", checkpoint->folder,
                   run.batch, info().batch);
  return programs.change([&](ProgramInfo &description) {
    description.seed = run.seed;
    return Status::ok();
  });
}

/// The weights below the part `prefix`, or all if it is empty.
static std::vector<size_t> weightsBelow(const ProgramInfo &info, const std::string &prefix) {
  std::vector<size_t> weights;
  for (size_t i = 0; i < info.weights.size(); ++i)
    if (prefix.empty() || info.weights[i].tensor.name.starts_with(prefix + "."))
      weights.push_back(i);
  return weights;
}

Status Job::openInit(const InitInfo &init) {
  Expected<SafetensorsFile> file = SafetensorsFile::open(init.file);
  if (file.isError())
    return file.status();
  initFiles.push_back(std::move(*file));
  std::vector<std::string> names;
  std::vector<TensorOrigin *> places;
  for (size_t i : init.weights.empty() ? weightsBelow(info(), init.prefix) : init.weights) {
    const std::string &path = info().weights[i].tensor.name;
    bool below = !init.prefix.empty() && path.starts_with(init.prefix + ".");
    names.push_back(below ? path.substr(init.prefix.size() + 1) : path);
    places.push_back(&origins[i]);
  }
  return findAll(initFiles.back(), names, places);
}

Status Job::openWeights() {
  std::vector<std::string> stateNames;
  for (const WeightInfo &weight : info().weights) {
    origins.push_back({&weight.tensor, {}, nullptr, weight.initial});
    originParts.push_back({});
  }
  for (const WeightInfo &weight : info().weights)
    for (size_t state = 0; state < weight.states.size(); ++state) {
      origins.push_back({&weight.tensor, {}, nullptr, {}});
      originParts.push_back({TensorPart::Kind::State, state});
      stateNames.push_back(weight.tensor.name + "#" + weight.states[state].name);
    }
  std::vector<TensorOrigin *> places;
  for (TensorOrigin &origin : origins)
    places.push_back(&origin);
  std::span<TensorOrigin *const> weights(places.data(), info().weights.size());
  std::span<TensorOrigin *const> states(places.data() + weights.size(), stateNames.size());
  if (wishes.resume) {
    PTLRT_TRY(openResume());
    PTLRT_TRY(findAll(checkpoint->weights, info().weightNames(), weights));
    return wishes.command == Command::Sample ? Status::ok()
                                             : findAll(checkpoint->states, stateNames, states);
  }
  if (!wishes.init.empty())
    return openInit({wishes.init, "", {}, ""});
  for (const InitInfo &init : info().inits)
    if (Status status = openInit(init); status.isError())
      return failure("{} (the 'init' of {})", status.message(), init.line);
  return Status::ok();
}

Status Job::allocate() {
  deviceOptions.threads = threadsPerRank();
  if (std::string problem; !cpu::readEnvironment(deviceOptions, problem))
    return Status::error(problem);
  Expected<WaitPolicy> policy = waitPolicy();
  if (policy.isError())
    return policy.status();
  int count = ranksHere();
  std::optional<int64_t> need = multiply(info().arenaBytes, count);
  int64_t available = availableMemory();
  if (!need || (available > 0 && *need > available))
    return failure("the program needs {:.2f} GB of memory ({} ranks of {:.2f} GB), {:.2f} GB are "
                   "available",
                   static_cast<double>(count) * info().arenaBytes / 1e9, count,
                   info().arenaBytes / 1e9, available / 1e9);
  for (int rank = 0; rank < info().mesh.ranks(); ++rank) {
    if (processes && rank != processes->rank())
      continue;
    auto state = std::make_unique<RankState>();
    initializeRank(*state, info().mesh, rank, info().seed);
    state->play = &plays[rank];
    Expected<Arena> arena = Arena::map(info(rank).arenaBytes);
    if (arena.isError())
      return arena.status();
    state->arena = std::move(*arena);
    states.push_back(std::move(state));
  }
  // The last thing that can fail in one process alone: all must come to connect.
  PTLRT_TRY(settle(Status::ok()));
  return connect(*policy);
}

Status Job::settle(Status status) const {
  if (!processes)
    return status;
  int failed = processes->settle(status.isError());
  return status.isError() || failed < 0 ? status : failure("process {} failed", failed);
}

Expected<WaitPolicy> Job::waitPolicy() const {
  Expected<int64_t> timeout = env::commTimeout(), spin = env::commSpin();
  if (timeout.isError())
    return timeout.status();
  if (spin.isError())
    return spin.status();
  WaitPolicy policy;
  policy.timeoutMs = *timeout * 1000;
  bool hasCores =
      ranksHere() * threadsPerRank() <= static_cast<int>(std::thread::hardware_concurrency());
  policy.spin = *spin >= 0 ? *spin : hasCores ? 3000 : 50;
  return policy;
}

Status Job::connect(const WaitPolicy &policy) {
  std::vector<RankComm> comms;
  for (int rank = 0; rank < info().mesh.ranks(); ++rank)
    comms.push_back({info(rank).collectives, plays[rank].ports()});
  if (processes) {
    processes->setPolicy(policy);
    world = std::make_unique<MpiWorld>(*processes, info().mesh, std::move(comms));
  } else {
    world = std::make_unique<LocalWorld>(info().mesh, std::move(comms), policy);
  }
  for (const std::unique_ptr<RankState> &state : states) {
    Expected<std::unique_ptr<Communicator>> made =
        world->connect(state->rank.rank, state->memory());
    if (made.isError())
      return made.status();
    state->comm = std::move(*made);
  }
  return Status::ok();
}

std::vector<std::vector<uint8_t>> Job::collect(std::vector<std::vector<uint8_t>> mine) const {
  return processes ? processes->collect(mine.front()) : std::move(mine);
}

void Job::record(const RankState &state, const Status &status) {
  std::lock_guard<std::mutex> lock(failureLock);
  if (firstFailure.isError())
    return;
  std::string where;
  if (info().mesh.ranks() > 1 && !isEverywhere)
    where = fmt::format("rank {}", state.rank.rank);
  if (state.rank.step >= 0)
    where += fmt::format("{}step {}", where.empty() ? "" : ", ", state.rank.step);
  firstFailure = where.empty() ? status : failure("{}: {}", where, status.message());
}

std::unique_ptr<cpu::Device> Job::makeDevice() const {
  return std::make_unique<cpu::Device>(deviceOptions);
}

void Job::fill(RankState &state) const {
  state.rank.step = -1;
  state.arena->touch();
  for (size_t number = 0; number < origins.size(); ++number) {
    TensorOrigin origin = origins[number];
    if (!origin.fileData && origin.initial.kind == InitialKind::Zeros)
      continue; // the arena is zero
    const WeightInfo *weight = info(state.rank.rank).findWeight(origin.tensor->name);
    std::optional<Storage> storage =
        weight ? storageOf(*weight, originParts[number]) : std::nullopt;
    if (!storage)
      continue; // another stage's
    origin.storage = *storage;
    fillPiece(origin, info().mesh, state.rank, state.memory());
  }
}

/// How products of bf16 are computed is measured by rank 0 for all: replicas must agree.
static Status chooseProducts(RankState &state, cpu::Device &device) {
  bool wanted = state.rank.rank == 0 && device.options().gemm != cpu::GemmPolicy::Own &&
                cpu::probeBf16().library;
  Expected<int64_t> agreed = state.comm->agree(wanted);
  if (agreed.isError())
    return agreed.status();
  device.setBf16ByLibrary(*agreed != 0);
  return Status::ok();
}

void Job::runRank(RankState &state, const std::function<Status(RankState &)> &body) {
  announceRank(&state.rank);
  Status status;
  try {
    std::unique_ptr<cpu::Device> device = makeDevice();
    state.device = device.get();
    fill(state);
    status = state.comm->barrier();
    if (status.isOk() && set().whole().bf16)
      status = chooseProducts(state, *device);
    if (status.isOk())
      status = body(state);
    state.device = nullptr;
  } catch (const std::exception &error) {
    status = failure("{}", error.what());
  }
  if (status.isError()) {
    // Recorded before the others are told, so theirs can't be the first.
    record(state, status);
    if (processes && !isEverywhere)
      processes->fail(firstFailure.message());
    if (!processes)
      state.comm->abort();
  }
  announceRank(nullptr);
}

Status Job::runRanks(const std::function<Status(RankState &)> &body) {
  std::vector<std::thread> threads;
  for (const std::unique_ptr<RankState> &state : states)
    threads.emplace_back([this, &state, &body] { runRank(*state, body); });
  for (std::thread &thread : threads)
    thread.join();
  return firstFailure;
}

} // namespace ptlrt
