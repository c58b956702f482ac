//===- Native.cpp - A module of the memory stage, compiled and executed ---===//
// SPDX-License-Identifier: Apache-2.0
//
// The object file goes through LLVM's in-process linker; what it imports comes
// from the runtime's CPU library, or from the stand-ins below.
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-native/Native.h"

#include "compiler/Codegen/Places.h"
#include "compiler/Codegen/Schedule.h"
#include "ptlrt/ptlrt.h"
#include "runtime/comm/local/LocalWorld.h"
#include "runtime/core/Bfloat16.h"
#include "runtime/exec/ProgramInfo.h"
#include "test/lib/ptl-native/Emulator.h"
#include "test/lib/ptl-run/Layout.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/Mangling.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

using namespace ptlc;
using namespace ptlc::native;

/// An element of a tensor, widened.
static double elementOf(const ptlrt_segment &segment, const char *data, int64_t number) {
  return segment.bf16 ? ptlrt::fromBfloat16(reinterpret_cast<const uint16_t *>(data)[number])
                      : reinterpret_cast<const float *>(data)[number];
}

/// The norm without the runtime's state: plain f64.
static void globalNorm(ptlrt_rank *, void *arena, const ptlrt_segment *segments, int64_t count,
                       float *out) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const char *data = static_cast<const char *>(arena) + segments[i].offset;
    for (int64_t r = 0; r < segments[i].rows; ++r)
      for (int64_t c = 0; c < segments[i].cols; ++c) {
        double value = elementOf(segments[i], data, r * segments[i].stride + c);
        sum += value * value;
      }
  }
  *out = float(std::sqrt(sum));
}

/// The connection of the rank whose thread this is.
static ptlrt::Communicator *&currentEnd() {
  thread_local ptlrt::Communicator *end = nullptr;
  return end;
}

template <ptlrt::Status (ptlrt::Communicator::*part)(int)>
static void collective(ptlrt_rank *, void *, int32_t index) {
  if (ptlrt::Status status = (currentEnd()->*part)(index); status.isError())
    llvm::report_fatal_error(llvm::StringRef(status.message()));
}

static void progress(ptlrt_rank *) { currentEnd()->progress(); }

