//===- Csv.cpp - Schedules as users write them ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   ptl-schedule,1,compute,name=mine,p=2,v=1,m=2,place=0 1
//   F0.0,F0.1,BW0.0,BW0.1
//   F1.0,BW1.0,F1.1,BW1.1
//
// One line per rank; `F1.0` is F of stage 1 and micro-batch 0. Empty cells are allowed, so that
// columns can be drawn as ticks. Everything is checked here that concerns one cell, so that
// messages can point at it: what is out of range, on another rank, twice, or missing.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Csv.h"
#include "compiler/Schedule/CsvFields.h"

#include <map>
#include <tuple>

namespace ptlc::schedule {

std::string printOrders(const Orders &orders) {
  std::string out = "ptl-schedule,1,compute,name=" + orders.name +
                    ",p=" + std::to_string(orders.ranks) + ",v=" + std::to_string(orders.chunks) +
                    ",m=" + std::to_string(orders.micros) + ",place=" + csv::join(orders.place) +
                    "\n";
  for (const std::vector<Action> &rank : orders.actions) {
    std::string_view comma;
    for (const Action &action : rank) {
      out += comma;
      out += name(action.op);
      out += std::to_string(action.stage) + "." + std::to_string(action.micro);
      comma = ",";
    }
    out += "\n";
  }
  return out;
}

/// `BW3.0`: an op, a stage, a micro-batch.
static std::optional<Action> parseCell(std::string_view cell) {
  Action action;
  size_t digits = cell.find_first_of("0123456789");
  size_t dot = cell.find('.');
  if (digits == cell.npos || dot == cell.npos || dot < digits)
    return std::nullopt;
  std::string_view op = cell.substr(0, digits);
  bool known = false;
  for (Op candidate : {Op::F, Op::B, Op::W, Op::BW})
    if (op == name(candidate)) {
      action.op = candidate;
      known = true;
    }
  if (!known || !csv::parse(cell.substr(digits, dot - digits), action.stage) ||
      !csv::parse(cell.substr(dot + 1), action.micro))
    return std::nullopt;
  return action;
}

namespace {
/// Checks each action against the header and all before it.
class OrdersChecker {
public:
  explicit OrdersChecker(const Orders &orders) : orders(orders) {}

  /// Empty: it may stand here.
  std::string check(const Action &action, int rank) {
    int stages = static_cast<int>(orders.place.size());
    if (action.stage >= stages)
      return "stage " + std::to_string(action.stage) + " is outside 0.." +
             std::to_string(stages - 1);
    if (action.micro >= orders.micros)
      return "micro-batch " + std::to_string(action.micro) + " is outside 0.." +
             std::to_string(orders.micros - 1);
    if (orders.place[action.stage] != rank)
      return "stage " + std::to_string(action.stage) + " lives on rank " +
             std::to_string(orders.place[action.stage]) + ", this is rank " + std::to_string(rank);
    for (Op part : {Op::F, Op::B, Op::W}) {
      bool isPart = part == action.op || (action.op == Op::BW && part != Op::F);
      if (isPart && !seen.try_emplace({part, action.stage, action.micro}, true).second)
        return std::string(name(part)) + " of stage " + std::to_string(action.stage) +
               " and micro-batch " + std::to_string(action.micro) + " is there twice";
    }
    return {};
  }

  /// Empty: nothing is missing on `rank`.
  std::string missing(int rank) const {
    for (int stage = 0; stage < static_cast<int>(orders.place.size()); ++stage)
      for (int micro = 0; orders.place[stage] == rank && micro < orders.micros; ++micro)
        for (Op part : {Op::F, Op::B, Op::W})
          if (!seen.count({part, stage, micro}))
            return std::string(name(part)) + " of stage " + std::to_string(stage) +
                   " and micro-batch " + std::to_string(micro) + " is missing";
    return {};
  }

private:
  const Orders &orders;
  std::map<std::tuple<Op, int, int>, bool> seen;
};
} // namespace

static bool readHeader(std::string_view line, Orders &orders, CsvError &error) {
  csv::Header header(line, "compute");
  header.text("name", orders.name);
  header.number("p", 1, orders.ranks);
  header.number("v", 1, orders.chunks);
  header.number("m", 1, orders.micros);
  header.numbers("place", orders.place);
  for (int rank : orders.place)
    if (rank < 0 || rank >= orders.ranks)
      header.fail("'place' has rank " + std::to_string(rank) + ", but p is " +
                  std::to_string(orders.ranks));
  if (static_cast<int64_t>(orders.place.size()) != int64_t{orders.ranks} * orders.chunks)
    header.fail("'place' needs a rank for each of p * v stages");
  if (!header.error().empty())
    error = {1, 0, header.error()};
  return header.error().empty();
}

static bool readRank(std::string_view line, int number, Orders &orders, OrdersChecker &checker,
                     CsvError &error) {
  int rank = static_cast<int>(orders.actions.size());
  std::vector<Action> &actions = orders.actions.emplace_back();
  std::vector<std::string_view> cells = csv::split(line, ',');
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string_view cell = csv::trim(cells[i]);
    if (cell.empty())
      continue;
    std::optional<Action> action = parseCell(cell);
    std::string message =
        action ? checker.check(*action, rank)
               : "'" + std::string(cell) + "' is not F, B, W or BW with stage.micro-batch";
    if (!message.empty()) {
      error = {number, static_cast<int>(i) + 1, message};
      return false;
    }
    actions.push_back(*action);
  }
  std::string message = checker.missing(rank);
  if (!message.empty())
    error = {number, 0, message};
  return message.empty();
}

std::optional<Orders> readOrders(std::string_view text, CsvError &error) {
  std::vector<std::string_view> lines = csv::lines(text);
  Orders orders;
  if (!readHeader(lines.empty() ? "" : lines[0], orders, error))
    return std::nullopt;
  OrdersChecker checker(orders);
  for (size_t i = 1; i < lines.size() && static_cast<int>(i) <= orders.ranks; ++i)
    if (!readRank(lines[i], static_cast<int>(i) + 1, orders, checker, error))
      return std::nullopt;
  if (static_cast<int64_t>(lines.size()) - 1 != orders.ranks) {
    error = {static_cast<int>(lines.size()), 0,
             "expected a line for each of " + std::to_string(orders.ranks) + " ranks, found " +
                 std::to_string(static_cast<int64_t>(lines.size()) - 1)};
    return std::nullopt;
  }
  return orders;
}

} // namespace ptlc::schedule
