//===- Choose.cpp - From the name of a schedule to its orders -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Choose.h"
#include "compiler/Schedule/Csv.h"
#include "compiler/Schedule/CsvFields.h"

namespace ptlc::schedule {

static constexpr std::string_view kKnown = "gpipe, one_f_one_b, interleaved(v), zb_h1, zb_h2, "
                                           "zb_v, v_half, v_min, file(\"x.csv\")";

std::optional<Wish> parseWish(std::string_view text, std::string &error) {
  std::string_view name = csv::trim(text), argument;
  size_t open = name.find('(');
  if (open != name.npos && name.ends_with(')')) {
    argument = csv::trim(name.substr(open + 1, name.size() - open - 2));
    name = csv::trim(name.substr(0, open));
  }
  Wish wish;
  if (name == "file") {
    if (argument.size() > 2 && argument.front() == '"' && argument.back() == '"')
      argument = argument.substr(1, argument.size() - 2);
    wish.file = argument;
    if (wish.file.empty())
      error = "'file' needs the name of a file: file(\"x.csv\")";
    return wish.file.empty() ? std::nullopt : std::optional(wish);
  }
  std::optional<Kind> kind = parseKind(name);
  if (!kind) {
    error = "there is no schedule '" + std::string(name) + "'; the schedules are " +
            std::string(kKnown);
    return std::nullopt;
  }
  wish.kind = *kind;
  bool takesChunks = *kind == Kind::Interleaved;
  if (takesChunks != !argument.empty() ||
      (takesChunks && (!csv::parse(argument, wish.chunks) || wish.chunks < 1))) {
    error = takesChunks ? "'interleaved' needs the number of stages per rank: interleaved(2)"
                        : "'" + std::string(name) + "' takes no argument";
    return std::nullopt;
  }
  return wish;
}

std::optional<Orders> ordersOfFile(const std::string &file, std::string_view text, int p, int m,
                                   std::string &error) {
  CsvError mistake;
  std::optional<Orders> orders = readOrders(text, mistake);
  if (!orders) {
    error = file + ":" + std::to_string(mistake.line) + ": ";
    if (mistake.cell > 0)
      error += "cell " + std::to_string(mistake.cell) + ": ";
    error += mistake.message;
    return std::nullopt;
  }
  if (orders->ranks == p && orders->micros == m)
    return orders;
  error = file + ":1: the schedule is for " + std::to_string(orders->ranks) + " ranks and " +
          std::to_string(orders->micros) + " micro-batches, the plan has " + std::to_string(p) +
          " and " + std::to_string(m);
  return std::nullopt;
}

} // namespace ptlc::schedule