/// A loaded object file.
static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> load(llvm::StringRef object) {
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  llvm::orc::LLJIT &linker = **jit;
  llvm::orc::MangleAndInterner mangle(linker.getExecutionSession(), linker.getDataLayout());
  llvm::orc::SymbolMap symbols;
  auto define = [&](llvm::StringRef name, auto *function) {
    symbols[mangle(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                             llvm::JITSymbolFlags::Exported};
  };
  define("ptlrt_launch", &ptlrt_launch);
  define("ptlrt_gemm_f32", &ptlrt_gemm_f32);
  define("ptlrt_gemm_bf16", &ptlrt_gemm_bf16);
  define("ptlrt_attention_forward", &ptlrt_attention_forward);
  define("ptlrt_attention_forward_bf16", &ptlrt_attention_forward_bf16);
  define("ptlrt_attention_backward", &ptlrt_attention_backward);
  define("ptlrt_attention_backward_bf16", &ptlrt_attention_backward_bf16);
  define("ptlrt_global_norm", &globalNorm);
  define("ptlrt_collective", &collective<&ptlrt::Communicator::run>);
  define("ptlrt_collective_start", &collective<&ptlrt::Communicator::start>);
  define("ptlrt_collective_wait", &collective<&ptlrt::Communicator::wait>);
  define("ptlrt_collective_progress", &progress);
  forEachEmulatorFunction([&](llvm::StringRef name, void *function) {
    symbols[mangle(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                             llvm::JITSymbolFlags::Exported};
  });
  if (llvm::Error error =
          linker.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return std::move(error);
  if (llvm::Error error = linker.addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object)))
    return std::move(error);
  return jit;
}

namespace {
/// Moves tensors into and out of the arena.
class ArenaView {
public:
  explicit ArenaView(char *bytes) : bytes(bytes) {}

  void write(const run::Tensor &tensor, const codegen::Place &place) {
    each(tensor.type().element, place,
         [&](char *at, int64_t i) { put(tensor.type().element, at, tensor[i]); });
  }
  run::Tensor read(const run::Type &type, const codegen::Place &place) {
    run::Tensor tensor(type);
    double *data = tensor.mutableData();
    each(type.element, place, [&](char *at, int64_t i) { data[i] = get(type.element, at); });
    return tensor;
  }

private:
  static int64_t size(run::Element element) {
    return element == run::Element::I64 ? 8 : element == run::Element::I1 ? 1 : 4;
  }
  template <typename F> void each(run::Element element, const codegen::Place &place, F f) {
    for (int64_t r = 0, i = 0; r < place.layout.rows; ++r)
      for (int64_t c = 0; c < place.layout.cols; ++c, ++i)
        f(bytes + place.offset + size(element) * (r * place.layout.stride + c), i);
  }
  template <typename T> static void store(char *at, T value) { std::memcpy(at, &value, sizeof(T)); }
  template <typename T> static double fetch(const char *at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return double(value);
  }
  /// Padding is NaN; no index or count is as bad as the least integer.
  template <typename T> static T integer(double value) {
    return std::isnan(value) ? std::numeric_limits<T>::min() : T(value);
  }
  static void put(run::Element element, char *at, double value) {
    switch (element) {
    case run::Element::I32:
      return store(at, integer<int32_t>(value));
    case run::Element::I64:
      return store(at, integer<int64_t>(value));
    case run::Element::I1:
      return store(at, int8_t(value != 0));
    default:
      return store(at, float(value));
    }
  }
  static double get(run::Element element, const char *at) {
    switch (element) {
    case run::Element::I32:
      return fetch<int32_t>(at);
    case run::Element::I64:
      return fetch<int64_t>(at);
    case run::Element::I1:
      return fetch<int8_t>(at);
    default:
      return fetch<float>(at);
    }
  }
  char *bytes;
};
} // namespace

static void runFunctions(const ptlrt_program_t &program, const codegen::Schedule &schedule,
                         mlir::func::FuncOp function, ptlrt_rank &rank, char *arena) {
  if (function.getName() == "step") {
    for (uint64_t i = 0; i < program.table_size; ++i)
      program.functions[program.table[i].function](&rank, arena, program.table[i].micro);
    return;
  }
  for (auto [number, stage] : llvm::enumerate(schedule.functions))
    if (stage.owner == function)
      program.functions[number](&rank, arena, 0);
}

namespace {
/// The arenas of all ranks.
class Memories {
public:
  Memories(int64_t ranks, const codegen::Places &places) : places(places) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      // All ones is NaN in f32 and -1 in i32: what is read without having been written shows.
      storage.emplace_back(places.arena.total() + kPage, '\xff');
      size_t shift = kPage - reinterpret_cast<uintptr_t>(storage.back().data()) % kPage;
      arenas.push_back(storage.back().data() + shift);
    }
  }
  char *of(int64_t rank) const { return arenas[rank]; }

  /// Cuts the inputs for the ranks.
  llvm::Error write(mlir::func::FuncOp function, const run::Signature &signature,
                    const run::Tensors &inputs) {
    for (int64_t rank = 0; rank < signature.mesh.ranks(); ++rank)
      for (auto [argument, port] : llvm::zip_equal(function.getArguments(), signature.arguments)) {
        auto input = inputs.find(port.key());
        if (input == inputs.end())
          continue;
        auto local = run::distribute(signature.mesh, port.placement, input->second.as(port.global),
                                     port.local, rank);
        if (!local)
          return local.takeError();
        ArenaView(of(rank)).write(*local, places.of(argument));
      }
    return llvm::Error::success();
  }

  /// Puts the results of the ranks together.
  llvm::Expected<run::Tensors> read(mlir::func::FuncOp function,
                                    const run::Signature &signature) const {
    run::Tensors results;
    mlir::Operation *end = function.getBody().front().getTerminator();
    for (auto [value, port] : llvm::zip_equal(end->getOperands(), signature.results)) {
      llvm::SmallVector<run::Tensor> locals;
      for (int64_t rank = 0; rank < signature.mesh.ranks(); ++rank)
        locals.push_back(ArenaView(of(rank)).read(port.local, places.of(value)));
      auto global = run::collect(signature.mesh, port.placement, locals, port.global);
      if (!global)
        return global.takeError();
      results[port.key()] = std::move(*global);
    }
    return results;
  }

private:
  static constexpr size_t kPage = 4096;
  const codegen::Places &places;
  std::vector<std::vector<char>> storage;
  std::vector<char *> arenas;
};
} // namespace

