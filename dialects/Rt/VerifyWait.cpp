//===- VerifyWait.cpp - Verifiers of collectives that are started ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Rt/InLast.h"
#include "dialects/Spmd/Spmd.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::rt;

LogicalResult WaitOp::verify() {
  Operation *collective = getValues().empty() ? nullptr : getCollective();
  if (!collective || !collective->hasAttr(kStarted) ||
      collective->getBlock() != (*this)->getBlock() ||
      !llvm::equal(getValues(), collective->getResults()))
    return emitOpError("takes all results, in order, of one started collective of its block"); // C1
  for (Value kept : getKept())
    if (!llvm::is_contained(collective->getOperands(), kept))
      return emitOpError("keeps a value that its collective doesn't read"); // C2
  if (getResultTypes() != getValues().getTypes())
    return emitOpError("must return values of the types that it takes"); // C3
  return success();
}

/// A started collective is waited for once, before anything reads its results. What starts in the
/// last micro-batch reads sums of a loop.
LogicalResult RtDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kInLast && (!op->hasAttr(kStarted) || !lastMaker(op)))
    return op->emitOpError() << "'" << kInLast
                             << "' is an attribute of started collectives that read "
                             << "what a loop over micro-batches makes";
  if (attribute.getName() != kStarted)
    return success();
  if (!spmd::isCollective(op) || !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError() << "'" << kStarted << "' is a unit attribute of collectives";
  bool isAwaited = op->getNumResults() > 0 && llvm::all_of(op->getResults(), [&](Value result) {
                     return result.hasOneUse() && isa<WaitOp>(*result.user_begin());
                   });
  if (!isAwaited)
    return op->emitOpError("is started, so one rt.wait must be all that reads its results");
  return success();
}
