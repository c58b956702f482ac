//===- AttentionTest.cpp - Attention against plain loops in f64 -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every option (causal, window, mask, grouped heads, cross attention, padding, places
// of a cut sequence) on odd sizes around the blocks of 64 queries and 256 keys, both
// directions. The naive version stores all scores; its gradient is the textbook one.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/Device.h"
#include "test/unit/runtime/device/Random.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace ptlrt;
using namespace ptlrt::cpu;
using test::Random;

namespace {

struct Options {
  int64_t batch = 1, heads = 1, group = 1; ///< `group` query heads share a key head
  int64_t queries = 1, keys = 1, depth = 1, valueDepth = 1;
  bool causal = false, mask = false;
  int64_t window = 0, queryStart = 0, keyStart = 0, keyValid = -1;
};

/// Tensors [batch, seq, heads, depth] with a padded row, and the naive results.
class Case {
public:
  explicit Case(const Options &o, uint32_t seed = 1) : o(o) {
    describeLoops();
    Random random(seed);
    int64_t heads = o.heads * o.group;
    q = random.numbers(o.batch * o.queries * d.q_row);
    k = random.numbers(o.batch * o.keys * d.k_row);
    v = random.numbers(o.batch * o.keys * d.v_row);
    dout = random.numbers(o.batch * o.queries * d.o_row);
    for (int64_t i = 0; i < o.batch * o.queries * o.keys; ++i)
      mask.push_back(random.bits() % 3 != 0);
    out.assign(dout.size(), 7.0f);
    lse.assign(static_cast<size_t>(o.batch * heads * o.queries), 7.0f);
    dq.assign(q.size(), 7.0f);
    dk.assign(k.size(), 7.0f);
    dv.assign(v.size(), 7.0f);
  }

  void run(Device &device) {
    RankContext context{&device};
    ptlrt_rank rank = {};
    rank.runtime = &context;
    const uint8_t *m = o.mask ? mask.data() : nullptr;
    ptlrt_attention_forward(&rank, &d, q.data(), k.data(), v.data(), m, out.data(), lse.data());
    ptlrt_attention_backward(&rank, &d, q.data(), k.data(), v.data(), m, out.data(), lse.data(),
                             dout.data(), dq.data(), dk.data(), dv.data());
  }
  void check(const std::string &what) {
    naive();
    compare(out, outExpected, what + " out");
    compare(dq, dqExpected, what + " dq");
    compare(dk, dkExpected, what + " dk");
    compare(dv, dvExpected, what + " dv");
    for (size_t i = 0; i < lse.size(); ++i) {
      if (std::isinf(lseExpected[i]))
        EXPECT_EQ(lse[i], -std::numeric_limits<float>::infinity()) << what << " lse " << i;
      else
        EXPECT_NEAR(lse[i], lseExpected[i], 1e-5) << what << " lse " << i;
    }
  }

