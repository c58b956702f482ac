//===- DataSource.h - Samples in files ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One interface for token files, text and arrays. A source is shared by all
// ranks; reading doesn't allocate and is safe from several threads.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DATA_DATASOURCE_H
#define PTLRT_DATA_DATASOURCE_H

#include "runtime/data/DataSpec.h"
#include <memory>

namespace ptlrt {

/// The number of samples where there is no end.
inline constexpr int64_t kEndless = INT64_MAX / 4;

class DataSource {
public:
  virtual ~DataSource() = default;
  virtual int64_t samples() const = 0;
  /// Copies elements [begin, begin + count) of one sample of field `field` to `to`, as the
  /// field's element type. Ids outside of the field's range are an error.
  virtual Status read(size_t field, int64_t sample, int64_t begin, int64_t count,
                      void *to) const = 0;
};

/// Opens and checks all files of `spec`.
Expected<std::unique_ptr<DataSource>> openData(const DataSpec &spec);

/// The back ends of openData().
Expected<std::unique_ptr<DataSource>> openTokens(const DataSpec &spec);
Expected<std::unique_ptr<DataSource>> openArrays(const DataSpec &spec);

} // namespace ptlrt

#endif // PTLRT_DATA_DATASOURCE_H
