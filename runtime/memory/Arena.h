//===- Arena.h - The memory of a rank -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One mapping in huge pages, touched once before the first step, so that no step
// allocates or takes a page fault. Zero when it is new.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_MEMORY_ARENA_H
#define PTLRT_MEMORY_ARENA_H

#include "runtime/core/Status.h"
#include <cstdint>

namespace ptlrt {

class Arena {
public:
  /// Maps `bytes`, at a 2 MiB boundary. Nothing is touched yet.
  static Expected<Arena> map(int64_t bytes);
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&other) noexcept;
  ~Arena();

  uint8_t *data() const { return begin; }
  int64_t bytes() const { return size; }
  /// Touches every page from the calling thread, which should be the one that will use it.
  void touch();

private:
  Arena() = default;
  void *mapping = nullptr;
  int64_t mapped = 0;
  uint8_t *begin = nullptr;
  int64_t size = 0;
};

/// Bytes that the machine can give without swapping; 0 if that can't be found out.
int64_t availableMemory();
/// The largest resident set of this process so far, in bytes.
int64_t peakResidentMemory();

} // namespace ptlrt

#endif // PTLRT_MEMORY_ARENA_H
