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
#include "test/lib/ptl-native/Emulator.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/Mangling.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace ptlc;
using namespace ptlc::native;

/// The norm without the runtime's state: plain f64.
static void globalNorm(ptlrt_rank *, void *arena, const ptlrt_segment *segments, int64_t count,
                       float *out) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto *data =
        reinterpret_cast<const float *>(static_cast<const char *>(arena) + segments[i].offset);
    for (int64_t r = 0; r < segments[i].rows; ++r)
      for (int64_t c = 0; c < segments[i].cols; ++c)
        sum += double(data[r * segments[i].stride + c]) * data[r * segments[i].stride + c];
  }
  *out = float(std::sqrt(sum));
}

static void noCollective(ptlrt_rank *, void *, int32_t) {
  llvm::report_fatal_error("ptl-native runs programs of one device only");
}

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
  define("ptlrt_attention_forward", &ptlrt_attention_forward);
  define("ptlrt_attention_backward", &ptlrt_attention_backward);
  define("ptlrt_global_norm", &globalNorm);
  define("ptlrt_collective", &noCollective);
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
  ArenaView(std::vector<char> &bytes) : bytes(bytes) {}

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
        f(bytes.data() + place.offset + size(element) * (r * place.layout.stride + c), i);
  }
  template <typename T> static void store(char *at, T value) { std::memcpy(at, &value, sizeof(T)); }
  template <typename T> static double fetch(const char *at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return double(value);
  }
  static void put(run::Element element, char *at, double value) {
    switch (element) {
    case run::Element::I32:
      return store(at, int32_t(value));
    case run::Element::I64:
      return store(at, int64_t(value));
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
  std::vector<char> &bytes;
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
  if (!symbol)
    return module.emitError(llvm::toString(symbol.takeError())), llvm::failure();
  const auto &program = *symbol->toPtr<const ptlrt_program_t *>();

  codegen::Places places(module);
  // All ones is NaN in f32 and -1 in i32: what is read without having been written shows.
  std::vector<char> storage(places.arena.total() + 4096, '\xff');
  size_t shift = 4096 - reinterpret_cast<uintptr_t>(storage.data()) % 4096;
  char *arena = storage.data() + shift;
  std::vector<char> staging(places.arena.total(), '\xff');
  ArenaView view(staging);
  for (auto [argument, port] : llvm::zip_equal(function.getArguments(), signature.arguments))
    if (auto it = inputs.find(port.key()); it != inputs.end())
      view.write(it->second, places.of(argument));
  std::memcpy(arena, staging.data(), staging.size());

  ptlrt_rank rank{};
  rank.ranks = 1;
  rank.seed = seed;
  rank.step = step;
  if (auto valid = inputs.find("valid"); valid != inputs.end())
    rank.valid = int64_t(valid->second.scalar());
  runFunctions(program, codegen::buildSchedule(module), function, rank, arena);
  std::memcpy(staging.data(), arena, staging.size());
  run::Tensors results;
  mlir::Operation *end = function.getBody().front().getTerminator();
  for (auto [value, port] : llvm::zip_equal(end->getOperands(), signature.results))
    results[port.key()] = view.read(port.local, places.of(value));
  return results;
}
