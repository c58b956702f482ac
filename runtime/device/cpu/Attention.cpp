//===- Attention.cpp - Attention over all heads ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The outer loops of a descriptor (batch, heads) are dealt out to the rank's
// threads. Loops along which an operand is shared (stride 0, grouped heads) stay
// together on one thread: packed keys and values are used again, and gradients of
// the shared operand are summed in ascending order whatever the number of threads.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/Device.h"

#include <algorithm>

using namespace ptlrt::cpu;

namespace {

/// Element offsets of one head in each operand.
struct Offsets {
  int64_t q = 0, k = 0, v = 0, o = 0, lse = 0, mask = 0;
  /// Whether an earlier head of the same task has written the shared gradient.
  bool laterQ = false, laterK = false, laterV = false;
};

/// The heads of a descriptor as tasks times heads per task.
class Heads {
public:
  explicit Heads(const ptlrt_attention &desc) : desc(desc) {
    for (int i = 0; i < desc.outer; ++i)
      (isShared(i) ? perTask : tasks) *= desc.size[i];
  }
  Offsets at(int64_t task, int64_t head) const {
    Offsets offsets;
    for (int i = desc.outer - 1; i >= 0; --i) {
      int64_t &index = isShared(i) ? head : task;
      int64_t at = index % desc.size[i];
      index /= desc.size[i];
      offsets.q += at * desc.q_outer[i];
      offsets.k += at * desc.k_outer[i];
      offsets.v += at * desc.v_outer[i];
      offsets.o += at * desc.o_outer[i];
      offsets.lse += at * desc.lse_outer[i];
      offsets.mask += at * desc.mask_outer[i];
      offsets.laterQ |= at > 0 && desc.q_outer[i] == 0;
      offsets.laterK |= at > 0 && desc.k_outer[i] == 0;
      offsets.laterV |= at > 0 && desc.v_outer[i] == 0;
    }
    return offsets;
  }
  int64_t tasks = 1, perTask = 1;

private:
  bool isShared(int i) const {
    return desc.q_outer[i] == 0 || desc.k_outer[i] == 0 || desc.v_outer[i] == 0;
  }
  const ptlrt_attention &desc;
};

struct Call {
  Device &device;
  const ptlrt_attention &desc;
  Heads heads;
  AttentionShape shape;
  AttentionForward forward;
  AttentionBackward backward;
};

} // namespace

static AttentionShape shapeOf(const ptlrt_attention &d) {
  return {d.queries,   d.keys,     d.depth,    d.value_depth, d.query_start, d.key_start,
          d.key_valid, d.window,   d.q_row,    d.k_row,       d.v_row,       d.o_row,
          d.lse_row,   d.mask_row, d.mask_col, d.scale,       d.causal != 0, d.mask_kind != 0};
}

static const uint8_t *maskAt(const uint8_t *mask, int64_t offset) {
  return mask ? mask + offset : nullptr;
}

static void forwardTask(void *context, int64_t task, int thread) {
  const Call &call = *static_cast<Call *>(context);
  const Kernels &kernels = call.device.kernels();
  float *scratch = call.device.scratch(thread).take(kernels.attentionScratch(call.shape, false));
  const AttentionForward &all = call.forward;
  Offsets before;
  for (int64_t h = 0; h < call.heads.perTask; ++h) {
    Offsets at = call.heads.at(task, h);
    bool same = h > 0 && at.k == before.k && at.v == before.v;
    kernels.attentionForward(call.shape,
                             {all.q + at.q, all.k + at.k, all.v + at.v, maskAt(all.mask, at.mask),
                              all.out + at.o, all.lse + at.lse, same},
                             scratch);
    before = at;
  }
}

static void backwardTask(void *context, int64_t task, int thread) {
  const Call &call = *static_cast<Call *>(context);
  const Kernels &kernels = call.device.kernels();
  float *scratch = call.device.scratch(thread).take(kernels.attentionScratch(call.shape, true));
  const AttentionBackward &all = call.backward;
  for (int64_t h = 0; h < call.heads.perTask; ++h) {
    Offsets at = call.heads.at(task, h);
    kernels.attentionBackward(call.shape,
                              {all.q + at.q, all.k + at.k, all.v + at.v, maskAt(all.mask, at.mask),
                               all.out + at.o, all.lse + at.lse, all.dout + at.o, all.dq + at.q,
                               all.dk + at.k, all.dv + at.v, at.laterQ, at.laterK, at.laterV},
                              scratch);
  }
}

