//===- Scratch.cpp - Working memory of one thread -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Huge pages where the system gives them: packed panels are walked by many tiles,
// and their addresses should stay in the first-level TLB.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/Scratch.h"

#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace ptlrt::cpu {

static constexpr int64_t kPage = int64_t(2) << 20;

Scratch::~Scratch() { std::free(memory); }

float *Scratch::take(int64_t floats) {
  if (floats <= size)
    return memory;
  std::free(memory);
  memory = nullptr;
  size = 0;
  int64_t bytes = (floats * static_cast<int64_t>(sizeof(float)) + kPage - 1) / kPage * kPage;
  void *p = std::aligned_alloc(static_cast<size_t>(kPage), static_cast<size_t>(bytes));
  if (!p)
    throw std::bad_alloc();
  madvise(p, static_cast<size_t>(bytes), MADV_HUGEPAGE); // only a wish
  memory = static_cast<float *>(p);
  size = bytes / static_cast<int64_t>(sizeof(float));
  return memory;
}

} // namespace ptlrt::cpu
