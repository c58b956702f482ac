//===- Roles.cpp - Which instruction touches which slots ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Roles.h"

#include <algorithm>

namespace ptlc::schedule {

namespace {
/// What a stage's edges mean for its slots.
struct Ends {
  bool inputs = false;         ///< there are in-edges
  bool remoteConsumer = false; ///< an output is sent
  bool outGradient = false;    ///< a gradient of an output comes in
  bool remoteProducer = false; ///< a gradient of an input is sent
  std::vector<int> consumers;  ///< on the same rank; ascending
  std::vector<int> producers;  ///< on the same rank, of edges with a gradient; ascending
};
} // namespace

static std::vector<Ends> endsOf(const Table &table) {
  std::vector<Ends> ends(table.place.size());
  for (const Edge &edge : table.edges) {
    Ends &source = ends[edge.source], &target = ends[edge.target];
    bool local = table.place[edge.source] == table.place[edge.target];
    target.inputs = true;
    source.outGradient |= edge.gradient;
    source.remoteConsumer |= !local;
    target.remoteProducer |= !local && edge.gradient;
    if (local)
      source.consumers.push_back(edge.target);
    if (local && edge.gradient)
      target.producers.push_back(edge.source);
  }
  for (Ends &stage : ends)
    for (std::vector<int> *list : {&stage.consumers, &stage.producers}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  return ends;
}

Roles::Roles(const Table &table) : roles(table.place.size() * kOps) {
  std::vector<Ends> ends = endsOf(table);
  for (int stage = 0; stage < table.stages(); ++stage) {
    const Ends &end = ends[stage];
    auto at = [&](Op op) -> std::vector<Role> & {
      return roles[static_cast<size_t>(stage) * kOps + static_cast<size_t>(op)];
    };
    Role inputs{SlotKind::X, stage}, stash{SlotKind::S, stage}, outputs{SlotKind::Y, stage},
        gradient{SlotKind::G, stage}, toSend{SlotKind::D, stage}, context{SlotKind::C, stage};
    for (Op op : {Op::F, Op::B, Op::BW, Op::W}) {
      if (end.inputs)
        at(op).push_back(inputs);
      at(op).push_back(stash);
    }
    if (end.remoteConsumer)
      at(Op::F).push_back(outputs);
    for (int consumer : end.consumers)
      at(Op::F).push_back({SlotKind::X, consumer});
    for (Op op : {Op::B, Op::BW, Op::W})
      if (end.outGradient || stage == table.stages() - 1)
        at(op).push_back(gradient);
    for (Op op : {Op::B, Op::BW})
      if (end.remoteProducer)
        at(op).push_back(toSend);
    at(Op::B).push_back(context);
    at(Op::W).push_back(context);
    for (Op op : {Op::B, Op::BW})
      for (int producer : end.producers)
        at(op).push_back({SlotKind::G, producer});
    at(Op::Loss) = {stash, gradient};
    at(Op::SendA) = {outputs};
    at(Op::RecvA) = {inputs};
    at(Op::SendG) = {toSend};
    at(Op::RecvG) = {gradient};
  }
}

} // namespace ptlc::schedule
