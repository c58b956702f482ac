//===- AttentionBackward.h - Gradients of attention of one head -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// With P the probabilities, O = P V and D_i = <O_i, dO_i>:
//   dV = P' dO     dS = P (dO V' - D)     dQ = scale dS K     dK = scale dS' Q
// P = exp(scale Q K' - lse) is made again for one block of keys and one block of
// queries at a time. Keys are the outer loop: dK and dV of a block stay in the
// second-level cache while the queries pass, dQ is added up block after block, in
// ascending order.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_ATTENTIONBACKWARD_H
#define PTLRT_DEVICE_CPU_SIMD_ATTENTIONBACKWARD_H

#include "runtime/device/cpu/simd/AttentionBlocks.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

/// Where the pieces of the scratch memory of one head begin, and their strides.
struct BackwardScratch {
  int64_t ldQ, ldO, ldK, ldV;
  int64_t delta, kT, vT, k, q, dout, p, ds, dk, dv, size;
  explicit BackwardScratch(const AttentionShape &s)
      : ldQ(strideOf(s.depth)), ldO(strideOf(s.valueDepth)), ldK(strideOf(s.depth)),
        ldV(strideOf(s.valueDepth)) {
    delta = 0;
    kT = roundUp(s.queries, 16);
    vT = kT + kKeyBlock * s.depth;
    k = vT + kKeyBlock * s.valueDepth;
    q = k + kKeyBlock * roundUp(s.depth, kTileCols);
    dout = q + kQueryBlock * ldQ;
    p = dout + kQueryBlock * ldO;
    ds = p + kQueryBlock * kScoreStride;
    dk = ds + kQueryBlock * kScoreStride;
    dv = dk + kKeyBlock * ldK;
    size = dv + kKeyBlock * ldV;
  }
};

/// delta[i] = <out_i, dout_i>.
static void rowProducts(const AttentionShape &s, const AttentionBackward &head, float *delta) {
  for (int64_t i = 0; i < s.queries; ++i) {
    const float *o = head.out + i * s.oRow, *d = head.dout + i * s.oRow;
    Vec sum = zero();
    int64_t c = 0;
    for (; c + kLanes <= s.valueDepth; c += kLanes)
      sum = fma(load(o + c), load(d + c), sum);
    Mask rest = firstLanes(s.valueDepth - c);
    if (c < s.valueDepth)
      sum = fma(loadMasked(o + c, rest), loadMasked(d + c, rest), sum);
    delta[i] = sumOf(sum);
  }
}

/// Scores become probabilities in `p`, dO V' becomes dS in `ds`.
static void softmaxBackward(float *p, float *ds, Range part, float lse, float delta) {
  if (lse == kHidden) { // a query that sees nothing
    for (int64_t j = part.begin; j < part.end; j += kLanes) {
      store(p + j, zero());
      store(ds + j, zero());
    }
    return;
  }
  Vec shift = splat(lse), d = splat(delta);
  for (int64_t j = part.begin; j < part.end; j += kLanes) {
    Vec e = exponential(load(p + j) - shift);
    store(p + j, e);
    store(ds + j, e * (load(ds + j) - d));
  }
}

