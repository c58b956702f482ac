//===- Emulator.cpp - Threads of a GPU as fibers --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-native/Emulator.h"

#include "llvm/Support/ErrorHandling.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

using namespace ptlc;

namespace {
using Thread = void (*)(void *const *buffers, const int64_t *scalars, void *workspace);

constexpr unsigned kWarp = 32, kMostThreads = 1024;
constexpr size_t kStack = 256 * 1024;
constexpr int64_t kSharedBytes = 48 * 1024;

/// A warp's exchange: two slots in turn, since nobody writes a slot again before all have read it.
struct Warp {
  uint64_t arrived = 0;
  std::array<std::array<uint32_t, kWarp>, 2> slots;
};

struct Fiber {
  ucontext_t context;
  uint64_t shuffles = 0, barriers = 0;
  bool done = false;
};

class Emulator {
public:
  static Emulator &get() {
    static Emulator emulator;
    return emulator;
  }
  void launch(Thread function, int64_t grid, int64_t threads, void *const *buffers,
              const int64_t *scalars, void *memory);
  void barrier() {
    arrived++;
    uint64_t all = ++fibers[current].barriers * threads;
    waitUntil([&] { return arrived >= all; });
  }
  uint32_t shuffle(uint32_t value, uint32_t distance) {
    Warp &warp = warps[current / kWarp];
    unsigned lane = current % kWarp;
    uint64_t number = fibers[current].shuffles++;
    warp.slots[number % 2][lane] = value;
    warp.arrived++;
    waitUntil([&] { return warp.arrived >= (number + 1) * kWarp; });
    return warp.slots[number % 2][lane ^ distance];
  }
  void *shared(int64_t number, int64_t bytes) {
    std::vector<int64_t> &memory = sharedMemory[number];
    if (memory.empty()) {
      memory.assign(bytes / 8, -1);
      sharedBytes += bytes;
      if (sharedBytes > kSharedBytes)
        llvm::report_fatal_error("a block has at most 48 KiB of shared memory");
    }
    return memory.data();
  }
  void *workspace(int64_t bytes) {
    memory.assign(bytes + 16, '\xff');
    return memory.data() + (16 - reinterpret_cast<uintptr_t>(memory.data()) % 16);
  }

  unsigned current = 0;
  int64_t block = 0;
  bool reverse = false;

private:
  void runBlock();
  static void start();
  template <typename F> void waitUntil(F ready) {
    while (!ready()) {
      swapcontext(&fibers[current].context, &scheduler);
    }
    progress++;
  }

  ucontext_t scheduler;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::map<int64_t, std::vector<int64_t>> sharedMemory; ///< of the block
  int64_t sharedBytes = 0;
  std::vector<char> memory;
  char *stacks = nullptr;
  uint64_t arrived = 0, progress = 0;
  int64_t threads = 0;
  Thread function = nullptr;
  void *const *buffers = nullptr;
  const int64_t *scalars = nullptr;
  void *space = nullptr;
};
} // namespace

void Emulator::start() {
  Emulator &self = get();
  self.function(self.buffers, self.scalars, self.space);
  self.fibers[self.current].done = true;
  self.progress++;
  swapcontext(&self.fibers[self.current].context, &self.scheduler);
}

void Emulator::runBlock() {
  fibers.assign(threads, {});
  warps.assign((threads + kWarp - 1) / kWarp, {});
  sharedMemory.clear();
  sharedBytes = 0;
  arrived = 0;
  for (int64_t i = 0; i < threads; ++i) {
    getcontext(&fibers[i].context);
    fibers[i].context.uc_stack = {stacks + i * kStack, 0, kStack};
    fibers[i].context.uc_link = nullptr;
    makecontext(&fibers[i].context, &Emulator::start, 0);
  }
  for (int64_t left = threads; left > 0;) {
    uint64_t before = progress;
    for (int64_t i = 0; i < threads; ++i) {
      current = reverse ? threads - 1 - i : i;
      if (fibers[current].done)
        continue;
      swapcontext(&scheduler, &fibers[current].context);
      left -= fibers[current].done;
    }
    if (progress == before)
      llvm::report_fatal_error("threads of a block don't meet at a barrier or a shuffle");
  }
}

