//===- AttentionForward.h - Streamed softmax attention of one head --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The softmax is online: a block of keys that raises the maximum of a row rescales
// the row's sum and output. The packed copies of k and v are reused by the heads
// that share them.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_ATTENTIONFORWARD_H
#define PTLRT_DEVICE_CPU_SIMD_ATTENTIONFORWARD_H

#include "runtime/device/cpu/simd/AttentionBlocks.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

/// The running softmax of the rows of a block of queries.
struct Running {
  float maximum[kQueryBlock];
  float sum[kQueryBlock];
};

/// Turns a row of scores into exponentials and updates its maximum and sum; the
/// output so far is rescaled if the maximum rises.
static void onlineSoftmax(float *scores, Range part, float &largest, float &sum, float *out,
                          int64_t width, bool first) {
  Vec top = splat(kHidden);
  for (int64_t j = part.begin; j < part.end; j += kLanes)
    top = maximum(top, load(scores + j));
  float raised = maxOf(top) > largest ? maxOf(top) : largest;
  // While everything is hidden there is nothing to shift by: inf - inf isn't 0.
  Vec total0 = zero(), total1 = zero(), shift = splat(raised == kHidden ? 0.0f : raised);
  int64_t j = part.begin;
  for (; j + 2 * kLanes <= part.end; j += 2 * kLanes) {
    Vec e0 = exponential(load(scores + j) - shift);
    Vec e1 = exponential(load(scores + j + kLanes) - shift);
    store(scores + j, e0);
    store(scores + j + kLanes, e1);
    total0 = total0 + e0;
    total1 = total1 + e1;
  }
  for (; j < part.end; j += kLanes) {
    Vec e = exponential(load(scores + j) - shift);
    store(scores + j, e);
    total0 = total0 + e;
  }
  if (!first && raised != largest) {
    Vec f = exponential(splat(largest) - shift);
    sum *= sumOf(f) * (1.0f / kLanes);
    for (int64_t c = 0; c < width; c += kLanes)
      store(out + c, load(out + c) * f);
  }
  sum += sumOf(total0 + total1);
  largest = raised;
}

/// Where the pieces of the scratch memory of one head begin.
struct ForwardScratch {
  int64_t keysPadded, width; ///< keys and value depth, rounded up to panels
  int64_t ldQ;
  int64_t k, v, q, scores, out, size;
  explicit ForwardScratch(const AttentionShape &s)
      : keysPadded(roundUp(s.keys, kTileCols)), width(roundUp(s.valueDepth, kTileCols)) {
    k = 0;
    v = k + keysPadded * s.depth;
    q = v + s.keys * width;
    ldQ = strideOf(s.depth);
    scores = q + kQueryBlock * ldQ;
    out = scores + kQueryBlock * kScoreStride;
    size = out + kQueryBlock * width;
  }
};

/// Writes a finished block of queries: output over the sum, and the logarithm.
static void finishRows(const AttentionShape &s, Range queries, const Running &running,
                       const float *acc, int64_t ldAcc, const AttentionForward &head) {
  for (int64_t i = queries.begin; i < queries.end; ++i) {
    int64_t r = i - queries.begin;
    float sum = running.sum[r];
    bool seen = sum != 0.0f; // not-a-number counts as seen, and spreads
    Vec f = splat(seen ? 1.0f / sum : 0.0f);
    float *out = head.out + i * s.oRow;
    for (int64_t c = 0; c < s.valueDepth; c += kLanes) {
      Vec x = seen ? load(acc + r * ldAcc + c) * f : zero();
      if (s.valueDepth - c >= kLanes)
        store(out + c, x);
      else
        storeMasked(out + c, firstLanes(s.valueDepth - c), x);
    }
    head.lse[i * s.lseRow] = seen ? running.maximum[r] + __builtin_logf(sum) : kHidden;
  }
}

/// One block of keys for one block of queries.
static void forwardBlock(const AttentionShape &s, const AttentionForward &head, Range queries,
                         Range block, bool first, const ForwardScratch &at, float *scratch,
                         Running &running) {
  int64_t rows = queries.end - queries.begin, count = block.end - block.begin;
  float *scores = scratch + at.scores, *out = scratch + at.out;
  multiplyKeys(s, queries, block, scratch + at.q, at.ldQ, s.depth,
               scratch + at.k + block.begin * s.depth, scores);
  for (int64_t r = 0; r < rows; ++r) {
    float *row = scores + r * kScoreStride;
    Range part = hideScores(s, head.mask, queries.begin + r, block, row);
    clearOutside(row, part, roundUp(count, kLanes));
    if (!part.empty())
      onlineSoftmax(row, part, running.maximum[r], running.sum[r], out + r * at.width, at.width,
                    first);
  }
  multiplyPanels<Walk::Rows>(rows, KeysOfTile{s, queries, block}, scores, kScoreStride,
                             scratch + at.v + block.begin * kTileCols, s.keys * kTileCols, out,
                             at.width, at.width, !first);
}

static void attentionForward(const AttentionShape &s, const AttentionForward &head,
                             float *scratch) {
  ForwardScratch at(s);
  if (!head.reusePacked) {
    packTransposed(head.k, s.kRow, s.keys, s.depth, scratch + at.k);
    packColumns(head.v, s.vRow, s.keys, s.valueDepth, 1.0f, scratch + at.v, s.keys);
  }
  for (int64_t q0 = 0; q0 < s.queries; q0 += kQueryBlock) {
    Range queries = {q0, minOf(q0 + kQueryBlock, s.queries)};
    int64_t rows = queries.end - q0;
    copyScaled(head.q + q0 * s.qRow, s.qRow, rows, s.depth, s.scale, scratch + at.q, at.ldQ);
    Running running;
    for (int64_t r = 0; r < rows; ++r) {
      running.maximum[r] = kHidden;
      running.sum[r] = 0.0f;
    }
    Range visible = visibleKeys(s, queries);
    int64_t start = visible.begin / kTileCols * kTileCols;
    for (int64_t k0 = start; k0 < visible.end; k0 += kKeyBlock)
      forwardBlock(s, head, queries, {k0, minOf(k0 + kKeyBlock, visible.end)}, k0 == start, at,
                   scratch, running);
    finishRows(s, queries, running, scratch + at.out, at.width, head);
  }
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_ATTENTIONFORWARD_H
