//===- CsvFields.h - Lines, cells and the header of schedule files --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_CSVFIELDS_H
#define PTLC_COMPILER_SCHEDULE_CSVFIELDS_H

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace ptlc::schedule::csv {

inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

inline std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Words between blanks.
inline std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::string_view part : split(text, ' '))
    if (!trim(part).empty())
      result.push_back(trim(part));
  return result;
}

/// Lines without those that are empty at the end.
inline std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> result = split(text, '\n');
  while (!result.empty() && trim(result.back()).empty())
    result.pop_back();
  return result;
}

/// Reads a whole number that fills `text`. Returns false if there is none.
template <typename T> bool parse(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

inline std::string join(const std::vector<int> &numbers) {
  std::string out;
  for (int number : numbers)
    out += (out.empty() ? "" : " ") + std::to_string(number);
  return out;
}

/// The first line: `ptl-schedule,1,<form>` and fields `key=value`. Keeps the first mistake.
class Header {
public:
  Header(std::string_view line, std::string_view form) : cells(split(line, ',')) {
    if (cells.size() < 3 || trim(cells[0]) != "ptl-schedule" || trim(cells[1]) != "1" ||
        trim(cells[2]) != form)
      fail("expected a header 'ptl-schedule,1," + std::string(form) + ",...'");
  }

  void fail(const std::string &message) {
    if (mistake.empty())
      mistake = message;
  }
  const std::string &error() const { return mistake; }

  /// The value of `key`; nullopt-like empty with a mistake if it is missing.
  std::string_view value(std::string_view key) {
    for (std::string_view cell : cells)
      if (cell.size() > key.size() && cell.starts_with(key) && cell[key.size()] == '=')
        return trim(cell.substr(key.size() + 1));
    fail("the header lacks '" + std::string(key) + "='");
    return {};
  }

  void text(std::string_view key, std::string &result) { result = value(key); }

  void number(std::string_view key, int least, int &result) {
    std::string_view its = value(key);
    if (!parse(its, result) || result < least || result > kMost)
      fail("'" + std::string(key) + "' takes a number from " + std::to_string(least) + " to " +
           std::to_string(kMost) + ", got '" + std::string(its) + "'");
    if (!mistake.empty())
      result = least;
  }

  void numbers(std::string_view key, std::vector<int> &result) {
    for (std::string_view word : words(value(key))) {
      result.emplace_back();
      if (!parse(word, result.back()))
        fail("'" + std::string(key) + "' takes numbers between blanks, got '" + std::string(word) +
             "'");
    }
  }

private:
  static constexpr int kMost = 32767;
  std::vector<std::string_view> cells;
  std::string mistake;
};

} // namespace ptlc::schedule::csv

#endif // PTLC_COMPILER_SCHEDULE_CSVFIELDS_H
