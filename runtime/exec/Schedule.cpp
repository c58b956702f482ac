//===- Schedule.cpp - Learning rates by step ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In f64; the runtime rounds to f32 once.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ptlrt {

double Schedule::rate(double lr, int64_t step) const {
  if (kind == ScheduleKind::Constant)
    return lr;
  if (kind == ScheduleKind::Steps) {
    for (int64_t change : at)
      if (step >= change)
        lr *= factor;
    return lr;
  }
  if (step < warmup)
    return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  double done = static_cast<double>(step - warmup) /
                static_cast<double>(std::max<int64_t>(1, total - warmup));
  done = std::min(1.0, done);
  if (kind == ScheduleKind::WarmupLinear)
    return lr + (minLr - lr) * done;
  return minLr + 0.5 * (lr - minLr) * (1 + std::cos(std::numbers::pi * done));
}

} // namespace ptlrt
