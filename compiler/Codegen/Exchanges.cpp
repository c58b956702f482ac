//===- Exchanges.cpp - Whether exchanges of a pipeline meet ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Exchanges.h"

#include "dialects/Rt/Rt.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::codegen;

namespace {
/// What a rank does in one part of its program, and how far it is.
struct Queue {
  SmallVector<rt::ExchangeOp> list;
  unsigned done = 0;
  rt::ExchangeOp next() const { return done < list.size() ? list[done] : rt::ExchangeOp(); }
};
} // namespace

static bool areAlike(ValueRange given, ValueRange taken) {
  return llvm::equal(given, taken, [](Value a, Value b) {
    return ptl::elementType(a) == ptl::elementType(b) &&
           cast<RankedTensorType>(a.getType()).getNumElements() ==
               cast<RankedTensorType>(b.getType()).getNumElements();
  });
}

/// True if rank `a`, and the rank that it waits for, do their next exchange with each other.
static bool meet(ArrayRef<Queue> ranks, int64_t a) {
  rt::ExchangeOp mine = ranks[a].next();
  auto peer = mine ? static_cast<int64_t>(mine.getPeer()) : -1;
  bool isOther = peer >= 0 && peer < static_cast<int64_t>(ranks.size()) && peer != a;
  rt::ExchangeOp theirs = isOther ? ranks[peer].next() : rt::ExchangeOp();
  return theirs && static_cast<int64_t>(theirs.getPeer()) == a &&
         areAlike(mine.getMine(), theirs.getTheirs()) &&
         areAlike(theirs.getMine(), mine.getTheirs());
}

static LogicalResult play(MutableArrayRef<Queue> ranks) {
  for (bool moves = true; moves;) {
    moves = false;
    for (auto [number, rank] : llvm::enumerate(ranks))
      while (meet(ranks, number)) {
        ++ranks[rank.next().getPeer()].done;
        ++rank.done;
        moves = true;
      }
  }
  for (auto [number, rank] : llvm::enumerate(ranks))
    if (rt::ExchangeOp op = rank.next())
      return op.emitError("rank ") << number << " of the pipeline would wait here for ever: rank "
                                   << static_cast<int64_t>(op.getPeer())
                                   << " doesn't exchange this with it in the same order";
  return success();
}

LogicalResult codegen::checkExchanges(ArrayRef<Schedule> schedules) {
  enum { Step, Batch, End, Token, Parts };
  std::vector<Queue> parts[Parts];
  for (std::vector<Queue> &part : parts)
    part.resize(schedules.size());
  for (auto [rank, schedule] : llvm::enumerate(schedules))
    for (auto [number, function] : llvm::enumerate(schedule.functions)) {
      int part = number < schedule.stepFunctions ? Step
                 : number == schedule.eval       ? Batch
                 : number == schedule.evalEnd    ? End
                                                 : Token;
      for (Operation *op : function.operations)
        if (auto exchange = dyn_cast<rt::ExchangeOp>(op))
          parts[part][rank].list.push_back(exchange);
    }
  for (std::vector<Queue> &part : parts)
    if (failed(play(part)))
      return failure();
  return success();
}
