//===- Device.h - What a rank's state has for its device ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The entry points of ptlrt.h find their device through `ptlrt_rank::runtime`,
// which points at a RankContext: the runtime's own state of a rank derives from
// it. A null pointer there, or a null device, means a plain one-thread CPU.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_DEVICE_H
#define PTLRT_DEVICE_DEVICE_H

namespace ptlrt {

namespace cpu {
class Device;
} // namespace cpu

/// The base of what `ptlrt_rank::runtime` points at. It doesn't own the device.
struct RankContext {
  cpu::Device *device = nullptr;
};

} // namespace ptlrt

#endif // PTLRT_DEVICE_DEVICE_H
