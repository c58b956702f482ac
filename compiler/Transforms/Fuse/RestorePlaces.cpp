//===- RestorePlaces.cpp - Places of constants that folding made ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR's folder shares constants between their users and takes their location
// away. A constant means nothing without its reader, so it gets the place of the
// first one. Users come behind what they use, so one walk backwards does it.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/Passes.h"

#include "compiler/Support/Location.h"
#include "mlir/IR/Iterators.h"

namespace ptlc::fuse {
#define GEN_PASS_DEF_RESTOREPLACES
#include "compiler/Transforms/Fuse/Passes.h.inc"
} // namespace ptlc::fuse

using namespace mlir;
using namespace ptlc;

static Operation *firstReader(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    Operation *known = first ? op->getBlock()->findAncestorOpInBlock(*first) : nullptr;
    if (here && (!known || here->isBeforeInBlock(known)))
      first = user;
  }
  return first;
}

namespace {
struct RestorePlaces : fuse::impl::RestorePlacesBase<RestorePlaces> {
  void runOnOperation() override {
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (userPlace(op->getLoc()))
        return;
      if (Operation *reader = firstReader(op))
        op->setLoc(reader->getLoc());
    });
  }
};
} // namespace
