//===- Packed.h - Tables as the bytes that a program carries --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_PACKED_H
#define PTLC_COMPILER_SCHEDULE_PACKED_H

#include "compiler/Schedule/Table.h"

#include <optional>

namespace ptlc::schedule {

/// The form of ptlrt/schedule.h. Returns nullopt with the reason in `error` if a number is too
/// large for it. Copies that are written out aren't packed.
std::optional<std::string> pack(const Table &table, std::string &error);

/// Reads it back, but for the name. Returns nullopt with the reason in `error` if the bytes are no
/// table; whether the table is right is for verify() to say.
std::optional<Table> unpack(std::string_view bytes, std::string &error);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_PACKED_H