  Options o;
  ptlrt_attention d = {};
  std::vector<float> q, k, v, dout, out, lse, dq, dk, dv;

private:
  void describeLoops() {
    int64_t queryHeads = o.heads * o.group;
    d.queries = o.queries;
    d.keys = o.keys;
    d.depth = o.depth;
    d.value_depth = o.valueDepth;
    d.causal = o.causal;
    d.window = o.window;
    d.scale = 1.0f / std::sqrt(static_cast<float>(o.depth));
    d.mask_kind = o.mask;
    d.query_start = o.queryStart;
    d.key_start = o.keyStart;
    d.key_valid = o.keyValid < 0 ? o.keys : o.keyValid;
    d.q_row = queryHeads * o.depth + 3;
    d.k_row = o.heads * o.depth + 5;
    d.v_row = o.heads * o.valueDepth;
    d.o_row = queryHeads * o.valueDepth + 1;
    d.lse_row = 1;
    d.mask_row = o.keys;
    d.mask_col = 1;
    setLoop(0, o.batch, o.queries * d.q_row, o.keys * d.k_row, o.keys * d.v_row,
            o.queries * d.o_row, queryHeads * o.queries, o.queries * o.keys);
    setLoop(1, o.heads, o.group * o.depth, o.depth, o.valueDepth, o.group * o.valueDepth,
            o.group * o.queries, 0);
    setLoop(2, o.group, o.depth, 0, 0, o.valueDepth, o.queries, 0);
    d.outer = 3;
  }
  void setLoop(int i, int64_t size, int64_t q, int64_t k, int64_t v, int64_t o, int64_t lse,
               int64_t mask) {
    d.size[i] = size;
    d.q_outer[i] = q;
    d.k_outer[i] = k;
    d.v_outer[i] = v;
    d.o_outer[i] = o;
    d.lse_outer[i] = lse;
    d.mask_outer[i] = mask;
  }
  bool sees(int64_t b, int64_t i, int64_t j) const {
    int64_t query = o.queryStart + i, key = o.keyStart + j;
    if (j >= d.key_valid || (o.causal && key > query) || (o.window && key <= query - o.window))
      return false;
    return !o.mask || mask[static_cast<size_t>((b * o.queries + i) * o.keys + j)];
  }
  static double dot(const float *a, const float *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }
  /// Untouched memory keeps its value; the rest starts at 0.
  template <typename T> static std::vector<double> start(const std::vector<T> &x) {
    return std::vector<double>(x.size(), 7.0);
  }
  static void zeroRows(std::vector<double> &x, int64_t rows, int64_t row, int64_t used) {
    for (int64_t r = 0; r < rows; ++r)
      std::fill_n(x.begin() + r * row, used, 0.0);
  }
  void naive() {
    int64_t queryHeads = o.heads * o.group;
    outExpected = start(out);
    lseExpected.assign(lse.size(), 0.0);
    dqExpected = start(dq);
    dkExpected = start(dk);
    dvExpected = start(dv);
    zeroRows(outExpected, o.batch * o.queries, d.o_row, queryHeads * o.valueDepth);
    zeroRows(dqExpected, o.batch * o.queries, d.q_row, queryHeads * o.depth);
    zeroRows(dkExpected, o.batch * o.keys, d.k_row, o.heads * o.depth);
    zeroRows(dvExpected, o.batch * o.keys, d.v_row, o.heads * o.valueDepth);
    for (int64_t b = 0; b < o.batch; ++b)
      for (int64_t h = 0; h < queryHeads; ++h)
        for (int64_t i = 0; i < o.queries; ++i)
          naiveRow(b, h, i);
  }
  void naiveRow(int64_t b, int64_t h, int64_t i) {
    int64_t kv = h / o.group;
    int64_t qAt = (b * o.queries + i) * d.q_row + h * o.depth;
    int64_t oAt = (b * o.queries + i) * d.o_row + h * o.valueDepth;
    std::vector<double> p(static_cast<size_t>(o.keys), -INFINITY);
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < o.keys; ++j)
      if (sees(b, i, j)) {
        int64_t kAt = (b * o.keys + j) * d.k_row + kv * o.depth;
        p[static_cast<size_t>(j)] =
            dot(&q[static_cast<size_t>(qAt)], &k[static_cast<size_t>(kAt)], o.depth) * d.scale;
        largest = std::max(largest, p[static_cast<size_t>(j)]);
      }
    for (double &x : p) {
      x = std::isinf(x) ? 0.0 : std::exp(x - largest);
      sum += x;
    }
    size_t lseAt = static_cast<size_t>((b * o.heads * o.group + h) * o.queries + i);
    lseExpected[lseAt] = sum == 0 ? -INFINITY : largest + std::log(sum);
    if (sum == 0)
      return;
    double delta = 0;
    std::vector<double> dp(p.size());
    for (int64_t j = 0; j < o.keys; ++j) {
      size_t at = static_cast<size_t>(j);
      int64_t vAt = (b * o.keys + j) * d.v_row + kv * o.valueDepth;
      p[at] /= sum;
      dp[at] = dot(&v[static_cast<size_t>(vAt)], &dout[static_cast<size_t>(oAt)], o.valueDepth);
      delta += p[at] * dp[at];
      for (int64_t c = 0; c < o.valueDepth; ++c) {
        outExpected[static_cast<size_t>(oAt + c)] += p[at] * v[static_cast<size_t>(vAt + c)];
        dvExpected[static_cast<size_t>(vAt + c)] += p[at] * dout[static_cast<size_t>(oAt + c)];
      }
    }
    for (int64_t j = 0; j < o.keys; ++j) {
      size_t at = static_cast<size_t>(j);
      int64_t kAt = (b * o.keys + j) * d.k_row + kv * o.depth;
      double ds = p[at] * (dp[at] - delta) * d.scale;
      for (int64_t c = 0; c < o.depth; ++c) {
        dqExpected[static_cast<size_t>(qAt + c)] += ds * k[static_cast<size_t>(kAt + c)];
        dkExpected[static_cast<size_t>(kAt + c)] += ds * q[static_cast<size_t>(qAt + c)];
      }
    }
  }
  void compare(const std::vector<float> &x, const std::vector<double> &y, const std::string &what) {
    double scale = 1e-3;
    for (double e : y)
      scale = std::max(scale, std::fabs(e));
    int wrong = 0;
    for (size_t i = 0; i < x.size() && wrong < 3; ++i)
      if (!(std::fabs(x[i] - y[i]) <= 3e-6 * scale)) {
        ++wrong;
        ADD_FAILURE() << what << "[" << i << "] is " << x[i] << ", expected " << y[i];
      }
  }
  std::vector<uint8_t> mask;
  std::vector<double> outExpected, lseExpected, dqExpected, dkExpected, dvExpected;
};