void Emulator::launch(Thread kernel, int64_t grid, int64_t blockSize, void *const *bufferList,
                      const int64_t *scalarList, void *workspaceMemory) {
  if (!stacks)
    stacks = static_cast<char *>(mmap(nullptr, kMostThreads * kStack, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (blockSize > int64_t(kMostThreads) || blockSize % kWarp != 0)
    llvm::report_fatal_error("a block has whole warps and at most 1024 threads");
  function = kernel;
  threads = blockSize;
  buffers = bufferList;
  scalars = scalarList;
  space = workspaceMemory;
  for (int64_t i = 0; i < grid; ++i) {
    block = reverse ? grid - 1 - i : i;
    runBlock();
  }
}

static void launch(Thread function, int64_t grid, int64_t threads, int64_t begin, int64_t,
                   void *const *buffers, const int64_t *scalars, void *workspace) {
  // The kernel is for all rows; ptlrt_launch may divide them between threads, ptl-native has one.
  if (begin != 0)
    llvm::report_fatal_error("an emulated kernel is launched as a whole");
  Emulator::get().launch(function, grid, threads, buffers, scalars, workspace);
}
static int64_t thread() { return Emulator::get().current; }
static int64_t block() { return Emulator::get().block; }
static void barrier() { Emulator::get().barrier(); }
static uint32_t shuffle(uint32_t value, uint32_t distance) {
  return Emulator::get().shuffle(value, distance);
}
static void *shared(int64_t number, int64_t bytes) { return Emulator::get().shared(number, bytes); }
static void *workspace(int64_t bytes) { return Emulator::get().workspace(bytes); }

// Denormal numbers are zero, as with .ftz.
static float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
static float powerOfTwo(float x) { return flush(std::exp2(flush(x))); }
static float logOfTwo(float x) { return flush(std::log2(flush(x))); }
static float reciprocal(float x) { return flush(1.0f / flush(x)); }
static float root(float x) { return flush(std::sqrt(flush(x))); }
static float sine(float x) { return flush(std::sin(flush(x))); }
static float cosine(float x) { return flush(std::cos(flush(x))); }
static float magnitude(float x) { return flush(std::fabs(x)); }
static float roundDown(float x) { return std::floor(flush(x)); }
static float roundUp(float x) { return std::ceil(flush(x)); }
static float roundToZero(float x) { return std::trunc(flush(x)); }

void native::setReverseOrder(bool reverse) { Emulator::get().reverse = reverse; }

void native::forEachEmulatorFunction(llvm::function_ref<void(llvm::StringRef, void *)> f) {
  auto add = [&](llvm::StringRef name, auto *function) {
    f(("emulator_" + name).str(), reinterpret_cast<void *>(function));
  };
  add("launch", &launch);
  add("thread", &thread);
  add("block", &block);
  add("barrier", &barrier);
  add("shuffle", &shuffle);
  add("shared", &shared);
  add("workspace", &workspace);
  add("llvm.nvvm.ex2.approx.ftz.f32", &powerOfTwo);
  add("llvm.nvvm.lg2.approx.ftz.f", &logOfTwo);
  add("llvm.nvvm.rcp.approx.ftz.f", &reciprocal);
  add("llvm.nvvm.sqrt.approx.ftz.f", &root);
  add("llvm.nvvm.sin.approx.ftz.f", &sine);
  add("llvm.nvvm.cos.approx.ftz.f", &cosine);
  add("llvm.nvvm.fabs.ftz.f32", &magnitude);
  add("llvm.nvvm.floor.ftz.f", &roundDown);
  add("llvm.nvvm.ceil.ftz.f", &roundUp);
  add("llvm.nvvm.trunc.ftz.f", &roundToZero);
}
