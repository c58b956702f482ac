//===- DataSource.cpp - Opening the data of a program ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Patterns are expanded here, and each error gets the line of the directive.
//===----------------------------------------------------------------------===//
#include "runtime/data/DataSource.h"

#include "runtime/data/File.h"

namespace ptlrt {

namespace {
/// A program whose loss has no parameters reads nothing, for as long as it likes.
class NoData : public DataSource {
public:
  int64_t samples() const override { return kEndless; }
  Status read(size_t, int64_t, int64_t, int64_t, void *) const override { return Status::ok(); }
};
} // namespace

static Status expand(std::vector<std::string> &files) {
  Expected<std::vector<std::string>> expanded = expandPatterns(files);
  if (expanded.isError())
    return expanded.status();
  files = std::move(*expanded);
  return Status::ok();
}

static Status expandAll(DataSpec &spec) {
  PTLRT_TRY(expand(spec.files));
  for (FieldSpec &field : spec.fields) {
    PTLRT_TRY(expand(field.files));
    if (spec.kind == DataKind::Npy && field.files.empty())
      return failure("field '{}' has no file", field.tensor.name);
    if (field.tensor.shape.empty())
      return failure("field '{}' has no batch dimension", field.tensor.name);
  }
  if (spec.kind != DataKind::Npy && spec.files.empty())
    return failure("the data has no file");
  return Status::ok();
}

static Expected<std::unique_ptr<DataSource>> openExpanded(const DataSpec &spec) {
  return spec.kind == DataKind::Npy ? openArrays(spec) : openTokens(spec);
}

Expected<std::unique_ptr<DataSource>> openData(const DataSpec &spec) {
  if (spec.fields.empty())
    return std::unique_ptr<DataSource>(std::make_unique<NoData>());
  DataSpec expanded = spec;
  Status status = expandAll(expanded);
  if (status.isOk()) {
    Expected<std::unique_ptr<DataSource>> source = openExpanded(expanded);
    if (source.isOk())
      return source;
    status = source.status();
  }
  if (spec.line.empty())
    return status;
  return failure("{} (the data of {})", status.message(), spec.line);
}

} // namespace ptlrt