namespace {
/// Heads in bf16 are widened to scratch memory one by one.
struct HalfForward {
  const uint16_t *q, *k, *v;
  const uint8_t *mask;
  uint16_t *out;
  float *lse;
};
struct HalfBackward {
  const uint16_t *q, *k, *v;
  const uint8_t *mask;
  const uint16_t *out;
  const float *lse;
  const uint16_t *dout;
  uint16_t *dq, *dk, *dv;
};

struct HalfCall {
  Device &device;
  const ptlrt_attention &desc;
  Heads heads;
  AttentionShape shape; ///< of a head in scratch memory: rows without gaps
  HalfForward forward;
  HalfBackward backward;

  const Kernels &kernels() const { return device.kernels(); }
  int64_t queryFloats() const { return shape.queries * shape.depth; }
  int64_t keyFloats() const { return shape.keys * shape.depth; }
  int64_t valueFloats() const { return shape.keys * shape.valueDepth; }
  int64_t outFloats() const { return shape.queries * shape.valueDepth; }

  void widen(const uint16_t *from, int64_t row, int64_t rows, int64_t width, float *to) const {
    for (int64_t r = 0; r < rows; ++r)
      kernels().widen(from + r * row, width, to + r * width);
  }
  void narrow(const float *from, int64_t rows, int64_t width, uint16_t *to, int64_t row) const {
    for (int64_t r = 0; r < rows; ++r)
      kernels().narrow(from + r * width, width, to + r * row);
  }
};
} // namespace

static AttentionShape packedShape(const ptlrt_attention &d) {
  AttentionShape shape = shapeOf(d);
  shape.qRow = shape.kRow = d.depth;
  shape.vRow = shape.oRow = d.value_depth;
  return shape;
}

static void forwardHalves(void *context, int64_t task, int thread) {
  const HalfCall &call = *static_cast<HalfCall *>(context);
  const ptlrt_attention &d = call.desc;
  const HalfForward &all = call.forward;
  int64_t own = call.queryFloats() + call.keyFloats() + call.valueFloats() + call.outFloats();
  float *q =
      call.device.scratch(thread).take(own + call.kernels().attentionScratch(call.shape, false));
  float *k = q + call.queryFloats(), *v = k + call.keyFloats(), *out = v + call.valueFloats();
  Offsets before;
  for (int64_t h = 0; h < call.heads.perTask; ++h) {
    Offsets at = call.heads.at(task, h);
    bool same = h > 0 && at.k == before.k && at.v == before.v;
    call.widen(all.q + at.q, d.q_row, d.queries, d.depth, q);
    if (!same) {
      call.widen(all.k + at.k, d.k_row, d.keys, d.depth, k);
      call.widen(all.v + at.v, d.v_row, d.keys, d.value_depth, v);
    }
    call.kernels().attentionForward(
        call.shape, {q, k, v, maskAt(all.mask, at.mask), out, all.lse + at.lse, same},
        out + call.outFloats());
    call.narrow(out, d.queries, d.value_depth, all.out + at.o, d.o_row);
    before = at;
  }
}

