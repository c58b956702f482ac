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
