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

/// True if some loop adds products into one C.
static bool sumsProducts(const ptlrt_gemm &d) {
  for (int i = 0; i < d.outer; ++i)
    if (d.stride_c[i] == 0 && d.size[i] != 1)
      return true;
  return false;
}

struct GemmPlan::Operands {
  const void *a, *b;
  void *c;
  /// The operands that begin so many elements further.
  template <typename In, typename Out> Operands at(int64_t i, int64_t j, int64_t k) const {
    return {static_cast<const In *>(a) + i, static_cast<const In *>(b) + j,
            static_cast<Out *>(c) + k};
  }
};

GemmPlan::GemmPlan(Device &device, const ptlrt_gemm &given, GemmTypes types, bool accumulate,
                   const void *a, const void *b)
    : original(given), desc(foldLoops(given)), types(types), accumulate(accumulate),
      backend(choose(device, a, b)) {
  for (int i = 0; i < desc.outer; ++i)
    (desc.stride_c[i] != 0 ? elements : summed) *= desc.size[i];
  for (int64_t s = 0; s < summed; ++s) {
    int64_t none = 0;
    addOffsets(s, false, aTerms.emplace_back(0), bTerms.emplace_back(0), none);
  }
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

GemmBackend GemmPlan::choose(Device &device, const void *a, const void *b) const {
  const DeviceOptions &options = device.options();
  // The library would round a sum of several products at each.
  if (types != GemmTypes::F32)
    return options.bf16ByLibrary && oneDnn() &&
                   (types == GemmTypes::Bf16Wide || !sumsProducts(desc))
               ? GemmBackend::OneDnn
               : GemmBackend::Own;
  Product p = {desc.m,
               desc.n,
               desc.k,
               static_cast<const float *>(a),
               desc.lda,
               desc.trans_a != 0,
               static_cast<const float *>(b),
               desc.ldb,
               desc.trans_b != 0,
               nullptr,
               desc.ldc,
               accumulate};
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

bool GemmPlan::isFor(const ptlrt_gemm &d, GemmTypes elements, bool wanted) const {
  constexpr size_t kFixed = offsetof(ptlrt_gemm, size);
  size_t loops = static_cast<size_t>(original.outer) * sizeof(int64_t);
  return types == elements && accumulate == wanted && std::memcmp(&d, &original, kFixed) == 0 &&
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

Product GemmPlan::cutOut(int64_t cut, int64_t &a, int64_t &b, int64_t &c) const {
  Product p = {desc.m,  desc.n,   desc.k,
               nullptr, desc.lda, desc.trans_a != 0,
               nullptr, desc.ldb, desc.trans_b != 0,
               nullptr, desc.ldc, accumulate};
  int64_t begin = cut * cutSize;
  if (cutsRows) {
    p.m = std::min(cutSize, desc.m - begin);
    a += begin * (p.transA ? 1 : p.lda);
    c += begin * p.ldc;
  } else {
    p.n = std::min(cutSize, desc.n - begin);
    b += begin * (p.transB ? p.ldb : 1);
    c += begin;
  }
  return p;
}

/// Zeroes C, whose elements have `bytes`.
static void clear(const Product &p, void *c, int64_t bytes) {
  for (int64_t i = 0; i < p.m; ++i)
    std::memset(static_cast<uint8_t *>(c) + i * p.ldc * bytes, 0, static_cast<size_t>(p.n * bytes));
}

void GemmPlan::runProduct(Device &device, const Product &p, bool lastCut, int thread) {
  if (backend == GemmBackend::OneDnn && runLibrary(p, {p.a, p.b, p.c}, lastCut, thread))
    return;
  const Kernels &kernels = device.kernels();
  kernels.gemm(p, device.scratch(thread).take(kernels.gemmScratch));
}

void GemmPlan::runFloats(Device &device, Product p, bool lastCut, int thread) {
  const float *a = p.a, *b = p.b;
  for (int64_t s = 0; s < summed; ++s) {
    p.a = a + aTerms[static_cast<size_t>(s)];
    p.b = b + bTerms[static_cast<size_t>(s)];
    p.accumulate = accumulate || s > 0;
    runProduct(device, p, lastCut, thread);
  }
}

/// One product by the library; false if it refuses.
bool GemmPlan::runLibrary(const Product &p, const Operands &at, bool lastCut, int thread) {
  auto &made = products[static_cast<size_t>(thread * 4 + lastCut * 2 + p.accumulate)];
  if (!made)
    made = OneDnnProduct::create(*oneDnn(), p, types);
  return made && made->run(at.a, at.b, at.c);
}

void GemmPlan::runHalves(Device &device, Product p, const Operands &at, bool lastCut, int thread) {
  if (backend == GemmBackend::OneDnn) {
    bool good = true;
    for (size_t s = 0; s < aTerms.size() && good; ++s) {
      p.accumulate = accumulate || s > 0;
      good = runLibrary(p, at.at<uint16_t, uint8_t>(aTerms[s], bTerms[s], 0), lastCut, thread);
    }
    if (good) // it refuses the first product or none
      return;
  }
  HalfProduct half = {p.m,
                      p.n,
                      p.k,
                      static_cast<const uint16_t *>(at.a),
                      p.lda,
                      p.transA,
                      static_cast<const uint16_t *>(at.b),
                      p.ldb,
                      p.transB,
                      at.c,
                      p.ldc,
                      types == GemmTypes::Bf16Wide,
                      accumulate,
                      summed,
                      aTerms.data(),
                      bTerms.data()};
  const Kernels &kernels = device.kernels();
  kernels.gemmBf16(half, device.scratch(thread).take(kernels.gemmBf16Scratch));
}

void GemmPlan::runPiece(Device &device, const Operands &operands, int64_t piece, int thread) {
  int64_t cut = piece % cuts, a = 0, b = 0, c = 0;
  addOffsets(piece / cuts, true, a, b, c);
  Product p = cutOut(cut, a, b, c);
  Operands at = types == GemmTypes::F32    ? operands.at<float, float>(a, b, c)
                : types == GemmTypes::Bf16 ? operands.at<uint16_t, uint16_t>(a, b, c)
                                           : operands.at<uint16_t, float>(a, b, c);
  if (p.k == 0 || summed == 0) {
    if (!accumulate)
      clear(p, at.c, types == GemmTypes::Bf16 ? 2 : 4);
    return;
  }
  if (types != GemmTypes::F32)
    return runHalves(device, p, at, cut + 1 == cuts, thread);
  p.a = static_cast<const float *>(at.a);
  p.b = static_cast<const float *>(at.b);
  p.c = static_cast<float *>(at.c);
  runFloats(device, p, cut + 1 == cuts, thread);
}

void GemmPlan::run(Device &device, const void *a, const void *b, void *c) {
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
  if (types != GemmTypes::F32)
    return text + (backend == GemmBackend::Own ? ": bf16, computed in f32\n" : ": bf16, onednn\n");
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

GemmPlan &GemmPlans::planFor(Device &device, const ptlrt_gemm &desc, GemmTypes types,
                             bool accumulate, const void *a, const void *b) {
  Slot *slot = &slotFor(&desc, accumulate);
  if (slot->plan && slot->plan->isFor(desc, types, accumulate))
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
  slot->plan = std::make_unique<GemmPlan>(device, desc, types, accumulate, a, b);
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
  device.gemmPlans()
      .planFor(device, *desc, GemmTypes::F32, accumulate != 0, a, b)
      .run(device, a, b, c);
}

extern "C" void ptlrt_gemm_bf16(ptlrt_rank *rank, const ptlrt_gemm *desc, const uint16_t *a,
                                const uint16_t *b, void *c, int32_t wide, int32_t accumulate) {
  using namespace ptlrt::cpu;
  Device &device = deviceOf(rank);
  GemmTypes types = wide != 0 ? GemmTypes::Bf16Wide : GemmTypes::Bf16;
  device.gemmPlans().planFor(device, *desc, types, accumulate != 0, a, b).run(device, a, b, c);
}
