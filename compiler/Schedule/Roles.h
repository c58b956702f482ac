//===- Roles.h - Which instruction touches which slots --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_ROLES_H
#define PTLC_COMPILER_SCHEDULE_ROLES_H

#include "compiler/Schedule/Table.h"

namespace ptlc::schedule {

struct Role {
  SlotKind kind;
  int stage;

  bool operator==(const Role &) const = default;
};

/// The one list of the slots that each instruction reads or writes, in the order of its operands;
/// shared by the placement of slots, the verifier and, through the operands, the runtime.
///
///   F       X of its stage if there are inputs, S, Y if a consumer is on another rank, X of each
///           consumer on this rank (written in place)
///   LOSS    S, G
///   B       X, S, G, D if a producer is on another rank, C, G of each producer on this rank
///   BW      the same without C
///   W       X, S, G, C
///   SEND_A  Y;  RECV_A  X;  SEND_G  D;  RECV_G  G
class Roles {
public:
  explicit Roles(const Table &table);
  /// Slots of `op` on `stage`.
  const std::vector<Role> &of(Op op, int stage) const {
    return roles[static_cast<size_t>(stage) * kOps + static_cast<size_t>(op)];
  }

private:
  std::vector<std::vector<Role>> roles; ///< [stage][op]
};

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_ROLES_H
