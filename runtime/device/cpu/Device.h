//===- Device.h - The CPU as the device of one rank -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_DEVICE_H
#define PTLRT_DEVICE_CPU_DEVICE_H

#include "ptlrt/ptlrt.h"
#include "runtime/device/Device.h"
#include "runtime/device/cpu/GemmChoice.h"
#include "runtime/device/cpu/Kernels.h"
#include "runtime/device/cpu/Pool.h"
#include "runtime/device/cpu/Scratch.h"
#include <memory>
#include <string>
#include <vector>

namespace ptlrt::cpu {

class GemmPlans;

struct DeviceOptions {
  int threads = 1; ///< of this rank
  Isa isa = bestIsa();
  GemmPolicy gemm = GemmPolicy::Auto;
  /// Shared by the ranks of a process; needed for GemmPolicy::Probe only.
  std::shared_ptr<GemmProbes> probes;
  bool bf16ByLibrary = false; ///< products of bf16 by oneDNN (see probeBf16)
};

/// Fills `options` from PTL_CPU_ISA (avx2, avx512) and PTL_CPU_GEMM (auto, own,
/// onednn, probe); returns false and says why for a value that isn't possible.
bool readEnvironment(DeviceOptions &options, std::string &error);

/// Kernels, worker threads, working memory and the plans of products of one rank.
/// Made and used by the rank's own thread.
class Device {
public:
  explicit Device(const DeviceOptions &options);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceOptions &options() const { return config; }
  /// Before the first product; alike on all ranks, whose replicas must agree.
  void setBf16ByLibrary(bool value) { config.bf16ByLibrary = value; }
  const Kernels &kernels() const { return table; }
  Pool &pool() { return workers; }
  /// The working memory of a thread of the pool.
  Scratch &scratch(int thread) { return memory[static_cast<size_t>(thread)]; }
  GemmPlans &gemmPlans() { return *plans; }

private:
  DeviceOptions config;
  const Kernels &table;
  std::vector<Scratch> memory;
  std::unique_ptr<GemmPlans> plans;
  Pool workers;
};

/// The device of `rank`, or of the calling thread if the rank has none.
Device &deviceOf(const ptlrt_rank *rank);

/// Lines for people: instruction set, threads, library, and each product that was
/// planned so far with its back end.
std::string describe(Device &device);

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_DEVICE_H
