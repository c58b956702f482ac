//===- ScheduleTest.cpp - Learning rates ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The formulas of the language reference at chosen steps.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Schedule.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace ptlrt;

namespace {

TEST(Schedules, Formulas) {
  Schedule constant;
  EXPECT_EQ(constant.rate(0.1, 1000), 0.1);
  Schedule cosine{ScheduleKind::WarmupCosine, 5, 20, 1e-4, {}, 1};
  EXPECT_DOUBLE_EQ(cosine.rate(1e-3, 0), 2e-4);
  EXPECT_DOUBLE_EQ(cosine.rate(1e-3, 4), 1e-3);
  EXPECT_DOUBLE_EQ(cosine.rate(1e-3, 5), 1e-3);
  EXPECT_DOUBLE_EQ(cosine.rate(1e-3, 8), 1e-4 + 0.5 * 9e-4 * (1 + std::cos(M_PI * 3 / 15)));
  EXPECT_DOUBLE_EQ(cosine.rate(1e-3, 20), 1e-4);
  EXPECT_DOUBLE_EQ(cosine.rate(1e-3, 500), 1e-4);
  Schedule linear{ScheduleKind::WarmupLinear, 2, 12, 0, {}, 1};
  EXPECT_DOUBLE_EQ(linear.rate(1, 1), 1);
  EXPECT_DOUBLE_EQ(linear.rate(1, 7), 0.5);
  EXPECT_DOUBLE_EQ(linear.rate(1, 13), 0);
  Schedule steps{ScheduleKind::Steps, 0, 0, 0, {3, 6}, 0.1};
  EXPECT_DOUBLE_EQ(steps.rate(1, 2), 1);
  EXPECT_DOUBLE_EQ(steps.rate(1, 3), 0.1);
  EXPECT_NEAR(steps.rate(1, 6), 0.01, 1e-15);
}

// Without warm-up, and with a total before its end, nothing divides by zero.
TEST(Schedules, Degenerate) {
  Schedule none{ScheduleKind::WarmupCosine, 0, 0, 0.5, {}, 1};
  EXPECT_DOUBLE_EQ(none.rate(1, 0), 1);
  EXPECT_DOUBLE_EQ(none.rate(1, 1), 0.5);
}

} // namespace
