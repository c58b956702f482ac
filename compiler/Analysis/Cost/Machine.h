//===- Machine.h - Devices, links and what they reach -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sources of the numbers: compiler/doc/Cost.md.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_MACHINE_H
#define PTLC_COMPILER_ANALYSIS_COST_MACHINE_H

#include <algorithm>
#include <cmath>

namespace ptlc::cost {

/// Rates of data sheets, per device. Bytes, seconds, FLOP.
struct Machine {
  double nodes = 1, devices = 1; ///< devices: of a node
  double peak = 312e12;          ///< dense matrix products in 16 bits, FLOP/s
  double peakF32 = 312e12;       ///< of those in f32
  double bandwidth = 2.0e12;     ///< of a device's memory
  double units = 108;            ///< that work on tiles of a product at the same time
  double memory = 80e9;
  double intra = 300e9;                            ///< bytes/s in each direction, inside a node
  double inter = 25e9;                             ///< bytes/s in each direction, between nodes
  double intraLatency = 3e-6, interLatency = 8e-6; ///< of a hop of a collective

  double ranks() const { return nodes * devices; }
  /// Of products whose operands have `width` bytes.
  double peakOf(double width) const { return width > 2 ? peakF32 : peak; }
};

/// Which share of a rate is reached, and what is lost in between. One set for all models and
/// machines; it was set before the first comparison with a published run and isn't fitted.
struct Constants {
  double products = 0.815; ///< of the peak, by endless products of large tiles
  double tileStart = 160;  ///< beginning and end of a tile, in steps of k
  double streams = 0.80;   ///< of the memory's bandwidth
  double intra = 0.77, interCollective = 0.40, interPoint = 0.72; ///< of the links
  double launch = 4e-6;                                           ///< of a kernel
  double collective = 10e-6;                                      ///< to set one up
  double step = 0.02;        ///< data, logs and scalars, once per step
  double attention = 0.60;   ///< fused attention, of `products`
  double batched = 0.85;     ///< products of activations, of `products`
  double overlapTax = 0.10;  ///< slower compute while a collective runs beside it
  double sequenceTax = 0.12; ///< reduce-scatter and all-gather against one all-reduce
  double updateBytes = 64;   ///< per parameter: norm, clip, update, casts
};

/// Ranks that communicate: `size` of them, `local` on each node.
struct Group {
  double size = 1, local = 1;
  double nodes() const { return std::ceil(size / local); }
};

/// The group of an axis of `size` whose neighbours are `stride` ranks apart; nodes are rows of
/// consecutive ranks.
inline Group groupOf(const Machine &machine, double stride, double size) {
  double local =
      stride >= machine.devices ? 1 : std::min(size, std::floor(machine.devices / stride));
  return {size, std::max(1.0, local)};
}

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_MACHINE_H