void runAll(const Options &options, const std::string &what) {
  for (Isa isa : test::usableIsas())
    for (int threads : {1, 3}) {
      Device device({threads, isa, GemmPolicy::Auto, nullptr});
      Case test(options);
      test.run(device);
      test.check(what + " " + nameOf(isa));
    }
}

} // namespace

TEST(Attention, OddSizes) {
  for (int64_t size : {1, 2, 7, 16, 63, 64, 65, 100})
    for (int64_t depth : {1, 5, 8, 16, 33, 64}) {
      Options o;
      o.queries = o.keys = size;
      o.depth = depth;
      o.valueDepth = depth % 5 + depth;
      o.causal = (size + depth) % 2 == 0;
      runAll(o, std::to_string(size) + "/" + std::to_string(depth));
    }
}

TEST(Attention, SeveralKeyBlocks) {
  for (bool causal : {false, true})
    for (int64_t size : {256, 257, 300, 530}) {
      Options o;
      o.queries = o.keys = size;
      o.depth = o.valueDepth = 24;
      o.causal = causal;
      runAll(o, "size " + std::to_string(size));
    }
}

TEST(Attention, BatchAndGroupedHeads) {
  Options o;
  o.batch = 2;
  o.heads = 3;
  o.group = 2;
  o.queries = o.keys = 40;
  o.depth = 12;
  o.valueDepth = 20;
  for (bool causal : {false, true}) {
    o.causal = causal;
    runAll(o, "grouped");
  }
}

TEST(Attention, Window) {
  for (int64_t window : {1, 5, 64, 100, 1000})
    for (bool causal : {false, true}) {
      Options o;
      o.queries = o.keys = 330;
      o.depth = o.valueDepth = 8;
      o.causal = causal;
      o.window = window;
      runAll(o, "window " + std::to_string(window));
    }
}

TEST(Attention, Mask) {
  for (bool causal : {false, true}) {
    Options o;
    o.batch = 2;
    o.heads = 2;
    o.queries = 70;
    o.keys = causal ? 70 : 290;
    o.depth = o.valueDepth = 9;
    o.causal = causal;
    o.mask = true;
    runAll(o, "mask");
  }
}

TEST(Attention, CrossWithPaddingAndPlaces) {
  Options o;
  o.queries = 70;
  o.keys = 37;
  o.depth = o.valueDepth = 16;
  runAll(o, "cross");
  o.keyValid = 20;
  runAll(o, "padded");
  o.keyValid = 0; // nothing to see: output 0, gradients 0
  runAll(o, "all padded");
  o.keyValid = -1;
  o.causal = true;
  o.queryStart = 10; // a later part of the sequence sees more
  runAll(o, "later queries");
  o.queryStart = 0;
  o.keyStart = 30; // the first queries see nothing
  runAll(o, "later keys");
  o.keyStart = 1000;
  runAll(o, "nothing visible");
  o.window = 3;
  o.keyStart = 0;
  o.queryStart = 20; // the last queries' windows lie beyond the keys
  runAll(o, "window beyond the keys");
}

// Large scores must not overflow, not-a-number must not be hidden.
TEST(Attention, ExtremeScores) {
  Options o;
  o.queries = o.keys = 33;
  o.depth = o.valueDepth = 4;
  o.causal = true;
  Device device({1, bestIsa(), GemmPolicy::Auto, nullptr});
  Case large(o);
  for (float &x : large.q)
    x *= 300.0f;
  large.run(device);
  for (float x : large.out)
    EXPECT_TRUE(std::isfinite(x));
  Case nan(o);
  nan.q[0] = std::numeric_limits<float>::quiet_NaN();
  nan.run(device);
  EXPECT_TRUE(std::isnan(nan.out[0]));
  EXPECT_TRUE(std::isfinite(nan.out[static_cast<size_t>(nan.d.o_row)]));
}

TEST(Attention, SameBitsForAnyNumberOfThreads) {
  Options o;
  o.batch = 3;
  o.heads = 2;
  o.group = 3;
  o.queries = o.keys = 90;
  o.depth = o.valueDepth = 16;
  o.causal = true;
  std::vector<float> first;
  for (int threads : {1, 2, 5}) {
    Device device({threads, bestIsa(), GemmPolicy::Auto, nullptr});
    Case test(o);
    test.run(device);
    std::vector<float> all = test.out;
    all.insert(all.end(), test.dq.begin(), test.dq.end());
    all.insert(all.end(), test.dk.begin(), test.dk.end());
    if (first.empty())
      first = all;
    EXPECT_EQ(first, all);
  }
}
