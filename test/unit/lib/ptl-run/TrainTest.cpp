//===- TrainTest.cpp - Optimizers against numbers worked out by hand ------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/lib/ptl-run/Train.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace ptlc::run;

static Tensor scalar(double value) { return Tensor({Element::F32, {}, {}}, value); }

// torch.optim.AdamW, first step: m^ = g, v^ = g g, so the update is lr sign(g) (nearly), after the
// decay 1 - lr wd.
TEST(Train, AdamWFirstStep) {
  Hypers h{0.1, 0.9, 0.99, 1e-8, 0.5};
  Update after = optimize(Optimizer::AdamW, {scalar(2), {scalar(0), scalar(0)}}, scalar(-3), h);
  EXPECT_NEAR(after.weight.scalar(), 2 * 0.95 + 0.1, 1e-8);
  EXPECT_NEAR(after.states[0].scalar(), -0.3, 1e-15);
  EXPECT_NEAR(after.states[1].scalar(), 0.09, 1e-15);
}

// Second step with g = 1, no decay: m = 0.9 * -0.3 + 0.1, v = 0.99 * 0.09 + 0.01;
// m^ = -0.17 / 0.19, v^ = 0.0991 / 0.0199.
TEST(Train, AdamWSecondStep) {
  Hypers h{0.1, 0.9, 0.99, 1e-8, 0};
  h.step = 1;
  Update after =
      optimize(Optimizer::AdamW, {scalar(0), {scalar(-0.3), scalar(0.09)}}, scalar(1), h);
  EXPECT_NEAR(after.weight.scalar(), 0.1 * (0.17 / 0.19) / std::sqrt(0.0991 / 0.0199), 1e-8);
}

// torch.optim.SGD: the first gradient enters the buffer undamped, the decay is part of it.
TEST(Train, SgdMomentum) {
  Hypers h;
  h.lr = 0.5;
  h.momentum = 0.8;
  h.dampening = 0.25;
  h.weightDecay = 0.1;
  Update first = optimize(Optimizer::Sgd, {scalar(2), {scalar(0)}}, scalar(1), h);
  EXPECT_NEAR(first.states[0].scalar(), 1.2, 1e-15);
  EXPECT_NEAR(first.weight.scalar(), 1.4, 1e-15);
  h.step = 1;
  h.nesterov = true;
  Update second = optimize(Optimizer::Sgd, first, scalar(1), h);
  // g = 1.14, buffer = 0.96 + 0.75 * 1.14 = 1.815, update = 1.14 + 0.8 * 1.815.
  EXPECT_NEAR(second.states[0].scalar(), 1.815, 1e-15);
  EXPECT_NEAR(second.weight.scalar(), 1.4 - 0.5 * 2.592, 1e-15);
  h.nesterov = false;
  EXPECT_NEAR(optimize(Optimizer::Sgd, {scalar(2), {}}, scalar(1), h).weight.scalar(), 1.4, 1e-15);
}

// Lion: the sign of a mix by beta1 moves the weight, the state mixes by beta2.
TEST(Train, Lion) {
  Hypers h{0.01, 0.9, 0.99, 0, 0.1};
  Update after = optimize(Optimizer::Lion, {scalar(2), {scalar(-0.5)}}, scalar(4), h);
  // 0.9 * -0.5 + 0.1 * 4 = -0.05, so the weight grows.
  EXPECT_NEAR(after.weight.scalar(), 2 * 0.999 + 0.01, 1e-15);
  EXPECT_NEAR(after.states[0].scalar(), 0.99 * -0.5 + 0.01 * 4, 1e-15);
}

// Muon: the direction is the gradient mixed with the new momentum once more, or the momentum
// itself.
TEST(Train, MuonDirection) {
  Hypers h;
  h.momentum = 0.75;
  Update after = optimize(Optimizer::Muon, {scalar(9), {scalar(2)}}, scalar(-2), h);
  EXPECT_DOUBLE_EQ(after.states[0].scalar(), 1);
  EXPECT_DOUBLE_EQ(after.weight.scalar(), 1);
  h.nesterov = true;
  after = optimize(Optimizer::Muon, {scalar(9), {scalar(2)}}, scalar(-2), h);
  EXPECT_DOUBLE_EQ(after.weight.scalar(), 0.75 * 1 + 0.25 * -2);
}

// LAMB: the first direction is the gradient's sign (nearly) and the decay.
TEST(Train, LambDirection) {
  Hypers h{0, 0.9, 0.99, 1e-9, 0.5};
  Update after = optimize(Optimizer::Lamb, {scalar(4), {scalar(0), scalar(0)}}, scalar(-3), h);
  EXPECT_NEAR(after.weight.scalar(), -1 + 0.5 * 4, 1e-8);
  EXPECT_NEAR(after.states[0].scalar(), -0.3, 1e-15);
}

// The step along a direction: decay, then the direction times its factor and the rate.
TEST(Train, Apply) {
  Hypers h;
  h.lr = 0.5;
  h.weightDecay = 0.25;
  h.scale = 3;
  EXPECT_DOUBLE_EQ(optimize(Optimizer::Apply, {scalar(8), {}}, scalar(2), h).weight.scalar(), 4);
}

// The clip factor multiplies the gradient before everything else.
TEST(Train, ScaleComesFirst) {
  Hypers h;
  h.lr = 1;
  h.scale = 0.5;
  EXPECT_EQ(optimize(Optimizer::Sgd, {scalar(0), {}}, scalar(4), h).weight.scalar(), -2);
  EXPECT_DOUBLE_EQ(globalNorm({scalar(3), scalar(4)}), 5);
}
