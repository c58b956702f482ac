//===- FakeProgram.h - A compiled program written by hand -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Linear regression with momentum on `x: [batch, 3]`, `y: [batch]`, and an integer
// field that only has a range: the smallest program that uses everything the
// runtime offers to compiled ones. The same metadata and functions that the
// compiler would make, data parallel over `dp`.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_UNIT_RUNTIME_EXEC_FAKEPROGRAM_H
#define PTLC_TEST_UNIT_RUNTIME_EXEC_FAKEPROGRAM_H

#include "ptlrt/ptlrt.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ptlrt::test {

struct FakeOptions {
  int64_t batch = 8, microbatches = 1, dp = 1, steps = 6;
  std::string tail = "drop";
  bool shuffle = false;
  bool overlap = false; ///< starts its collectives and waits for them
  std::string folder;   ///< of x.npy, y.npy, k.npy
  /// Called by each rank when a step begins, if set.
  std::function<void(const ptlrt_rank &)> onStep;
};

/// Owns what a program's descriptor points at. One may exist at a time: its stage functions find
/// their sizes here.
class FakeProgram {
public:
  explicit FakeProgram(const FakeOptions &options);
  ~FakeProgram();
  FakeProgram(const FakeProgram &) = delete;
  FakeProgram &operator=(const FakeProgram &) = delete;

  nlohmann::json metadata;
  /// The descriptor of `metadata` as it is now.
  const ptlrt_program_t &descriptor();

private:
  std::string text;
  std::vector<ptlrt_instruction> table;
  ptlrt_program_t program{};
};

/// Bytes of arena before the data; gradients of w and b lie at these offsets.
inline constexpr int64_t kFakeW = 0, kFakeB = 64, kFakeGradW = 128, kFakeGradB = 192;

} // namespace ptlrt::test

#endif // PTLC_TEST_UNIT_RUNTIME_EXEC_FAKEPROGRAM_H
