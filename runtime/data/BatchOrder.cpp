//===- BatchOrder.cpp - Which samples a batch holds -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Position p of the endless sequence of samples is position p mod N of pass p / N.
// `drop` and `short` begin each pass with a new batch; `wrap` doesn't.
//===----------------------------------------------------------------------===//
#include "runtime/data/DataSpec.h"

namespace ptlrt {

BatchOrder::BatchOrder(int64_t samples, int64_t batch, Tail tail, bool shuffle, uint64_t seed)
    : samples(samples), batch(batch), tail(tail), shuffle(shuffle), seed(seed),
      permutation(samples > 0 ? samples : 1, seed, 0) {
  batches = tail == Tail::Drop ? samples / batch : ceilDivide(samples, batch);
}

int64_t BatchOrder::valid(int64_t step) const {
  if (tail != Tail::Short)
    return batch;
  return std::min(batch, samples - step % batches * batch);
}

int64_t BatchOrder::leftOut() const { return tail == Tail::Drop ? samples % batch : 0; }

int64_t BatchOrder::sample(int64_t step, int64_t row) {
  int64_t pass, position;
  if (tail == Tail::Wrap) {
    pass = (step * batch + row) / samples;
    position = (step * batch + row) % samples;
  } else {
    pass = step / batches;
    position = step % batches * batch + row;
  }
  if (!shuffle)
    return position;
  if (pass != currentPass) {
    permutation = Permutation(samples, seed, pass);
    currentPass = pass;
  }
  return static_cast<int64_t>(permutation(position));
}

} // namespace ptlrt
