//===- Dialect.cpp - Registration and verifiers of the rt dialect ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Syntax.h"
#include "dialects/Rt/Rt.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ptlc::rt {
using ptl::parseDims;
using ptl::printDims;
} // namespace ptlc::rt

#include "dialects/Rt/RtDialect.cpp.inc"
#include "dialects/Rt/RtEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Rt/RtAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Rt/RtOps.cpp.inc"

using namespace ptlc;

void rt::RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Rt/RtAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Rt/RtOps.cpp.inc"
      >();
}

void rt::KernelOp::build(OpBuilder &builder, OperationState &state, TypeRange types,
                         KernelKind kind, ValueRange inputs, ArrayRef<StringAttr> iterate) {
  build(builder, state, types, kind, inputs, ptl::DimsAttr::get(builder.getContext(), iterate));
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(inputs.size(), state.location);
  builder.createBlock(state.regions.front().get(), {}, inputs.getTypes(), locations);
}

LogicalResult rt::KernelOp::verify() {
  ArrayRef<StringAttr> names = getIterate().getNames();
  for (auto [index, name] : llvm::enumerate(names))
    if (llvm::is_contained(names.take_front(index), name)) // C3
      return emitOpError() << "'" << name.getValue() << "' is iterated over twice";
  return success();
}

LogicalResult rt::KernelOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes()) // C1
    return emitOpError("the body's arguments must have the operands' types");
  auto result = dyn_cast<ReturnOp>(block.getTerminator());
  if (!result || result.getValues().getTypes() != getOutputs().getTypes()) // C2
    return emitOpError("the body must return values of the results' types");
  return success();
}
