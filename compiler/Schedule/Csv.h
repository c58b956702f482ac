//===- Csv.h - Schedules as text ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_CSV_H
#define PTLC_COMPILER_SCHEDULE_CSV_H

#include "compiler/Schedule/Orders.h"

namespace ptlc::schedule {

/// A mistake of a file, at a line and, for the compute form, a cell, both from 1; 0: none.
struct CsvError {
  int line = 0, cell = 0;
  std::string message;
};

/// The form that users write: what each rank computes, in order.
std::string printOrders(const Orders &orders);
std::optional<Orders> readOrders(std::string_view text, CsvError &error);

/// Everything, one instruction a line.
std::string printTable(const Table &table);
std::optional<Table> readTable(std::string_view text, CsvError &error);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_CSV_H