/// One block of queries against the keys `part` of the block that begins at `key0`.
static void backwardBlock(const AttentionShape &s, const AttentionBackward &head, Range queries,
                          int64_t key0, Range part, bool addQ, const BackwardScratch &at,
                          float *scratch) {
  int64_t rows = queries.end - queries.begin, count = part.end - part.begin;
  int64_t offset = part.begin - key0;
  float *q = scratch + at.q, *dout = scratch + at.dout, *p = scratch + at.p, *ds = scratch + at.ds;
  copyScaled(head.q + queries.begin * s.qRow, s.qRow, rows, s.depth, s.scale, q, at.ldQ);
  copyScaled(head.dout + queries.begin * s.oRow, s.oRow, rows, s.valueDepth, 1.0f, dout, at.ldO);
  multiplyKeys(s, queries, part, q, at.ldQ, s.depth, scratch + at.kT + offset * s.depth, p);
  multiplyKeys(s, queries, part, dout, at.ldO, s.valueDepth,
               scratch + at.vT + offset * s.valueDepth, ds);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t i = queries.begin + r;
    float *pRow = p + r * kScoreStride, *dsRow = ds + r * kScoreStride;
    Range seen = hideScores(s, head.mask, i, part, pRow);
    clearOutside(pRow, seen, roundUp(count, kLanes));
    clearOutside(dsRow, seen, roundUp(count, kLanes));
    softmaxBackward(pRow, dsRow, seen, head.lse[i * s.lseRow], scratch[at.delta + i]);
  }
  QueriesOfTile seeing{s, queries, part};
  for (int64_t c = 0; c < s.valueDepth; c += kTileCols)
    multiplyPanel<Walk::Columns>(count, seeing, p, kScoreStride, dout + c, at.ldO,
                                 scratch + at.dv + offset * at.ldV + c, at.ldV, kTileCols, true);
  for (int64_t c = 0; c < s.depth; c += kTileCols)
    multiplyPanel<Walk::Columns>(count, seeing, ds, kScoreStride, q + c, at.ldQ,
                                 scratch + at.dk + offset * at.ldK + c, at.ldK, kTileCols, true);
  multiplyPanels<Walk::Rows>(rows, KeysOfTile{s, queries, part}, ds, kScoreStride,
                             scratch + at.k + offset * kTileCols, kKeyBlock * kTileCols,
                             head.dq + queries.begin * s.qRow, s.qRow, s.depth, addQ);
}

/// gradient[j, c] (+)= sums[j, c].
static void writeGradient(const float *sums, int64_t ld, int64_t count, int64_t width, bool add,
                          float *gradient, int64_t row) {
  for (int64_t j = 0; j < count; ++j, sums += ld, gradient += row) {
    int64_t c = 0;
    for (; c + kLanes <= width; c += kLanes)
      store(gradient + c, add ? load(gradient + c) + load(sums + c) : load(sums + c));
    for (; c < width; ++c)
      gradient[c] = add ? gradient[c] + sums[c] : sums[c];
  }
}

/// Zeroes dq of the queries that see no key at all, unless it is added to.
static void clearUnseen(const AttentionShape &s, const AttentionBackward &head, Range queries) {
  if (head.addQ || !visibleKeys(s, queries).empty())
    return;
  for (int64_t i = queries.begin; i < queries.end; ++i)
    __builtin_memset(head.dq + i * s.qRow, 0, sizeof(float) * static_cast<size_t>(s.depth));
}

static void clearSums(float *begin, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes)
    store(begin + i, zero());
}

static void attentionBackward(const AttentionShape &s, const AttentionBackward &head,
                              float *scratch) {
  BackwardScratch at(s);
  rowProducts(s, head, scratch + at.delta);
  for (int64_t q0 = 0; q0 < s.queries; q0 += kQueryBlock)
    clearUnseen(s, head, {q0, minOf(q0 + kQueryBlock, s.queries)});
  for (int64_t k0 = 0; k0 < s.keys; k0 += kKeyBlock) {
    int64_t count = minOf(kKeyBlock, s.keys - k0);
    const float *k = head.k + k0 * s.kRow, *v = head.v + k0 * s.vRow;
    packTransposed(k, s.kRow, count, s.depth, scratch + at.kT);
    packTransposed(v, s.vRow, count, s.valueDepth, scratch + at.vT);
    packColumns(k, s.kRow, count, s.depth, s.scale, scratch + at.k, kKeyBlock);
    clearSums(scratch + at.dk, count * at.ldK);
    clearSums(scratch + at.dv, count * at.ldV);
    for (int64_t q0 = 0; q0 < s.queries; q0 += kQueryBlock) {
      Range queries = {q0, minOf(q0 + kQueryBlock, s.queries)};
      Range visible = visibleKeys(s, queries);
      Range part = {maxOf(visible.begin / kTileCols * kTileCols, k0),
                    minOf(visible.end, k0 + count)};
      bool first = visible.begin / kKeyBlock * kKeyBlock == k0;
      if (!part.empty())
        backwardBlock(s, head, queries, k0, part, head.addQ || !first, at, scratch);
    }
    writeGradient(scratch + at.dk, at.ldK, count, s.depth, head.addK, head.dk + k0 * s.kRow,
                  s.kRow);
    writeGradient(scratch + at.dv, at.ldV, count, s.valueDepth, head.addV, head.dv + k0 * s.vRow,
                  s.vRow);
  }
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_ATTENTIONBACKWARD_H