/// Runs the function on a thread per rank, with the runtime's own collectives.
static void runRanks(const ptlrt_program_t &program, mlir::func::FuncOp function,
                     const run::Signature &signature, const ptlrt_rank &start,
                     const Memories &memories) {
  codegen::Schedule schedule = codegen::buildSchedule(function->getParentOfType<mlir::ModuleOp>());
  int64_t ranks = signature.mesh.ranks();
  ptlrt::ProgramInfo info;
  if (!signature.mesh.axes.empty()) {
    auto read = ptlrt::readProgram(program);
    if (read.isError())
      llvm::report_fatal_error(llvm::StringRef(read.message()));
    info = std::move(*read);
  }
  ptlrt::LocalWorld world(info.mesh, info.collectives, {50, 50, 60'000});
  std::vector<std::unique_ptr<ptlrt::Communicator>> ends;
  for (int64_t rank = 0; rank < ranks; ++rank)
    // Threads of one process always connect.
    ends.push_back(std::move(
        *world.connect(static_cast<int>(rank), reinterpret_cast<uint8_t *>(memories.of(rank)))));
  std::vector<std::thread> threads;
  for (int64_t number = 0; number < ranks; ++number)
    threads.emplace_back([&, number] {
      ptlrt_rank rank = start;
      rank.rank = static_cast<int32_t>(number);
      rank.ranks = static_cast<int32_t>(ranks);
      for (auto [i, axis] : llvm::enumerate(signature.mesh.axes))
        rank.coords[i] = static_cast<int32_t>(signature.mesh.coordinate(number, axis));
      currentEnd() = ends[number].get();
      runFunctions(program, schedule, function, rank, memories.of(number));
    });
  for (std::thread &thread : threads)
    thread.join();
}

llvm::FailureOr<run::Tensors> native::execute(mlir::func::FuncOp function,
                                              const run::Signature &signature,
                                              const run::Tensors &inputs, uint64_t seed,
                                              int64_t step, const codegen::TargetOptions &target) {
  auto module = function->getParentOfType<mlir::ModuleOp>();
  llvm::SmallVector<char, 0> object;
  if (failed(codegen::compileToObject(module, target, object)))
    return llvm::failure();
  auto jit = load(llvm::StringRef(object.data(), object.size()));
  auto symbol = jit ? (*jit)->lookup("ptlrt_program")
                    : llvm::Expected<llvm::orc::ExecutorAddr>(jit.takeError());
  auto fail = [&](llvm::Error error) {
    return module.emitError(llvm::toString(std::move(error))), llvm::failure();
  };
  if (!symbol)
    return fail(symbol.takeError());
  codegen::Places places(module);
  Memories memories(signature.mesh.ranks(), places);
  if (llvm::Error error = memories.write(function, signature, inputs))
    return fail(std::move(error));
  ptlrt_rank start{};
  start.seed = seed;
  start.step = step;
  if (auto valid = inputs.find("valid"); valid != inputs.end())
    start.valid = int64_t(valid->second.scalar());
  runRanks(*symbol->toPtr<const ptlrt_program_t *>(), function, signature, start, memories);
  auto results = memories.read(function, signature);
  if (!results)
    return fail(results.takeError());
  return std::move(*results);
}
