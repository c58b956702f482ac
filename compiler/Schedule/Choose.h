//===- Choose.h - From the name of a schedule to its orders ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_CHOOSE_H
#define PTLC_COMPILER_SCHEDULE_CHOOSE_H

#include "compiler/Schedule/Generators.h"

namespace ptlc::schedule {

/// A schedule as plans write it.
struct Wish {
  Kind kind = Kind::OneForwardOneBackward;
  int chunks = 1;        ///< of `interleaved(v)`
  std::string file = {}; ///< not empty: the orders are in this file
};

/// Reads `zb_v`, `interleaved(2)`, `file("x.csv")`. Returns nullopt with the reason in `error`.
std::optional<Wish> parseWish(std::string_view text, std::string &error);

/// The orders in the text of a user's file, which must be for p ranks and m micro-batches. Returns
/// nullopt with the reason in `error`, which begins with `file`, line and cell.
std::optional<Orders> ordersOfFile(const std::string &file, std::string_view text, int p, int m,
                                   std::string &error);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_CHOOSE_H
