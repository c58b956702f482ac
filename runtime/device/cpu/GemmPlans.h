//===- GemmPlans.h - How each product of a program is computed ------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_GEMMPLANS_H
#define PTLRT_DEVICE_CPU_GEMMPLANS_H

#include "ptlrt/ptlrt.h"
#include "runtime/device/cpu/GemmChoice.h"
#include "runtime/device/cpu/OneDnn.h"
#include <memory>
#include <string>
#include <vector>

namespace ptlrt::cpu {

class Device;

/// A descriptor whose outer loops were folded into m, n or k where the strides
/// allow it; loops of size 1 are gone.
ptlrt_gemm foldLoops(const ptlrt_gemm &desc);

/// How one descriptor is computed: which part of C each piece makes, and by what.
///
/// A piece is one element of the outer loops that move C, and a run of rows or
/// columns; the loops that don't move C are summed inside it. The cut of oneDNN's
/// products depends on sizes alone, since its sums might depend on the cut; ours
/// don't, so there the number of threads decides. Either way results are the same
/// for any number of threads.
class GemmPlan {
public:
  /// `a` and `b`, of the elements that `types` says, serve measurements.
  GemmPlan(Device &device, const ptlrt_gemm &desc, GemmTypes types, bool accumulate, const void *a,
           const void *b);

  bool isFor(const ptlrt_gemm &desc, GemmTypes types, bool accumulate) const;
  void run(Device &device, const void *a, const void *b, void *c);
  std::string describe() const;
  GemmBackend usedBackend() const { return backend; }

private:
  struct Operands;
  void runPiece(Device &device, const Operands &operands, int64_t piece, int thread);
  void runFloats(Device &device, Product product, bool lastCut, int thread);
  void runHalves(Device &device, Product sizes, const Operands &operands, bool lastCut, int thread);
  bool runLibrary(const Product &product, const Operands &operands, bool lastCut, int thread);
  void runProduct(Device &device, const Product &product, bool lastCut, int thread);
  /// Offsets of an element of the loops that do (not) move C.
  void addOffsets(int64_t index, bool movesC, int64_t &a, int64_t &b, int64_t &c) const;
  /// The sizes of a cut, and where its operands begin, in elements.
  Product cutOut(int64_t cut, int64_t &a, int64_t &b, int64_t &c) const;
  GemmBackend choose(Device &device, const void *a, const void *b) const;

  ptlrt_gemm original, desc;
  GemmTypes types;
  bool accumulate;
  GemmBackend backend;
  int64_t elements = 1, summed = 1; ///< of the loops that move C, and of the others
  int64_t cuts = 1, cutSize = 0;
  bool cutsRows = true;
  std::vector<int64_t> aTerms, bTerms; ///< where the operands of each summed product begin
  /// oneDNN's products, made when a thread first needs one: by thread, by whether it
  /// is the last cut, and by accumulation.
  std::vector<std::unique_ptr<OneDnnProduct>> products;
};

/// The plans of a rank. Descriptors are constant data of the program, so a plan is
/// found by address; the contents are compared, in case an address is used again.
class GemmPlans {
public:
  GemmPlans();
  GemmPlan &planFor(Device &device, const ptlrt_gemm &desc, GemmTypes types, bool accumulate,
                    const void *a, const void *b);
  std::string describe() const;

private:
  struct Slot {
    const ptlrt_gemm *key = nullptr;
    bool accumulate = false;
    std::unique_ptr<GemmPlan> plan;
  };
  Slot &slotFor(const ptlrt_gemm *key, bool accumulate);
  std::vector<Slot> slots; ///< open addressing, a power of two, at most half full
  size_t used = 0;
};

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_GEMMPLANS_H
