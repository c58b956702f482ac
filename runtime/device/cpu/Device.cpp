//===- Device.cpp - The CPU as the device of one rank ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Device.h"

#include "runtime/device/cpu/GemmPlans.h"
#include "runtime/device/cpu/OneDnn.h"
#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace ptlrt::cpu {

bool readEnvironment(DeviceOptions &options, std::string &error) {
  auto read = [](const char *name) {
    const char *text = std::getenv(name);
    return std::string_view(text ? text : "");
  };
  std::string_view isa = read("PTL_CPU_ISA");
  if (isa == "avx2") {
    options.isa = Isa::Avx2;
  } else if (isa == "avx512" && bestIsa() == Isa::Avx512) {
    options.isa = Isa::Avx512;
  } else if (!isa.empty()) {
    error = "PTL_CPU_ISA must be 'avx2' or, on a CPU that has it, 'avx512', is '" +
            std::string(isa) + "'";
    return false;
  }
  constexpr std::pair<std::string_view, GemmPolicy> kPolicies[] = {{"", GemmPolicy::Auto},
                                                                   {"auto", GemmPolicy::Auto},
                                                                   {"own", GemmPolicy::Own},
                                                                   {"onednn", GemmPolicy::OneDnn},
                                                                   {"probe", GemmPolicy::Probe}};
  std::string_view gemm = read("PTL_CPU_GEMM");
  for (const auto &[name, policy] : kPolicies)
    if (gemm == name) {
      options.gemm = policy;
      return true;
    }
  error = "PTL_CPU_GEMM must be 'auto', 'own', 'onednn' or 'probe', is '" + std::string(gemm) + "'";
  return false;
}

Device::Device(const DeviceOptions &options)
    : config(options), table(kernelsFor(options.isa)),
      memory(static_cast<size_t>(std::max(1, options.threads))),
      plans(std::make_unique<GemmPlans>()), workers(std::max(1, options.threads)) {
  if (config.gemm == GemmPolicy::Probe && !config.probes)
    config.probes = std::make_shared<GemmProbes>();
}

Device::~Device() = default;

Device &deviceOf(const ptlrt_rank *rank) {
  if (rank && rank->runtime) {
    auto *context = static_cast<RankContext *>(rank->runtime);
    if (context->device)
      return *context->device;
  }
  thread_local Device plain{DeviceOptions()};
  return plain;
}

std::string describe(Device &device) {
  std::string text = "cpu: " + std::string(nameOf(device.kernels().isa)) + " kernels, " +
                     std::to_string(device.pool().threads()) + " thread(s) a rank, " +
                     describeOneDnn() + "\n";
  return text + device.gemmPlans().describe();
}

namespace {
/// One call of ptlrt_launch, as the pool's threads see it.
struct Launch {
  ptlrt_kernel_fn kernel;
  int64_t rows, pieces;
  void *const *buffers;
  const int64_t *scalars;
};
} // namespace

static void runPiece(void *context, int64_t index, int) {
  const Launch &launch = *static_cast<Launch *>(context);
  int64_t begin = launch.rows * index / launch.pieces;
  int64_t end = launch.rows * (index + 1) / launch.pieces;
  launch.kernel(begin, end, launch.buffers, launch.scalars);
}

} // namespace ptlrt::cpu

extern "C" void ptlrt_launch(ptlrt_rank *rank, ptlrt_kernel_fn kernel, int64_t rows, int64_t grain,
                             void *const *buffers, const int64_t *scalars) {
  using namespace ptlrt::cpu;
  if (rows <= 0)
    return;
  if (grain >= rows) {
    kernel(0, rows, buffers, scalars);
    return;
  }
  Pool &pool = deviceOf(rank).pool();
  int64_t pieces = std::min<int64_t>(pool.threads(), rows / std::max<int64_t>(1, grain));
  Launch launch = {kernel, rows, std::max<int64_t>(1, pieces), buffers, scalars};
  pool.run(launch.pieces, runPiece, &launch);
}
