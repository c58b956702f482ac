//===- Initial.h - Initial values of weights ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `zeros`, `ones`, `constant(c)`, `normal(std)`, `trunc_normal(std)`, `uniform(lo, hi)`.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_MEMORY_INITIAL_H
#define PTLRT_MEMORY_INITIAL_H

#include "runtime/core/Tensor.h"

namespace ptlrt {

enum class InitialKind : uint8_t { Zeros, Ones, Constant, Normal, TruncNormal, Uniform };

struct Initial {
  InitialKind kind = InitialKind::Zeros;
  double first = 0, second = 0;
};

/// The initial value named `kind` with its arguments; more than it takes are ignored.
Expected<Initial> parseInitial(const std::string &kind, const std::vector<double> &args);

/// Writes elements [begin, begin + count), by global index, of the weight `path`.
void initialValues(const Initial &initial, uint64_t seed, const std::string &path, int64_t begin,
                   int64_t count, float *to);

} // namespace ptlrt

#endif // PTLRT_MEMORY_INITIAL_H
