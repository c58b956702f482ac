//===- Status.h - Errors as values ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything in the runtime that can fail returns a Status or an Expected. A
// message is one line, lower-case, names the file, tensor or option it speaks of
// and says what was expected; who prints it adds `error: `.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_STATUS_H
#define PTLRT_CORE_STATUS_H

#include <fmt/core.h>
#include <optional>
#include <string>
#include <utility>

namespace ptlrt {

class [[nodiscard]] Status {
public:
  Status() = default;
  static Status ok() { return {}; }
  static Status error(std::string message) {
    Status status;
    status.text = std::move(message);
    return status;
  }
  bool isOk() const { return !text; }
  bool isError() const { return text.has_value(); }
  /// The message of an error; empty if there is none.
  const std::string &message() const {
    static const std::string none;
    return text ? *text : none;
  }

private:
  std::optional<std::string> text;
};

/// An error with a formatted message.
template <typename... Args> Status failure(fmt::format_string<Args...> text, Args &&...args) {
  return Status::error(fmt::format(text, std::forward<Args>(args)...));
}

/// A value, or the error that took its place.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : content(std::move(value)) {}
  Expected(Status error) : problem(std::move(error)) {}
  bool isOk() const { return content.has_value(); }
  bool isError() const { return !content; }
  Status status() const { return problem; }
  const std::string &message() const { return problem.message(); }
  T &operator*() { return *content; }
  const T &operator*() const { return *content; }
  T *operator->() { return &*content; }
  const T *operator->() const { return &*content; }

private:
  std::optional<T> content;
  Status problem;
};

} // namespace ptlrt

/// Returns from the function if `expression`, a Status, is an error.
#define PTLRT_TRY(expression)                                                                      \
  do {                                                                                             \
    if (::ptlrt::Status tried = (expression); tried.isError())                                     \
      return tried;                                                                                \
  } while (false)

#endif // PTLRT_CORE_STATUS_H
