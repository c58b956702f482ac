//===- Inputs.h - Recorded tables -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_UNIT_COMPILER_SCHEDULE_INPUTS_H
#define PTLC_TEST_UNIT_COMPILER_SCHEDULE_INPUTS_H

#include "compiler/Schedule/Generators.h"
#include "compiler/Schedule/Lower.h"

namespace ptlc::schedule {

/// The text of Inputs/<name>.
std::string readInput(const std::string &name);
std::vector<std::string> splitLines(const std::string &text);
std::vector<std::string> splitCells(const std::string &line, char separator = ',');

/// The table of Inputs/<name>; reports what is wrong with it.
Table readTableInput(const std::string &name);

/// The orders of a kind by its name in the recorded files, such as `zb-h1`.
Orders ordersOf(const std::string &kind, int p, int m, int v);

/// Lowers orders that can be run.
Table lowered(const Orders &orders, const LowerOptions &options);
/// The same without a norm, as most recorded tables are.
Table lowered(const Orders &orders);

/// One list per rank and copy.
Table withCopies(const Table &table);

} // namespace ptlc::schedule

#endif // PTLC_TEST_UNIT_COMPILER_SCHEDULE_INPUTS_H
