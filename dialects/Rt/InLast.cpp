//===- InLast.cpp - Collectives that start in the last micro-batch --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Rt/InLast.h"

using namespace mlir;
using namespace ptlc;

Operation *rt::lastMaker(Operation *collective) {
  Operation *loop = nullptr, *last = nullptr;
  for (Value operand : collective->getOperands()) {
    auto made = operand.getDefiningOp<ptl::AccumulateOp>();
    if (!made || (loop && loop != made))
      return nullptr;
    loop = made;
    Block &body = made.getBody().front();
    Value value = body.getTerminator()->getOperand(cast<OpResult>(operand).getResultNumber());
    Operation *maker = value.getDefiningOp();
    while (isa_and_nonnull<ptl::ReshapeOp, ptl::StopGradientOp>(maker))
      maker = maker->getOperand(0).getDefiningOp();
    if (!maker || maker->getBlock() != &body)
      return nullptr;
    if (!last || last->isBeforeInBlock(maker))
      last = maker;
  }
  return last;
}
