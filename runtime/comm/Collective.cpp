//===- Collective.cpp - What ranks do together ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Names for messages, reports and traces.
//===----------------------------------------------------------------------===//
#include "runtime/comm/Collective.h"

#include <algorithm>

namespace ptlrt {

const char *collectiveName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Permute:
    return "permute";
  case CollectiveKind::Broadcast:
    return "broadcast";
  case CollectiveKind::Message:
    return "message";
  }
  return "";
}

const char *reduceName(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return "sum";
  case ReduceKind::Max:
    return "max";
  case ReduceKind::Min:
    return "min";
  }
  return "";
}

std::vector<int64_t> Collective::foldSizes(const Mesh &mesh) const {
  std::vector<int> order = axes;
  if (kind == CollectiveKind::AllReduce)
    std::sort(order.begin(), order.end());
  std::vector<int64_t> sizes;
  for (int axis : order)
    sizes.push_back(mesh.size(axis));
  return sizes;
}

std::string Collective::describe(const Mesh &mesh) const {
  std::string text = collectiveName(kind);
  if (kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter)
    text += fmt::format(" {}", reduceName(reduce));
  const char *separator = " over ";
  for (int axis : axes) {
    text += separator + mesh.axes()[axis].name;
    separator = ", ";
  }
  return line.empty() ? text : fmt::format("{} ({})", text, line);
}

} // namespace ptlrt
