//===- ExpressionsTest.cpp - Types and values of expressions --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/lang/Sema/Analyzed.h"

using namespace ptlc;
using namespace ptlc::test;

namespace {

/// Whether a condition on numbers holds; statements of a loss follow from it.
std::string asserted(const std::string &condition, const std::string &more = "") {
  return inLoss("    return mse(x @ w, y)", more + "assert " + condition + "\n");
}

TEST(Numbers, AreExact) {
  EXPECT_EQ(asserted("7 / 7 == 1 and 1 / 2.0 == 0.5 and floor(7 / 2.0) == 3"), "");
  EXPECT_EQ(asserted("-7 % 3 == 2 and 7 % -3 == -2 and -7.5 % 2 == 0.5"), "");
  EXPECT_EQ(asserted("pow(2, 10) == 1024 and pow(2, 0.5) == sqrt(2) and pow(-1, 7) == -1"), "");
  EXPECT_EQ(asserted("where(a == 4, b, 0) == 6 and max(2, 3) == 3 and min(2.5, 3) == 2.5"), "");
  EXPECT_EQ(asserted("abs(-3) == 3 and int(-2.7) == -2 and float(3) / 2 == 1.5 and ceil(1.2) == 2"),
            "");
  EXPECT_EQ(asserted("not (a != 4) or false"), "");
  EXPECT_EQ(asserted("a / 0 == 1"), "3:8: error: division by zero");
  EXPECT_EQ(asserted("9223372036854775807 + 1 > 0"),
            "3:8: error: the result doesn't fit a 64-bit int");
  EXPECT_EQ(asserted("a > 5"), "3:1: error: assertion failed: a > 5 | note: a = 4");
  EXPECT_EQ(asserted("true + 1 == 2"), "3:8: error: '+' on a bool; use where(…) or float(x)");
}

TEST(Numbers, AreFoundOnDemand) {
  EXPECT_EQ(asserted("p == 12", "const p = q * 2, q = b\n"), "");
  EXPECT_EQ(asserted("p == 1", "const p = q, q = p\n"), "3:7: error: 'p' is defined by itself");
  EXPECT_EQ(asserted("r > 1", "const r = w\n"), "3:11: error: unknown name 'w'");
}

TEST(Elementwise, AlignsByName) {
  EXPECT_EQ(inLoss("return mean(x * 2 + 1) + mean(n + 1) + mean(n * 0.5) + mean(n % 3)"), "");
  EXPECT_EQ(inLoss("return mean(where(n > 2, x, 0))"), "");
  EXPECT_EQ(inLoss("return mean(where(n > 2, x, n))"), "");
  EXPECT_EQ(inLoss("return mean(x + y)"),
            "7:13: error: '+' needs one operand whose dimensions contain the other's: [batch, a] "
            "and [batch, b] | note: only the left has 'a', only the right 'b'; expand(x, b) adds a "
            "dimension");
  EXPECT_EQ(inLoss("return mean(x < n)"), "7:13: error: '<' compares float with int; use float(x)");
  EXPECT_EQ(inLoss("return mean(not x)"),
            "7:13: error: 'not' needs a bool, has a tensor [batch, a]");
  EXPECT_EQ(inLoss("return mean(x and n)"),
            "7:13: error: 'and' needs bool operands, has float and int");
  EXPECT_EQ(inLoss("return mean(exp(n))"),
            "7:13: error: 'exp' needs a float tensor, not int[batch]");
  EXPECT_EQ(inLoss("return mean(exp(x, x))"), "7:13: error: 'exp' takes 1 argument, got 2");
  EXPECT_EQ(inLoss("return mean(where(x, x, 0))"),
            "7:13: error: the condition of 'where' is a bool, not a tensor [batch, a]");
}

TEST(Fold, ChecksDimensionsAndMasks) {
  EXPECT_EQ(
      inLoss("return mean(max(x, over: a)) + sum(x, where: n > 0) + min(x, over: (a, batch))"), "");
  EXPECT_EQ(inLoss("return mean(x, over: b)"), "7:8: error: [batch, a] has no 'b' to run over");
  EXPECT_EQ(inLoss("return mean(x, over: (a, a))"), "7:8: error: 'a' is listed twice");
  EXPECT_EQ(inLoss("return mean(n, where: x > 0)"),
            "7:16: error: the mask bool[batch, a] has 'a', which int[batch] lacks");
  EXPECT_EQ(inLoss("return mean(x, where: n)"),
            "7:16: error: 'where' is a bool tensor, not a tensor int[batch]");
  EXPECT_EQ(inLoss("return mean(max(x, y, over: a))"),
            "7:13: error: 'max' of two values is element-wise and has no 'over'");
}

TEST(Products, AlignByName) {
  EXPECT_EQ(inLoss("return mean(dot(x, w, y, over: (a, b)))"), "");
  EXPECT_EQ(inLoss("return mean(dot(x, w, over: c))"), "7:13: error: no operand of 'dot' has 'c'");
  EXPECT_EQ(inLoss("return mean(dot(n, x, over: a))"),
            "7:13: error: products are of float tensors, not int[batch]");
  EXPECT_EQ(inLoss("return mean(x @ 2)"), "7:13: error: '@' multiplies tensors, not a number");
}

TEST(Shapes, AreNamed) {
  EXPECT_EQ(inLoss("return mean(reshape(x, a -> (c, d)))", "dim d = 2\n"), "");
  EXPECT_EQ(inLoss("return mean(reshape(x, a -> b, b -> a))", "dim d = 2\n"),
            "8:24: error: sizes differ: a = 4, b = 6");
  EXPECT_EQ(inLoss("return mean(reshape(x, b -> c))"), "7:24: error: [batch, a] has no 'b'");
  EXPECT_EQ(inLoss("return mean(reshape(u, a -> a2))"),
            "7:24: error: [a, a2] would have 'a2' twice");
  EXPECT_EQ(inLoss("return mean(slice(y, b -> a, from: 2)) + mean(pad(x, a -> b, before: 1))"), "");
  EXPECT_EQ(inLoss("return mean(slice(y, b -> a, from: 3))"),
            "7:13: error: 'a' = 4 from 3 on goes beyond 'b' = 6");
  EXPECT_EQ(inLoss("return mean(pad(y, b -> a))"),
            "7:13: error: 'b' = 6 after 0 doesn't fit into 'a' = 4");
  EXPECT_EQ(inLoss("return mean(concat(x, reshape(y, b -> b), (a, b) -> s))", "dim s = 10\n"), "");
  EXPECT_EQ(inLoss("return mean(stack((x, x + 1), c)) + mean(expand(x, (b, c)))"), "");
  EXPECT_EQ(inLoss("return mean(stack((x, x, x), c))"),
            "7:13: error: 'stack' needs 2 tensors for 'c', got 3");
  EXPECT_EQ(inLoss("return mean(expand(x, a))"), "7:13: error: [batch, a] has 'a' already");
  EXPECT_EQ(inLoss("let (v, i) = top_k(x, a -> c)\nreturn mean(v) + mean(i)"), "");
  EXPECT_EQ(inLoss("let (v, i) = top_k(x, a -> b)\nreturn mean(v)"),
            "7:14: error: 'b' = 6 is more than 'a' = 4");
  EXPECT_EQ(inLoss("return mean(one_hot(n, a)) + mean(iota(a))"), "");
  EXPECT_EQ(inLoss("return mean(one_hot(x, b))"),
            "7:13: error: 'one_hot' needs an int tensor, not [batch, a]");
}

TEST(Index, GathersByName) {
  EXPECT_EQ(inLoss("return mean(w[a: n]) + mean(x[a: n]) + mean(w[a: 1, b: 2])"), "");
  EXPECT_EQ(inLoss("return mean(w[c: n])"), "7:15: error: [a, b] has no 'c'");
  EXPECT_EQ(inLoss("return mean(w[a: -1])"), "7:15: error: 'a' goes from 0 to 3, not -1");
}

TEST(Attention, ChecksItsOperands) {
  const char *dims = "dim k = 4, v = 3\n";
  std::string setup = "let q = expand(x, c)\nlet z = reshape(expand(x, (c, k)), a -> v, k -> k)\n";
  EXPECT_EQ(inLoss("let q = reshape(expand(x, a2), a2 -> k)\n"
                   "return mean(attention(q, q, q, over: k, causal: true, window: 2))",
                   dims),
            "");
  EXPECT_EQ(inLoss("let q = reshape(expand(x, a2), a2 -> k)\n"
                   "return mean(attention(x, q, q, over: k, causal: true))",
                   dims),
            "9:13: error: 'causal' needs queries along 'k'; q is [batch, a]");
  EXPECT_EQ(inLoss("return mean(attention(x, x, x, over: b))"),
            "7:13: error: 'attention' runs over 'b', which k [batch, a] lacks");
  EXPECT_EQ(inLoss("return mean(attention(x, x, x, over: batch, window: 0))"),
            "7:13: error: 'window' must be at least 1, is 0");
}

TEST(Recovery, IndependentErrorsAreAllReported) {
  EXPECT_EQ(
      inLoss(
          "let p = x + y\nlet q = exp(n)\nlet r = p * q\nreturn mean(r, over: c) + mean(unknown)"),
      "7:9: error: '+' needs one operand whose dimensions contain the other's: [batch, a] and "
      "[batch, b] | note: only the left has 'a', only the right 'b'; expand(x, b) adds a "
      "dimension\n"
      "8:9: error: 'exp' needs a float tensor, not int[batch]\n"
      "10:32: error: unknown name 'unknown'");
}

TEST(Recovery, AnErrorInAStackIsReportedOnce) {
  std::string module = "module L {\n  weight g: [a] = ones\n"
                       "  fn forward(x: [batch, a]) = x * g + w2\n  weight w2: [b] = zeros\n}\n";
  std::string text = withLoss("    return mean(ls(x)) + mean(exp(n))", module);
  text.replace(text.find("  fn loss"), 0, "  ls = repeat(5) L()\n");
  EXPECT_EQ(Analyzed::text(text)->messages(),
            "5:31: error: '+' needs one operand whose dimensions contain the other's: [batch, a] "
            "and [b] | note: only the left has 'batch', 'a', only the right 'b'; expand(x, b) adds "
            "a dimension\n"
            "13:31: error: 'exp' needs a float tensor, not int[batch]");
}

TEST(Library, ErrorsPointAtTheUser) {
  std::string text = withLoss("    return mean(l(x)) + mean(m(y))");
  text.replace(text.find("  fn loss"), 0, "  l = nn.Linear(a, a)\n  m = nn.LayerNorm(a)\n");
  EXPECT_EQ(Analyzed::text(text)->messages(),
            "6:7: error: 'a' occurs twice in a type; give one of the two another name: 'dim a2 = "
            "a' | note: found here, in the standard library\n"
            "9:32: error: 'x' must be [.., a], is [batch, b]: lacks 'a'");
}

TEST(Names, HaveOneMeaning) {
  EXPECT_EQ(inLoss("let a = x\nreturn mean(a)"),
            "7:1: error: 'a' is already declared | note: declared on line 2");
  EXPECT_EQ(inLoss("let exp = x\nreturn mean(exp)"), ""); // built-in functions may be hidden
  EXPECT_EQ(inLoss("let f = exp\nreturn mean(x)"),
            "7:9: error: 'exp' is a function; call it: 'exp(…)'");
  EXPECT_EQ(inLoss("for i in 0..2 {\nlet h = x\n}\nfor i in 0..2 {\nlet h = x\n}\nreturn mean(x)"),
            "");
  EXPECT_EQ(inLoss("var h = x\nlet h = x\nreturn mean(h)"),
            "8:1: error: 'h' is already declared | note: declared on line 7");
  EXPECT_EQ(inLoss("return mean(nn.Linea)"),
            "7:13: error: 'nn' has no 'Linea'; did you mean 'Linear'?");
}

TEST(Loops, Expand) {
  EXPECT_EQ(
      inLoss("var h = x\nfor i in c { h = h * i }\nfor i in 1..3 { h = h + i }\nreturn mean(h)"),
      "");
  EXPECT_EQ(inLoss("var s = 0.0\nfor i in 0..3 { s = s + mean(x) }\nreturn s"), "");
  EXPECT_EQ(inLoss("for i in x { let z = i }\nreturn mean(x)"),
            "7:10: error: 'for' walks a range such as 0..n or a stack, not a tensor [batch, a]");
  EXPECT_EQ(inLoss("for i in 0..1000000 { let z = i }\nreturn mean(x)"),
            "7:10: error: 'for' is expanded, and 1000000 times is too often; the most is 65536");
}

TEST(Loops, ThatExpandWithoutEndAreStopped) {
  const char *tooMuch = "the program expands to more than 262144 calls, iterations and operations";
  std::string loops =
      inLoss("for i in 0..9999 {\nfor j in 0..9999 {\nlet h = i\n}\n}\nreturn mean(x)");
  EXPECT_EQ(loops, std::string("8:1: error: ") + tooMuch);
  std::string functions = "fn f0(x) = x + 1\n";
  for (int i = 1; i < 30; ++i)
    functions += "fn f" + std::to_string(i) + "(x) = f" + std::to_string(i - 1) + "(f" +
                 std::to_string(i - 1) + "(x))\n";
  EXPECT_NE(inLoss("return mean(f29(x))", functions).find(tooMuch), std::string::npos);
}

} // namespace
