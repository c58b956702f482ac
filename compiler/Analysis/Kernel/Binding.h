//===- Binding.h - How a row kernel meets memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_BINDING_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_BINDING_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ptlc::kernel {

/// Where a tensor lies: elements between neighbours along each dimension of its type.
using Strides = llvm::SmallVector<int64_t, 4>;

/// The memory of a graph's arguments and outputs. Those in one place share a slot, so that back
/// ends may take different slots for disjoint.
struct Binding {
  std::vector<Strides> arguments, outputs;
  std::vector<unsigned> argumentSlots, outputSlots; ///< index into the kernel's buffers
  unsigned slots = 0;
  std::vector<bool> aligned; ///< per slot: it begins at a multiple of 16 bytes
  /// Per output: it is added to what lies there if the last scalar (after the graph's) is not 0.
  std::vector<bool> accumulates;

  bool accumulatesAny() const { return llvm::is_contained(accumulates, true); }
  /// Text that is equal for equal bindings.
  std::string key() const;
};

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_BINDING_H
