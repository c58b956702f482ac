//===- MathTest.cpp - Closed forms and derivatives by differences ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's gradients are written by hand from closed forms; here they
// are held against differences of the forward functions.
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Attention.h"
#include "test/lib/ptl-run/Composites.h"
#include "test/lib/ptl-run/Contraction.h"
#include "test/lib/ptl-run/Elementwise.h"
#include "test/lib/ptl-run/Files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace ptlc::run;

static Tensor noise(Type type, llvm::StringRef name) {
  Tensor result(type);
  RandomStream stream(7, name, 0);
  double *out = result.mutableData();
  for (int64_t i = 0; i < result.count(); ++i)
    out[i] = stream.normal(i);
  return result;
}

static double inner(const Tensor &a, const Tensor &b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Checks d <weights, f(x)> / dx = gradient, element by element.
static void expectGradient(const Tensor &x, const Tensor &gradient,
                           llvm::function_ref<double(const Tensor &)> function) {
  constexpr double kStep = 1e-5;
  for (int64_t i = 0; i < x.count(); ++i) {
    Tensor above = x, below = x;
    above.mutableData()[i] += kStep;
    below.mutableData()[i] -= kStep;
    double slope = (function(above) - function(below)) / (2 * kStep);
    EXPECT_NEAR(gradient[i], slope, 1e-7 * (1 + std::fabs(slope))) << "element " << i;
  }
}

TEST(Math, SoftmaxGradients) {
  Type type{Element::F32, {"x", "d", "y"}, {2, 3, 2}};
  Tensor x = noise(type, "x"), dy = noise(type, "dy");
  Tensor y = llvm::cantFail(softmax(x, "d"));
  expectGradient(x, llvm::cantFail(softmaxGrad(y, dy, "d")),
                 [&](const Tensor &x) { return inner(dy, llvm::cantFail(softmax(x, "d"))); });
  Tensor z = llvm::cantFail(logSoftmax(x, "d"));
  expectGradient(x, llvm::cantFail(logSoftmaxGrad(z, dy, "d")),
                 [&](const Tensor &x) { return inner(dy, llvm::cantFail(logSoftmax(x, "d"))); });
}

TEST(Math, NormGradients) {
  Type type{Element::F32, {"x", "d"}, {2, 4}}, row{Element::F32, {"x"}, {2}};
  Tensor x = noise(type, "x"), dy = noise(type, "dy");
  Normalised layer = llvm::cantFail(layerNorm(x, "d", 1e-5, row));
  expectGradient(
      x, llvm::cantFail(normGrad(dy, x, layer.mean, layer.rstd, "d")),
      [&](const Tensor &x) { return inner(dy, llvm::cantFail(layerNorm(x, "d", 1e-5, row)).y); });
  Normalised rms = llvm::cantFail(rmsNorm(x, "d", 1e-5, row));
  expectGradient(
      x, llvm::cantFail(normGrad(dy, x, std::nullopt, rms.rstd, "d")),
      [&](const Tensor &x) { return inner(dy, llvm::cantFail(rmsNorm(x, "d", 1e-5, row)).y); });
}

TEST(Math, CrossEntropyGradient) {
  Type type{Element::F32, {"x", "d"}, {3, 4}}, row{Element::F32, {"x"}, {3}};
  Tensor x = noise(type, "x"), dy = noise(row, "dy");
  Tensor targets({Element::I32, {"x"}, {3}}, {2, -1, 0});
  CrossEntropy forward = llvm::cantFail(crossEntropy(x, targets, "d", -1, row));
  EXPECT_EQ(forward.loss[1], 0);
  expectGradient(x, llvm::cantFail(crossEntropyGrad(dy, x, targets, forward.lse, "d", -1)),
                 [&](const Tensor &x) {
                   return inner(dy, llvm::cantFail(crossEntropy(x, targets, "d", -1, row)).loss);
                 });
}

TEST(Math, ElementwiseDerivatives) {
  for (double x : {-3.0, -0.5, 0.0, 0.7, 2.0})
    EXPECT_NEAR(geluDerivative(x), (gelu(x + 1e-6) - gelu(x - 1e-6)) / 2e-6, 1e-8);
  Type type{Element::F32, {"x"}, {5}};
  Tensor x(type, {-3, -0.5, 0, 0.7, 2}), one(type, 1.0);
  expectGradient(x, llvm::cantFail(elementwise("silu_grad", {x, one}, type)), [&](const Tensor &x) {
    return inner(one, llvm::cantFail(elementwise("silu", {x}, type)));
  });
}

// Rotating back restores; lengths stay.
TEST(Math, RopeInverse) {
  Type type{Element::F32, {"s", "h", "d"}, {3, 2, 4}};
  Tensor x = noise(type, "x");
  Tensor y = llvm::cantFail(rope(x, "d", "s", 100, false, {}));
  EXPECT_NEAR(inner(x, x), inner(y, y), 1e-12);
  EXPECT_GT(std::fabs(x[8] - y[8]), 1e-3);
  Tensor back = llvm::cantFail(rope(y, "d", "s", 100, true, {}));
  for (int64_t i = 0; i < x.count(); ++i)
    EXPECT_NEAR(back[i], x[i], 1e-12);
}

static void expectAttentionGradients(AttentionForm form, Type q, Type k, Type v, Type y, Type lse,
                                     std::optional<Tensor> mask) {
  Tensor tensors[] = {noise(q, "q"), noise(k, "k"), noise(v, "v")};
  Tensor dy = noise(y, "dy");
  auto forward = [&] {
    return llvm::cantFail(attention(tensors[0], tensors[1], tensors[2], mask, form, y, lse));
  };
  AttentionResult result = forward();
  AttentionGradients gradients = llvm::cantFail(
      attentionGrad(dy, tensors[0], tensors[1], tensors[2], mask, result.y, result.lse, form));
  const Tensor *all[] = {&gradients.dq, &gradients.dk, &gradients.dv};
  for (int i = 0; i < 3; ++i) {
    Tensor kept = tensors[i];
    expectGradient(kept, *all[i], [&](const Tensor &x) {
      tensors[i] = x;
      return inner(dy, forward().y);
    });
    tensors[i] = kept;
  }
}

// Grouped heads, causal, a window of two keys; the axes in an unusual order.
TEST(Math, SelfAttentionGradients) {
  AttentionForm form{"s", "d", "e"};
  form.causal = true;
  form.window = 2;
  form.scale = 0.7;
  form.heads = "h";
  form.keyHeads = "g";
  expectAttentionGradients(
      form, {Element::F32, {"s", "h", "d"}, {3, 4, 2}}, {Element::F32, {"g", "s", "d"}, {2, 3, 2}},
      {Element::F32, {"s", "g", "e"}, {3, 2, 3}}, {Element::F32, {"s", "h", "e"}, {3, 4, 3}},
      {Element::F32, {"s", "h"}, {3, 4}}, std::nullopt);
}

// Keys of another length, no head in them, and a mask per query.
TEST(Math, CrossAttentionGradients) {
  AttentionForm form{"k", "d", "d"};
  form.maskQuery = "k.query";
  Tensor mask({Element::I1, {"s", "k"}, {2, 3}}, {1, 0, 1, 1, 1, 0});
  expectAttentionGradients(form, {Element::F32, {"b", "s", "d"}, {2, 2, 2}},
                           {Element::F32, {"k", "d"}, {3, 2}}, {Element::F32, {"k", "d"}, {3, 2}},
                           {Element::F32, {"b", "s", "d"}, {2, 2, 2}},
                           {Element::F32, {"b", "s"}, {2, 2}}, mask);
}

// The result's order is free; names in one operand only may be summed, too.
TEST(Math, DotByNames) {
  Tensor a({Element::F32, {"b", "m", "k"}, {2, 2, 3}}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Tensor b({Element::F32, {"k", "n", "b"}, {3, 1, 2}}, {1, 2, 3, 4, 5, 6});
  Type type{Element::F32, {"n", "m", "b"}, {1, 2, 2}};
  Tensor result = llvm::cantFail(dot(a, b, {"k"}, type, Accumulate::F64));
  // b = 0: rows (1 3 5); m = 0: 1 + 6 + 15. b = 1: (2 4 6); m = 0: 14 + 32 + 54.
  EXPECT_EQ(result[0], 22);
  EXPECT_EQ(result[1], 100);
  EXPECT_EQ(result[2], 49);
  EXPECT_EQ(result[3], 136);
  Tensor summed =
      llvm::cantFail(dot(a, b, {"m", "k"}, {Element::F32, {"b", "n"}, {2, 1}}, Accumulate::F64));
  EXPECT_EQ(summed[0], 71);
}

// Junk passes through arithmetic but not through a choice that leaves it out.
TEST(Math, JunkIsContagious) {
  Type type{Element::F32, {"x"}, {2}}, boolean{Element::I1, {"x"}, {2}};
  Tensor junk(type, {poison(), 1}), zero(type), no(boolean, {0, 1});
  EXPECT_TRUE(std::isnan(llvm::cantFail(elementwise("mul", {junk, zero}, type))[0]));
  EXPECT_TRUE(std::isnan(llvm::cantFail(elementwise("max", {junk, zero}, type))[0]));
  EXPECT_TRUE(std::isnan(llvm::cantFail(elementwise("lt", {junk, zero}, boolean))[0]));
  EXPECT_EQ(llvm::cantFail(elementwise("select", {no, junk, zero}, type))[0], 0);
  Tensor both = llvm::cantFail(elementwise("and", {no, junk.as(boolean)}, boolean));
  EXPECT_EQ(both[0], 0);
}

TEST(Math, LookUpsStayInTheTable) {
  // A cut that was made for longer shards than the table's 3 rows.
  Type table{Element::F64, {"embed", "rows"}, {2, 3}}, ids{Element::I32, {"seq"}, {4}};
  Type rows{Element::F64, {"seq", "embed"}, {4, 2}};
  Windows windows = {{"rows", 0, 4, 7}};
  auto found = gather(Tensor(table), "rows", Tensor(ids, 3), rows, windows);
  ASSERT_FALSE(found);
  EXPECT_EQ(llvm::toString(found.takeError()), "the cut of 'rows' has 4 elements, the tensor 3");
  auto sum = scatterAdd(Tensor(ids, 3), Tensor(rows), "rows", std::nullopt, table, windows);
  EXPECT_FALSE(sum);
  llvm::consumeError(sum.takeError());
}

TEST(Files, SafetensorsRoundTrip) {
  std::string path = testing::TempDir() + "/ptl-run-round-trip.safetensors";
  TensorMap map;
  map["a.b"] = Tensor({Element::F32, {}, {2, 2}}, {1, -2.5, 3, 0.1f});
  map["scalar"] = Tensor({Element::F32, {}, {}}, 7.0);
  map["ids"] = Tensor({Element::I32, {}, {3}}, {1, -1, 2});
  ASSERT_FALSE(writeSafetensors(path, map));
  TensorMap again = llvm::cantFail(readSafetensors(path));
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again["a.b"].type().sizes, (Sizes{2, 2}));
  EXPECT_EQ(again["a.b"][3], 0.1f);
  EXPECT_EQ(again["scalar"].scalar(), 7);
  EXPECT_EQ(again["ids"][1], -1);
}
