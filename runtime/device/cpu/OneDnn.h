//===- OneDnn.h - Matrix products by oneDNN, if it is there ---------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_ONEDNN_H
#define PTLRT_DEVICE_CPU_ONEDNN_H

#include "runtime/device/cpu/Kernels.h"
#include <memory>
#include <string>

namespace ptlrt::cpu {

class OneDnnLibrary;

/// Returns the library, opened at the first call, or null if this program was
/// built without its header or the library isn't installed.
const OneDnnLibrary *oneDnn();

/// Returns e.g. "oneDNN 2.6.3", or why there is none.
std::string describeOneDnn();

/// One product of fixed sizes, strides and accumulation. It belongs to the thread
/// that creates it: only that thread may run it (scratch memory of the library is
/// the thread's own).
class OneDnnProduct {
public:
  /// Returns null if the library refuses; pointers in `shape` are not looked at.
  static std::unique_ptr<OneDnnProduct> create(const OneDnnLibrary &library, const Product &shape,
                                               GemmTypes types = GemmTypes::F32);
  ~OneDnnProduct();
  OneDnnProduct(const OneDnnProduct &) = delete;
  OneDnnProduct &operator=(const OneDnnProduct &) = delete;

  /// Returns false if the library reports an error; C is undefined then.
  bool run(const void *a, const void *b, void *c);

private:
  struct Handles;
  OneDnnProduct(const OneDnnLibrary &library, std::unique_ptr<Handles> handles);
  const OneDnnLibrary &library;
  std::unique_ptr<Handles> handles;
};

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_ONEDNN_H
