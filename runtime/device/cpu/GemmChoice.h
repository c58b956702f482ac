//===- GemmChoice.h - Our own kernel or oneDNN ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_GEMMCHOICE_H
#define PTLRT_DEVICE_CPU_GEMMCHOICE_H

#include "runtime/device/cpu/Kernels.h"
#include <map>
#include <mutex>
#include <tuple>

namespace ptlrt::cpu {

enum class GemmBackend { Own, OneDnn };

/// How the back end of a product is found. Auto: a fixed rule; the same program on
/// the same kind of machine gives the same bits. Probe: measured at first use.
enum class GemmPolicy { Auto, Own, OneDnn, Probe };

/// Returns "own" or "onednn".
const char *nameOf(GemmBackend backend);

/// The fixed rule for a product, `haveLibrary` = oneDNN can be used.
GemmBackend chooseByRule(Isa isa, const Product &product, bool haveLibrary);

/// Whether oneDNN's products of bf16 are faster on this CPU than our own, which compute in f32:
/// measured once per process, some milliseconds, if the CPU has instructions for them.
struct Bf16Probe {
  bool library = false; ///< oneDNN's are
  std::string text;     ///< for people: what was chosen, and why
};
const Bf16Probe &probeBf16();

/// Measurements that all ranks of a process share, so that replicas compute alike.
class GemmProbes {
public:
  /// Returns the faster back end for the sizes and strides of `product`, measuring
  /// them on its operands (C isn't touched) if nobody did before. Products of more
  /// than a few seconds are left to the rule.
  GemmBackend faster(const Kernels &kernels, const Product &product, float *scratch);

private:
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool, bool>;
  std::mutex mutex;
  std::map<Key, GemmBackend> known;
};

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_GEMMCHOICE_H
