//===- GemmPlans.cpp - How each product of a program is computed ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/GemmPlans.h"

#include "runtime/device/cpu/Device.h"
#include <algorithm>
#include <cstring>

namespace ptlrt::cpu {

/// Rows or columns of a piece are at least this many, and a multiple of kCutUnit.
static constexpr int64_t kLeastCut = 384;
static constexpr int64_t kCutUnit = 96;
/// Multiply-adds below which a product isn't cut.
static constexpr double kLeastSize = 3e7;
static constexpr int64_t kMostCuts = 8;

/// Folds loop `i` into a dimension of the product if its strides continue it.
static bool foldLoop(ptlrt_gemm &d, int i) {
  int64_t size = d.size[i], a = d.stride_a[i], b = d.stride_b[i], c = d.stride_c[i];
  if (b == 0 && a == (d.trans_a ? d.m : d.m * d.lda) && c == d.m * d.ldc)
    d.m *= size;
  else if (a == 0 && b == (d.trans_b ? d.n * d.ldb : d.n) && c == d.n)
    d.n *= size;
  else if (c == 0 && a == (d.trans_a ? d.k * d.lda : d.k) && b == (d.trans_b ? d.k : d.k * d.ldb))
    d.k *= size;
  else
    return size == 1;
  return true;
}

static void removeLoop(ptlrt_gemm &d, int i) {
  for (; i + 1 < d.outer; ++i) {
    d.size[i] = d.size[i + 1];
    d.stride_a[i] = d.stride_a[i + 1];
    d.stride_b[i] = d.stride_b[i + 1];
    d.stride_c[i] = d.stride_c[i + 1];
  }
  --d.outer;
}

ptlrt_gemm foldLoops(const ptlrt_gemm &desc) {
  ptlrt_gemm d = desc;
  bool changed = true;
  while (changed) {
    changed = false;
    // Inner loops first: an outer one may continue what they made.
    for (int i = d.outer - 1; i >= 0 && !changed; --i)
      if (foldLoop(d, i)) {
        removeLoop(d, i);
        changed = true;
      }
  }
  return d;
}

struct GemmPlan::Operands {
  const float *a, *b;
  float *c;
};

GemmPlan::GemmPlan(Device &device, const ptlrt_gemm &given, bool accumulate, const float *a,
                   const float *b)
    : original(given), desc(foldLoops(given)), accumulate(accumulate),
      backend(choose(device, a, b)) {
  for (int i = 0; i < desc.outer; ++i)
    (desc.stride_c[i] != 0 ? elements : summed) *= desc.size[i];
  cutsRows = desc.m >= desc.n;
  int64_t longer = std::max(desc.m, desc.n);
  double size =
      static_cast<double>(desc.m) * static_cast<double>(desc.n) * static_cast<double>(desc.k);
  if (size >= kLeastSize)
    cuts = std::clamp<int64_t>(longer / kLeastCut, 1, kMostCuts);
  if (backend == GemmBackend::Own)
    cuts = std::min<int64_t>(cuts, device.pool().threads());
  cutSize = cuts == 1 ? longer : (longer / cuts + kCutUnit - 1) / kCutUnit * kCutUnit;
  cuts = cutSize > 0 ? (longer + cutSize - 1) / cutSize : 1;
  if (backend == GemmBackend::OneDnn)
    products.resize(static_cast<size_t>(device.pool().threads()) * 4);
}

GemmBackend GemmPlan::choose(Device &device, const float *a, const float *b) const {
  const DeviceOptions &options = device.options();
  Product p = {
      desc.m,  desc.n,   desc.k,    a, desc.lda, desc.trans_a != 0, b, desc.ldb, desc.trans_b != 0,
      nullptr, desc.ldc, accumulate};
  bool empty = desc.m == 0 || desc.n == 0 || desc.k == 0;
  if (empty || options.gemm == GemmPolicy::Own || !oneDnn())
    return GemmBackend::Own;
  if (options.gemm == GemmPolicy::OneDnn)
    return GemmBackend::OneDnn;
  if (options.gemm == GemmPolicy::Probe)
    return options.probes->faster(device.kernels(), p,
                                  device.scratch(0).take(device.kernels().gemmScratch));
  return chooseByRule(device.kernels().isa, p, true);
}

bool GemmPlan::isFor(const ptlrt_gemm &d, bool wanted) const {
  constexpr size_t kFixed = offsetof(ptlrt_gemm, size);
  size_t loops = static_cast<size_t>(original.outer) * sizeof(int64_t);
  return accumulate == wanted && std::memcmp(&d, &original, kFixed) == 0 &&
         std::memcmp(d.size, original.size, loops) == 0 &&
         std::memcmp(d.stride_a, original.stride_a, loops) == 0 &&
         std::memcmp(d.stride_b, original.stride_b, loops) == 0 &&
         std::memcmp(d.stride_c, original.stride_c, loops) == 0;
}

void GemmPlan::addOffsets(int64_t index, bool movesC, int64_t &a, int64_t &b, int64_t &c) const {
  for (int i = desc.outer - 1; i >= 0; --i) {
    if ((desc.stride_c[i] != 0) != movesC)
      continue;
    int64_t at = index % desc.size[i];
    index /= desc.size[i];
    a += at * desc.stride_a[i];
    b += at * desc.stride_b[i];
    c += at * desc.stride_c[i];
  }
}

Product GemmPlan::cutOut(int64_t cut, const float *a, const float *b, float *c) const {
  Product p = {
      desc.m, desc.n,   desc.k,    a, desc.lda, desc.trans_a != 0, b, desc.ldb, desc.trans_b != 0,
      c,      desc.ldc, accumulate};
  int64_t begin = cut * cutSize;
  if (cutsRows) {
    p.m = std::min(cutSize, desc.m - begin);
    p.a += begin * (p.transA ? 1 : p.lda);
    p.c += begin * p.ldc;
  } else {
    p.n = std::min(cutSize, desc.n - begin);
    p.b += begin * (p.transB ? p.ldb : 1);
    p.c += begin;
  }
  return p;
}

static void clear(const Product &p) {
  for (int64_t i = 0; i < p.m; ++i)
    std::fill(p.c + i * p.ldc, p.c + i * p.ldc + p.n, 0.0f);
}

void GemmPlan::runProduct(Device &device, const Product &p, bool lastCut, int thread) {
  if (backend == GemmBackend::OneDnn) {
    auto &made = products[static_cast<size_t>(thread * 4 + lastCut * 2 + p.accumulate)];
    if (!made)
      made = OneDnnProduct::create(*oneDnn(), p);
    if (made && made->run(p.a, p.b, p.c))
      return;
  }
  const Kernels &kernels = device.kernels();
  kernels.gemm(p, device.scratch(thread).take(kernels.gemmScratch));
}

void GemmPlan::runPiece(Device &device, const Operands &operands, int64_t piece, int thread) {
  int64_t cut = piece % cuts, a = 0, b = 0, c = 0;
  addOffsets(piece / cuts, true, a, b, c);
  Product p = cutOut(cut, operands.a + a, operands.b + b, operands.c + c);
  if (p.k == 0 || summed == 0) {
    if (!accumulate)
      clear(p);
    return;
  }
  const float *a0 = p.a, *b0 = p.b;
  for (int64_t s = 0; s < summed; ++s) {
    int64_t aOffset = 0, bOffset = 0, none = 0;
    addOffsets(s, false, aOffset, bOffset, none);
    p.a = a0 + aOffset;
    p.b = b0 + bOffset;
    p.accumulate = accumulate || s > 0;
    runProduct(device, p, cut + 1 == cuts, thread);
  }
}

void GemmPlan::run(Device &device, const float *a, const float *b, float *c) {
  if (desc.m == 0 || desc.n == 0)
    return;
  struct Call {
    GemmPlan &plan;
    Device &device;
    Operands operands;
  } call = {*this, device, {a, b, c}};
  auto piece = [](void *context, int64_t index, int thread) {
    Call &call = *static_cast<Call *>(context);
    call.plan.runPiece(call.device, call.operands, index, thread);
  };
  device.pool().run(elements * cuts, piece, &call);
}

std::string GemmPlan::describe() const {
  auto number = [](int64_t n) { return std::to_string(n); };
  std::string form = std::string(desc.trans_a ? "T" : "N") + (desc.trans_b ? "T" : "N");
  std::string text = "gemm " + number(original.site) + ": " + form + " " + number(desc.m) + "x" +
                     number(desc.n) + "x" + number(desc.k);
  if (elements * summed != 1)
    text += ", " + number(elements) + " times " + number(summed) + " summed";
  if (cuts > 1)
    text += ", " + number(cuts) + " pieces";
  return text + ": " + nameOf(backend) + "\n";
}

GemmPlans::GemmPlans() : slots(64) {}

GemmPlans::Slot &GemmPlans::slotFor(const ptlrt_gemm *key, bool accumulate) {
  size_t mask = slots.size() - 1;
  size_t hash = (reinterpret_cast<uintptr_t>(key) >> 4) * 2654435761u + accumulate;
  for (size_t i = hash & mask;; i = (i + 1) & mask)
    if (!slots[i].key || (slots[i].key == key && slots[i].accumulate == accumulate))
      return slots[i];
}

GemmPlan &GemmPlans::planFor(Device &device, const ptlrt_gemm &desc, bool accumulate,
                             const float *a, const float *b) {
  Slot *slot = &slotFor(&desc, accumulate);
  if (slot->plan && slot->plan->isFor(desc, accumulate))
    return *slot->plan;
  if (!slot->key && 2 * (used + 1) > slots.size()) {
    std::vector<Slot> old(2 * slots.size());
    old.swap(slots);
    for (Slot &s : old)
      if (s.key)
        slotFor(s.key, s.accumulate) = std::move(s);
    slot = &slotFor(&desc, accumulate);
  }
  used += slot->key == nullptr;
  slot->key = &desc;
  slot->accumulate = accumulate;
  slot->plan = std::make_unique<GemmPlan>(device, desc, accumulate, a, b);
  return *slot->plan;
}

std::string GemmPlans::describe() const {
  std::vector<std::string> lines;
  for (const Slot &slot : slots)
    if (slot.plan)
      lines.push_back(slot.plan->describe());
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string text;
  for (const std::string &line : lines)
    text += line;
  return text;
}

} // namespace ptlrt::cpu

extern "C" void ptlrt_gemm_f32(ptlrt_rank *rank, const ptlrt_gemm *desc, const float *a,
                               const float *b, float *c, int32_t accumulate) {
  using namespace ptlrt::cpu;
  Device &device = deviceOf(rank);
  device.gemmPlans().planFor(device, *desc, accumulate != 0, a, b).run(device, a, b, c);
}
