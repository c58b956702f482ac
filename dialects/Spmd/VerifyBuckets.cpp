//===- VerifyBuckets.cpp - Verifiers of operations on buckets -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Spmd/Spmd.h"
#include "dialects/Spmd/Verify.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::spmd;

static bool isSum(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() == 1 && tensor.getDimSize(0) == kSumDigits &&
         tensor.getElementType().isSignlessInteger(64);
}

/// (C2), (C3).
template <typename OpT>
static LogicalResult verifyBucket(OpT op, SymbolTableCollection &tables, TypeRange tensors) {
  MeshOp mesh = lookUpMesh(op, op.getMeshAttr(), tables);
  if (!mesh || failed(verifyAxesOf(op, mesh, op.getAxes().getNames())))
    return failure();
  auto part = cast<RankedTensorType>(op.getPart().getType());
  if (part.getRank() != 1)
    return op.emitOpError() << "the part of a bucket must be flat, not " << part;
  int64_t elements = 0;
  for (Type type : tensors) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getElementType() != part.getElementType())
      return op.emitOpError() << "a bucket of " << part.getElementType() << " can't hold "
                              << tensor;
    elements += tensor.getNumElements();
  }
  int64_t room = part.getNumElements() * groupSize(mesh, op.getAxes());
  if (room < elements)
    return op.emitOpError() << "the parts have room for " << room << " elements, the bucket has "
                            << elements;
  return success();
}

LogicalResult BucketReduceScatterOp::verify() {
  if (ArrayAttr members = getMembersAttr(); members && members.size() != getInputs().size()) // C4
    return emitOpError() << "has " << members.size() << " members for " << getInputs().size()
                         << " operands";
  return verifyAxes(*this, getAxes());
}
LogicalResult BucketReduceScatterOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyBucket(*this, tables, getInputs().getTypes());
}
LogicalResult BucketSliceOp::verify() { return verifyAxes(*this, getAxes()); }
LogicalResult BucketSliceOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyBucket(*this, tables, getInputs().getTypes());
}
LogicalResult BucketAllGatherOp::verify() { return verifyAxes(*this, getAxes()); }
LogicalResult BucketAllGatherOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyBucket(*this, tables, getOutputs().getTypes());
}

void SquareSumOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs,
                        ArrayRef<Attribute> members) {
  Type sum =
      ptl::getTensorType({kSumDigits}, builder.getI64Type(), {builder.getStringAttr("digits")});
  SmallVector<Attribute> lists(members);
  lists.resize(inputs.size(), builder.getArrayAttr({}));
  build(builder, state, sum, inputs, builder.getArrayAttr(lists));
}

LogicalResult SquareSumOp::verify() {
  if (!isSum(getSum().getType()))
    return emitOpError() << "the result must be " << kSumDigits << " integers of 64 bits"; // C1
  if (getMembers().size() != getInputs().size())
    return emitOpError() << "has " << getMembers().size() << " lists of members for "
                         << getInputs().size() << " operands"; // C2
  return success();
}

LogicalResult RootOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  if (!llvm::all_of(getSums().getTypes(), isSum) || result.getRank() ||
      !isa<FloatType>(result.getElementType()))
    return emitOpError() << "takes sums of " << kSumDigits
                         << " integers of 64 bits and returns a float scalar"; // C1
  return success();
}
