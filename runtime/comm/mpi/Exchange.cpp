//===- Exchange.cpp - One rank's part of a collective by messages ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/Exchange.h"

namespace ptlrt {

Exchange::Exchange(const Collective &collective, int tag, int group, std::vector<int> members,
                   std::span<const int64_t> sizes, std::vector<int64_t> foldSizes, int64_t self)
    : collective(collective), tag(tag), group(group), members(std::move(members)),
      foldSizes(std::move(foldSizes)), self(self), size(elementSize(collective.element)),
      collects(collective.kind == CollectiveKind::AllReduce ||
               collective.kind == CollectiveKind::ReduceScatter),
      gives(collective.kind != CollectiveKind::ReduceScatter &&
            collective.kind != CollectiveKind::AllToAll &&
            collective.kind != CollectiveKind::Permute),
      shares(this->members.size()) {
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    cutAllReduce();
    break;
  case CollectiveKind::Broadcast:
    cutBroadcast();
    break;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    cutPieces(sizes);
    break;
  case CollectiveKind::AllToAll:
    cutExchange(sizes);
    break;
  case CollectiveKind::Permute:
    cutPermute();
    break;
  case CollectiveKind::Message:
    break; // a mailbox's
  }
}

void Exchange::cutAllReduce() {
  constexpr int64_t kUnit = 16;
  auto count = static_cast<int64_t>(members.size());
  Stream whole = Stream::whole(collective);
  int64_t total = whole.elements(), units = ceilDivide(total, kUnit);
  for (int64_t m = 0; m < count; ++m)
    shares[m] = {whole, std::min(units * m / count * kUnit, total),
                 std::min(units * (m + 1) / count * kUnit, total)};
  own = shares[self];
}

void Exchange::cutBroadcast() {
  Stream whole = Stream::whole(collective);
  shares[collective.root] = {whole, 0, whole.elements()};
  own = shares[self];
}

void Exchange::cutPieces(std::span<const int64_t> sizes) {
  auto count = static_cast<int64_t>(members.size());
  for (int64_t m = 0; m < count; ++m) {
    Stream stream = Stream::inWhole(collective, m, sizes);
    shares[m] = {stream, 0, stream.elements()};
  }
  own = {Stream::alone(collective, self, sizes), 0, shares[self].end};
}

void Exchange::cutExchange(std::span<const int64_t> sizes) {
  for (int64_t m = 0; m < static_cast<int64_t>(members.size()); ++m) {
    Stream leaving = Stream::exchanged(collective, self, m, sizes, /*atReceiver=*/false);
    shares[m] = {leaving, 0, leaving.elements()};
    Stream coming = Stream::exchanged(collective, m, self, sizes, /*atReceiver=*/true);
    arriving.push_back({coming, 0, coming.elements()});
  }
}

void Exchange::cutPermute() {
  Stream leaving = Stream::whole(collective), coming = Stream::whole(collective, /*ofOut=*/true);
  arriving.resize(members.size());
  arriving[collective.sources[self]] = {coming, 0, coming.elements()};
  for (size_t m = 0; m < members.size(); ++m)
    if (collective.sources[m] == self)
      shares[m] = {leaving, 0, leaving.elements()};
}

} // namespace ptlrt
