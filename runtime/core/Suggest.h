//===- Suggest.h - What a misspelt name may have meant --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Used for options, hyper-parameters and the names in weight files.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_SUGGEST_H
#define PTLRT_CORE_SUGGEST_H

#include <span>
#include <string>
#include <string_view>

namespace ptlrt {

/// "; did you mean 'x'?" for the nearest of `names` if one is near, else "".
std::string didYouMean(std::string_view name, std::span<const std::string> names);

} // namespace ptlrt

#endif // PTLRT_CORE_SUGGEST_H
