//===- Attention.cpp - Attention and its derivative -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Both directions walk the queries: all names of q but the depth. For each, the
// offsets of its row in every operand are known by name (grouped heads divide
// the head's index), and what is left are loops over keys and depth.
//
//   s_j = scale q.k_j,  p = softmax(s),  y = sum p_j v_j
//   ds_j = p_j (dy.v_j - dy.y)
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Attention.h"

#include "llvm/ADT/Twine.h"
#include <cmath>

namespace ptlc::run {

namespace {
/// Strides of one operand: along the queries' names, along the keys, along its depth.
struct Access {
  Sizes rows;
  int64_t key = 0, depth = 0;
};

/// Everything about shapes that the loops need.
struct Plan {
  Names rowNames;
  Sizes rowSizes;
  int64_t keys = 0, depth = 0, valueDepth = 0;
  int64_t groupRow = -1, groupSize = 1; ///< the row name that groups, and its factor
  int64_t positionRow = -1, start = 0;  ///< the row name of the query's position
  Access q, k, v, y, lse, mask;
};

/// Offsets of one query's row in each operand.
struct Row {
  int64_t q, k, v, y, lse, mask, position;
};
} // namespace

static int64_t strideOf(const Type &type, Name name) {
  int64_t dim = type.find(name);
  return dim < 0 ? 0 : type.strides()[dim];
}

/// Rows of k or v are found by the queries' names, except the keys' own and the grouped heads.
static Access accessKeys(const Type &type, const Plan &plan, const AttentionForm &form,
                         Name depth) {
  Access access{type.stridesAlong(plan.rowNames), strideOf(type, form.over), strideOf(type, depth)};
  for (size_t i = 0; i < plan.rowNames.size(); ++i) {
    if (plan.rowNames[i] == form.over || plan.rowNames[i] == depth)
      access.rows[i] = 0;
    if (!form.heads.empty() && plan.rowNames[i] == form.heads)
      access.rows[i] = strideOf(type, form.keyHeads);
  }
  return access;
}

static llvm::Expected<Plan> makePlan(const Type &q, const Type &k, const Type &v,
                                     const AttentionForm &form) {
  Plan plan;
  if (!q.has(form.depth) || !k.has(form.depth) || !k.has(form.over) || !v.has(form.over) ||
      !v.has(form.valueDepth))
    return makeError("attention over '" + form.over + "' doesn't fit q " + q.str() + ", k " +
                     k.str() + ", v " + v.str());
  for (size_t i = 0; i < q.names.size(); ++i)
    if (q.names[i] != form.depth) {
      plan.rowNames.push_back(q.names[i]);
      plan.rowSizes.push_back(q.sizes[i]);
    }
  plan.keys = k.size(form.over);
  plan.depth = q.size(form.depth);
  plan.valueDepth = v.size(form.valueDepth);
  for (size_t i = 0; i < plan.rowNames.size(); ++i) {
    if (plan.rowNames[i] == form.over)
      plan.positionRow = static_cast<int64_t>(i);
    if (!form.heads.empty() && plan.rowNames[i] == form.heads && k.has(form.keyHeads)) {
      plan.groupRow = static_cast<int64_t>(i);
      plan.groupSize = plan.rowSizes[i] / k.size(form.keyHeads);
      if (plan.groupSize * k.size(form.keyHeads) != plan.rowSizes[i])
        return makeError("'" + form.keyHeads + "' doesn't divide '" + form.heads + "'");
    }
  }
  if (plan.positionRow >= 0)
    plan.start = windowOf(form.over, plan.rowSizes[plan.positionRow], form.queryWindows).start;
  else if (form.causal || form.window)
    return makeError("causal attention needs queries along '" + form.over + "'");
  plan.q = {q.stridesAlong(plan.rowNames), 0, strideOf(q, form.depth)};
  plan.k = accessKeys(k, plan, form, form.depth);
  plan.v = accessKeys(v, plan, form, form.valueDepth);
  return plan;
}

template <typename Visit> static void forEachRow(const Plan &plan, Visit visit) {
  int64_t rank = static_cast<int64_t>(plan.rowSizes.size());
  Sizes index(rank, 0);
  int64_t count = 1;
  for (int64_t size : plan.rowSizes)
    count *= size;
  for (int64_t n = 0; n < count; ++n) {
    Row row{0, 0, 0, 0, 0, 0, 0};
    for (int64_t i = 0; i < rank; ++i) {
      int64_t at = index[i], group = i == plan.groupRow ? at / plan.groupSize : at;
      row.q += at * plan.q.rows[i];
      row.k += group * plan.k.rows[i];
      row.v += group * plan.v.rows[i];
      row.y += at * plan.y.rows[i];
      row.lse += at * plan.lse.rows[i];
      row.mask += plan.mask.rows.empty() ? 0 : at * plan.mask.rows[i];
    }
    row.position = plan.positionRow < 0 ? 0 : plan.start + index[plan.positionRow];
    visit(row);
    for (int64_t i = rank - 1; i >= 0 && ++index[i] == plan.rowSizes[i]; --i)
      index[i] = 0;
  }
}

/// The scores of a row; -inf for keys that it doesn't see.
static void score(const Row &row, const Plan &plan, const AttentionForm &form, const Tensor &q,
                  const Tensor &k, const std::optional<Tensor> &mask, std::vector<double> &scores) {
  for (int64_t j = 0; j < plan.keys; ++j) {
    bool seen =
        !(form.causal && j > row.position) && !(form.window && j <= row.position - *form.window);
    double allowed = mask ? (*mask)[row.mask + j * plan.mask.key] : 1;
    if (!seen || allowed == 0) {
      scores[j] = -INFINITY;
      continue;
    }
    double sum = std::isnan(allowed) ? poison() : 0;
    for (int64_t d = 0; d < plan.depth; ++d)
      sum += q[row.q + d * plan.q.depth] * k[row.k + j * plan.k.key + d * plan.k.depth];
    scores[j] = sum * form.scale;
  }
}

static double logSumExp(const std::vector<double> &scores) {
  double top = -INFINITY, sum = 0;
  for (double value : scores)
    top = std::isnan(value) || std::isnan(top) ? poison() : std::fmax(top, value);
  if (std::isinf(top) || std::isnan(top))
    return top;
  for (double value : scores)
    sum += std::exp(value - top);
  return top + std::log(sum);
}

static void accessMask(Plan &plan, const AttentionForm &form, const std::optional<Tensor> &mask) {
  if (!mask)
    return;
  const Type &type = mask->type();
  plan.mask = {type.stridesAlong(plan.rowNames), strideOf(type, form.over), 0};
  if (plan.positionRow >= 0)
    plan.mask.rows[plan.positionRow] = strideOf(type, form.maskQuery);
}

llvm::Expected<AttentionResult> attention(const Tensor &q, const Tensor &k, const Tensor &v,
                                          const std::optional<Tensor> &mask,
                                          const AttentionForm &form, const Type &y,
                                          const Type &lse) {
  llvm::Expected<Plan> plan = makePlan(q.type(), k.type(), v.type(), form);
  if (!plan)
    return plan.takeError();
  accessMask(*plan, form, mask);
  plan->y = {y.stridesAlong(plan->rowNames), 0, strideOf(y, form.valueDepth)};
  plan->lse = {lse.stridesAlong(plan->rowNames), 0, 0};
  AttentionResult result{Tensor(y), Tensor(lse)};
  double *out = result.y.mutableData(), *sums = result.lse.mutableData();
  std::vector<double> scores(plan->keys);
  forEachRow(*plan, [&](const Row &row) {
    score(row, *plan, form, q, k, mask, scores);
    double total = logSumExp(scores);
    sums[row.lse] = total;
    for (int64_t j = 0; j < plan->keys; ++j) {
      if (scores[j] == -INFINITY)
        continue;
      double p = std::exp(scores[j] - total);
      for (int64_t d = 0; d < plan->valueDepth; ++d)
        out[row.y + d * plan->y.depth] += p * v[row.v + j * plan->v.key + d * plan->v.depth];
    }
  });
  return result;
}

llvm::Expected<AttentionGradients> attentionGrad(const Tensor &dy, const Tensor &q, const Tensor &k,
                                                 const Tensor &v, const std::optional<Tensor> &mask,
                                                 const Tensor &y, const Tensor &lse,
                                                 const AttentionForm &form) {
  llvm::Expected<Plan> plan = makePlan(q.type(), k.type(), v.type(), form);
  if (!plan)
    return plan.takeError();
  if (dy.type().names != y.type().names)
    return makeError("y and dy differ in layout");
  accessMask(*plan, form, mask);
  plan->y = {y.type().stridesAlong(plan->rowNames), 0, strideOf(y.type(), form.valueDepth)};
  plan->lse = {lse.type().stridesAlong(plan->rowNames), 0, 0};
  AttentionGradients result{Tensor(q.type()), Tensor(k.type()), Tensor(v.type())};
  double *dq = result.dq.mutableData(), *dk = result.dk.mutableData(),
         *dv = result.dv.mutableData();
  std::vector<double> scores(plan->keys);
  forEachRow(*plan, [&](const Row &row) {
    score(row, *plan, form, q, k, mask, scores);
    double along = 0;
    for (int64_t d = 0; d < plan->valueDepth; ++d)
      along += dy[row.y + d * plan->y.depth] * y[row.y + d * plan->y.depth];
    for (int64_t j = 0; j < plan->keys; ++j) {
      if (scores[j] == -INFINITY)
        continue;
      double p = std::exp(scores[j] - lse[row.lse]), dp = 0;
      for (int64_t d = 0; d < plan->valueDepth; ++d) {
        int64_t value = row.v + j * plan->v.key + d * plan->v.depth;
        double slope = dy[row.y + d * plan->y.depth];
        dv[value] += p * slope;
        dp += slope * v[value];
      }
      double ds = p * (dp - along) * form.scale;
      for (int64_t d = 0; d < plan->depth; ++d) {
        int64_t key = row.k + j * plan->k.key + d * plan->k.depth;
        dq[row.q + d * plan->q.depth] += ds * k[key];
        dk[key] += ds * q[row.q + d * plan->q.depth];
      }
    }
  });
  return result;
}

} // namespace ptlc::run
