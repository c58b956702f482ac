//===- Schedule.h - Learning rates by step --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `constant`, `warmup_cosine`, `warmup_linear`, `steps`; steps count from 0.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_SCHEDULE_H
#define PTLRT_EXEC_SCHEDULE_H

#include <cstdint>
#include <vector>

namespace ptlrt {

enum class ScheduleKind : uint8_t { Constant, WarmupCosine, WarmupLinear, Steps };

struct Schedule {
  ScheduleKind kind = ScheduleKind::Constant;
  int64_t warmup = 0, total = 0;
  double minLr = 0;
  std::vector<int64_t> at; ///< `steps`
  double factor = 1;

  /// The rate at `step` of an optimizer whose own rate is `lr`. The warm-up is
  /// lr * (step + 1) / warmup; then half a cosine, or a line, from lr to minLr at `total`, and
  /// minLr after that. `steps`: times `factor` at each of `at`.
  double rate(double lr, int64_t step) const;
};

} // namespace ptlrt

#endif // PTLRT_EXEC_SCHEDULE_H
