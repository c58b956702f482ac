//===- Scratch.h - Working memory of one thread ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_SCRATCH_H
#define PTLRT_DEVICE_CPU_SCRATCH_H

#include <cstdint>

namespace ptlrt::cpu {

/// Memory that grows to the largest size asked for and is kept: after the first step
/// of a program nothing is allocated any more.
class Scratch {
public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  /// At least `floats` floats, on a page of 2 MiB; contents are undefined.
  float *take(int64_t floats);

private:
  float *memory = nullptr;
  int64_t size = 0; ///< floats
};

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_SCRATCH_H
