//===- Reduce.h - Combining buffers of several ranks ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_REDUCE_H
#define PTLRT_DEVICE_CPU_REDUCE_H

#include "runtime/device/cpu/Kernels.h"

namespace ptlrt::cpu {

/// Elements begin .. end-1 of all `count` buffers become their combination: buffer 0
/// first, then 1, and so on, whoever calls. One pass over memory.
inline void reduceInto(Combine kind, float *const *buffers, int64_t count, int64_t begin,
                       int64_t end) {
  kernelsFor(bestIsa()).combine(kind, buffers, count, begin, end);
}

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_REDUCE_H
