//===- Orders.h - The pipeline that the plan asks for -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_STAGE_ORDERS_H
#define PTLC_COMPILER_TRANSFORMS_STAGE_ORDERS_H

#include "compiler/Schedule/Orders.h"
#include "mlir/IR/BuiltinOps.h"

namespace ptlc::stage {

/// The place of the plan's `pipeline`, for messages.
mlir::Location placeOf(mlir::DictionaryAttr pipeline);

/// Ranks, chunks, placement and order of computations as the plan's `pipeline` says. Fails with a
/// message at its line.
mlir::FailureOr<schedule::Orders> ordersOf(mlir::ModuleOp module, mlir::DictionaryAttr pipeline);

} // namespace ptlc::stage

#endif // PTLC_COMPILER_TRANSFORMS_STAGE_ORDERS_H