static void backwardHalves(void *context, int64_t task, int thread) {
  const HalfCall &call = *static_cast<HalfCall *>(context);
  const ptlrt_attention &d = call.desc;
  const HalfBackward &all = call.backward;
  int64_t own = 2 * (call.queryFloats() + call.keyFloats() + call.valueFloats() + call.outFloats());
  float *q =
      call.device.scratch(thread).take(own + call.kernels().attentionScratch(call.shape, true));
  float *k = q + call.queryFloats(), *v = k + call.keyFloats(), *out = v + call.valueFloats();
  float *dout = out + call.outFloats(), *dq = dout + call.outFloats(),
        *dk = dq + call.queryFloats(), *dv = dk + call.keyFloats();
  // A gradient that heads share stays in f32 as long as they follow each other.
  auto resume = [&](bool later, bool same, const uint16_t *from, int64_t row, int64_t rows,
                    int64_t width, float *to) {
    if (later && !same)
      call.widen(from, row, rows, width, to);
  };
  Offsets before;
  for (int64_t h = 0; h < call.heads.perTask; ++h) {
    Offsets at = call.heads.at(task, h);
    call.widen(all.q + at.q, d.q_row, d.queries, d.depth, q);
    call.widen(all.k + at.k, d.k_row, d.keys, d.depth, k);
    call.widen(all.v + at.v, d.v_row, d.keys, d.value_depth, v);
    call.widen(all.out + at.o, d.o_row, d.queries, d.value_depth, out);
    call.widen(all.dout + at.o, d.o_row, d.queries, d.value_depth, dout);
    resume(at.laterQ, at.q == before.q, all.dq + at.q, d.q_row, d.queries, d.depth, dq);
    resume(at.laterK, at.k == before.k, all.dk + at.k, d.k_row, d.keys, d.depth, dk);
    resume(at.laterV, at.v == before.v, all.dv + at.v, d.v_row, d.keys, d.value_depth, dv);
    call.kernels().attentionBackward(call.shape,
                                     {q, k, v, maskAt(all.mask, at.mask), out, all.lse + at.lse,
                                      dout, dq, dk, dv, at.laterQ, at.laterK, at.laterV},
                                     dv + call.valueFloats());
    call.narrow(dq, d.queries, d.depth, all.dq + at.q, d.q_row);
    call.narrow(dk, d.keys, d.depth, all.dk + at.k, d.k_row);
    call.narrow(dv, d.keys, d.value_depth, all.dv + at.v, d.v_row);
    before = at;
  }
}

extern "C" void ptlrt_attention_forward_bf16(ptlrt_rank *rank, const ptlrt_attention *desc,
                                             const uint16_t *q, const uint16_t *k,
                                             const uint16_t *v, const uint8_t *mask, uint16_t *out,
                                             float *lse) {
  Device &device = deviceOf(rank);
  HalfCall call = {device, *desc, Heads(*desc), packedShape(*desc), {q, k, v, mask, out, lse}, {}};
  device.pool().run(call.heads.tasks, forwardHalves, &call);
}

extern "C" void ptlrt_attention_backward_bf16(ptlrt_rank *rank, const ptlrt_attention *desc,
                                              const uint16_t *q, const uint16_t *k,
                                              const uint16_t *v, const uint8_t *mask,
                                              const uint16_t *out, const float *lse,
                                              const uint16_t *dout, uint16_t *dq, uint16_t *dk,
                                              uint16_t *dv) {
  Device &device = deviceOf(rank);
  HalfCall call = {device,       *desc,
                   Heads(*desc), packedShape(*desc),
                   {},           {q, k, v, mask, out, lse, dout, dq, dk, dv}};
  device.pool().run(call.heads.tasks, backwardHalves, &call);
}

extern "C" void ptlrt_attention_forward(ptlrt_rank *rank, const ptlrt_attention *desc,
                                        const float *q, const float *k, const float *v,
                                        const uint8_t *mask, float *out, float *lse) {
  Device &device = deviceOf(rank);
  Call call = {device, *desc, Heads(*desc), shapeOf(*desc), {q, k, v, mask, out, lse, false}, {}};
  device.pool().run(call.heads.tasks, forwardTask, &call);
}

extern "C" void ptlrt_attention_backward(ptlrt_rank *rank, const ptlrt_attention *desc,
                                         const float *q, const float *k, const float *v,
                                         const uint8_t *mask, const float *out, const float *lse,
                                         const float *dout, float *dq, float *dk, float *dv) {
  Device &device = deviceOf(rank);
  Call call = {device,       *desc,
               Heads(*desc), shapeOf(*desc),
               {},           {q, k, v, mask, out, lse, dout, dq, dk, dv, false, false, false}};
  device.pool().run(call.heads.tasks, backwardTask, &call);
}
