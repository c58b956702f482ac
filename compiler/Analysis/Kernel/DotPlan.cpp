//===- DotPlan.cpp - Contractions as matrix products ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Groups are merged greedily from the innermost dimension of the result (of the
// left operand for K). Candidates for the product's m, n and k are tried in
// order of size: the largest product inside, the fewest calls outside.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/DotPlan.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::kernel;

namespace {
/// A dimension, or several that act as one. Strides are 0 where a tensor lacks it.
struct Axis {
  int64_t size = 1, a = 0, b = 0, c = 0;
};
using Axes = llvm::SmallVector<Axis, 4>;

struct Groups {
  Axes batch, m, n, k;
};
} // namespace

static std::optional<size_t> find(const DotOperand &operand, llvm::StringRef name) {
  auto it = llvm::find(operand.names, name);
  if (it == operand.names.end())
    return std::nullopt;
  return it - operand.names.begin();
}

static bool classify(const DotOperand &lhs, const DotOperand &rhs, const DotOperand &result,
                     Groups &groups, std::string &error) {
  llvm::SmallVector<llvm::StringRef, 8> names(result.names.begin(), result.names.end());
  for (const DotOperand *operand : {&lhs, &rhs})
    for (llvm::StringRef name : operand->names)
      if (!llvm::is_contained(names, name))
        names.push_back(name);
  for (llvm::StringRef name : names) {
    std::optional<size_t> a = find(lhs, name), b = find(rhs, name), c = find(result, name);
    Axis axis{a ? lhs.sizes[*a] : rhs.sizes[*b], a ? lhs.strides[*a] : 0, b ? rhs.strides[*b] : 0,
              c ? result.strides[*c] : 0};
    if (axis.size == 1)
      continue;
    if (!c && !(a && b)) {
      error = "dimension '" + name.str() + "' is summed but only one operand has it";
      return false;
    }
    (!c ? groups.k : a && b ? groups.batch : a ? groups.m : groups.n).push_back(axis);
  }
  return true;
}

/// Merges neighbours: `x` lies right outside of `y` in all tensors.
static void merge(Axes &axes) {
  for (bool changed = true; std::exchange(changed, false);)
    for (size_t i = 0; i < axes.size() && !changed; ++i)
      for (size_t j = 0; j < axes.size() && !changed; ++j) {
        const Axis &x = axes[i], &y = axes[j];
        if (i == j || x.a != y.a * y.size || x.b != y.b * y.size || x.c != y.c * y.size)
          continue;
        axes[j].size *= x.size;
        axes.erase(axes.begin() + i);
        changed = true;
      }
}

/// Sets the leading dimension of a matrix with strides `rows` and `columns`; one of them must be 1.
static bool setForm(const Axis &row, int64_t rowStride, const Axis &column, int64_t columnStride,
                    bool &transposed, int64_t &leading) {
  if (column.size == 1 || columnStride == 1) {
    transposed = false;
    leading = row.size == 1 ? std::max<int64_t>(column.size, 1) : rowStride;
    return leading >= column.size;
  }
  if (row.size == 1 || rowStride == 1) {
    transposed = true;
    leading = column.size == 1 ? std::max<int64_t>(row.size, 1) : columnStride;
    return leading >= row.size;
  }
  return false;
}

static std::optional<GemmPlan> tryForm(const Groups &groups, size_t im, size_t in, size_t ik) {
  auto at = [](const Axes &axes, size_t i) { return i < axes.size() ? axes[i] : Axis(); };
  Axis m = at(groups.m, im), n = at(groups.n, in), k = at(groups.k, ik);
  GemmPlan plan;
  bool transC = false;
  if (!setForm(m, m.a, k, k.a, plan.transA, plan.lda) ||
      !setForm(k, k.b, n, n.b, plan.transB, plan.ldb) ||
      !setForm(m, m.c, n, n.c, transC, plan.ldc) || transC)
    return std::nullopt;
  plan.m = m.size;
  plan.n = n.size;
  plan.k = k.size;
  auto addOuter = [&](const Axes &axes, size_t used) {
    for (auto [i, axis] : llvm::enumerate(axes))
      if (i != used)
        plan.outer.push_back({axis.size, axis.a, axis.b, axis.c});
  };
  addOuter(groups.batch, groups.batch.size());
  addOuter(groups.m, im);
  addOuter(groups.n, in);
  addOuter(groups.k, ik);
  if (plan.outer.size() > GemmPlan::kMaxOuter)
    return std::nullopt;
  return plan;
}

static std::optional<GemmPlan> bestForm(const Groups &groups) {
  std::optional<GemmPlan> best;
  for (size_t im = 0; im < std::max<size_t>(groups.m.size(), 1); ++im)
    for (size_t in = 0; in < std::max<size_t>(groups.n.size(), 1); ++in)
      for (size_t ik = 0; ik < std::max<size_t>(groups.k.size(), 1); ++ik) {
        std::optional<GemmPlan> plan = tryForm(groups, im, in, ik);
        if (plan && (!best || plan->m * plan->n * plan->k > best->m * best->n * best->k))
          best = plan;
      }
  return best;
}

std::optional<GemmPlan> kernel::planDot(const DotOperand &lhs, const DotOperand &rhs,
                                        const DotOperand &result, std::string &error) {
  Groups groups;
  if (!classify(lhs, rhs, result, groups, error))
    return std::nullopt;
  for (Axes *axes : {&groups.batch, &groups.m, &groups.n, &groups.k})
    merge(*axes);
  std::optional<GemmPlan> plan = bestForm(groups);
  // The transposed problem: the sides change, and with them the roles of M and N.
  std::swap(groups.m, groups.n);
  for (Axes *axes : {&groups.batch, &groups.m, &groups.n, &groups.k})
    for (Axis &axis : *axes)
      std::swap(axis.a, axis.b);
  if (std::optional<GemmPlan> other = bestForm(groups);
      other && (!plan || other->m * other->n * other->k > plan->m * plan->n * plan->k)) {
    plan = other;
    plan->swapped = true;
  }
  if (!plan)
    error =
        "no dimension of an operand or of the result is contiguous where a matrix product needs it";
  return plan;
}
