//===- VerifyReductions.cpp - Verifiers of folds, gathers and training ops ===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Infer.h"
#include "dialects/Ptl/Verify.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

/// Common dimensions of two values have one size.
static LogicalResult verifyAligned(Operation *op, Value a, Value b) {
  for (StringAttr dim : getDims(a)) {
    if (!hasDim(b, dim.getValue()))
      continue;
    int64_t left = getDimSize(a, dim.getValue()), right = getDimSize(b, dim.getValue());
    if (left != right)
      return op->emitOpError() << "sizes of '" << dim.getValue() << "' differ: " << left << " and "
                               << right;
  }
  return success();
}

static LogicalResult verifyIds(Operation *op, Value ids) {
  if (elementType(ids).isInteger(32))
    return success();
  return op->emitOpError() << "indices must be i32, are " << elementType(ids);
}

LogicalResult GatherOp::verify() {
  if (failed(expectDim(*this, "table", getTable().getType(), getDim()))) // C1
    return failure();
  if (hasDim(getIds(), getDim()))
    return emitOpError() << "indices have the dimension '" << getDim() << "' that they index"; // C1
  if (failed(verifyIds(*this, getIds())) ||
      failed(verifyAligned(*this, getTable(), getIds()))) // C2
    return failure();
  return expectType(*this, "result",
                    inferGather(getTable().getType(), getIds().getType(), getDimAttr()),
                    getResult().getType()); // C3
}

LogicalResult ScatterAddOp::verify() {
  if (failed(expectDim(*this, "result", getResult().getType(), getDim()))) // C1
    return failure();
  if (hasDim(getIds(), getDim()) || hasDim(getUpdates(), getDim()))
    return emitOpError() << "indices and updates can't have the dimension '" << getDim()
                         << "' that is indexed"; // C1
  if (failed(verifyAligned(*this, getIds(), getUpdates())) ||
      failed(verifyAligned(*this, getResult(), getUpdates())))
    return failure(); // C2
  SmallVector<StringAttr> needed = unionDims(getDims(getIds()), getDims(getResult()), getDimAttr());
  for (StringAttr dim : needed)
    if (failed(expectDim(*this, "updates", getUpdates().getType(), dim.getValue()))) // C2
      return failure();
  if (needed.size() != getDims(getUpdates()).size())
    return emitOpError() << "updates " << printDims(getDims(getUpdates()))
                         << " must have the dimensions " << printDims(needed); // C2
  if (getInit() &&
      failed(expectType(*this, "init", getResult().getType(), getInit().getType()))) // C3
    return failure();
  if (elementType(getResult()).isBF16()) // C4
    return emitOpError("can't add up bf16; cast it to f32 first");
  return verifyIds(*this, getIds()); // C3
}

LogicalResult DotOp::verify() {
  if (failed(expectFloat(*this, getLhs())) ||
      failed(verifyAligned(*this, getLhs(), getRhs()))) // C2
    return failure();
  if (elementType(getLhs()) != elementType(getRhs()))
    return emitOpError("operands need one element type"); // C2
  for (StringAttr dim : getOver().getNames())
    if (!hasDim(getLhs(), dim.getValue()) && !hasDim(getRhs(), dim.getValue())) // C1
      return emitOpError() << "neither operand has the summed dimension '" << dim.getValue() << "'";
  SmallVector<StringAttr> left =
      unionDims(getDims(getLhs()), getDims(getRhs()), getOver().getNames());
  ArrayRef<StringAttr> found = getDims(getResult());
  bool same = left.size() == found.size() &&
              llvm::all_of(left, [&](StringAttr dim) { return llvm::is_contained(found, dim); });
  if (!same) // C3
    return emitOpError() << "result must have the dimensions " << printDims(left)
                         << " in any order, has " << printDims(found);
  Type element = elementType(getResult());
  if (!(elementType(getLhs()).isBF16() && element.isF32())) // C4
    element = elementType(getLhs());
  Type expected = collectType(found, {getLhs(), getRhs()}, element);
  return expectType(*this, "result", expected, getResult().getType()); // C3
}

LogicalResult ReduceOp::verify() {
  ArrayRef<StringAttr> over = getOver().getNames();
  for (auto [index, dim] : llvm::enumerate(over)) {
    if (failed(expectDim(*this, "operand", getX().getType(), dim.getValue()))) // C1
      return failure();
    if (llvm::is_contained(over.take_front(index), dim))
      return emitOpError() << "dimension '" << dim.getValue() << "' is folded twice"; // C1
  }
  if (elementType(getX()).isInteger(1)) // C3
    return emitOpError("can't fold i1; cast it first");
  if (elementType(getX()).isBF16() && getKind() == FoldKind::Sum) // C3
    return emitOpError("can't add up bf16; cast it to f32 first");
  return expectType(*this, "result", withoutDims(getX().getType(), over),
                    getResult().getType()); // C2
}

LogicalResult ArgmaxOp::verify() {
  if (failed(expectDim(*this, "operand", getX().getType(), getOver()))) // C1
    return failure();
  Type expected =
      withElement(withoutDims(getX().getType(), getOverAttr()), IntegerType::get(getContext(), 32));
  return expectType(*this, "result", expected, getResult().getType()); // C2
}

LogicalResult TopKOp::verify() {
  if (failed(expectDim(*this, "operand", getX().getType(), getFrom())) || // C1
      failed(expectDim(*this, "result", getValues().getType(), getTo())))
    return failure();
  int64_t size = getDimSize(getValues(), getTo()), whole = getDimSize(getX(), getFrom());
  if (size > whole)
    return emitOpError() << "can't take " << size << " of " << whole << " elements"; // C1
  RankedTensorType expected = replaceDim(getX().getType(), getFromAttr(), getToAttr(), size);
  if (failed(expectType(*this, "result", expected, getValues().getType()))) // C2
    return failure();
  return expectType(*this, "result", withElement(expected, IntegerType::get(getContext(), 32)),
                    getIndices().getType());
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

LogicalResult AccumulateOp::verifyRegions() {
  if (int64_t(getPieces()) < 1) // C1
    return emitOpError() << "needs at least one piece, found " << int64_t(getPieces());
  Block &block = getBody().front();
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isIndex()) // C2
    return emitOpError("the body needs one argument of type index");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().getTypes() != getResults().getTypes()) // C3
    return emitOpError("the body must yield values of the results' types");
  if ((*this)->hasAttr("rt.phase")) // some results are no sums
    return success();
  for (Value result : getResults()) { // C3
    if (elementType(result).isInteger(1))
      return emitOpError("can't add up i1; cast it first");
    if (elementType(result).isBF16() && getPieces() > 1)
      return emitOpError("can't add up bf16; cast it to f32 first");
  }
  return success();
}

LogicalResult MicrobatchOp::verify() {
  if (failed(expectDim(*this, "operand", getX().getType(), getDim()))) // C1
    return failure();
  int64_t size = llvm::divideCeil(getDimSize(getX(), getDim()), int64_t(getPieces()));
  return expectType(*this, "result", replaceDim(getX().getType(), getDimAttr(), getDimAttr(), size),
                    getResult().getType()); // C2
}

LogicalResult GlobalNormOp::verify() {
  for (Value operand : getOperands())
    if (failed(expectFloat(*this, operand))) // C1
      return failure();
  if (cast<RankedTensorType>(getResult().getType()).getRank() != 0) // C2
    return emitOpError() << "result must be a scalar, is " << getResult().getType();
  return expectFloat(*this, getResult()); // C2
}

/// Whether an optimizer may have so many states per weight.
static bool mayHaveStates(OptimizerKind kind, unsigned states) {
  switch (kind) {
  case OptimizerKind::AdamW:
  case OptimizerKind::Lamb:
    return states == 2;
  case OptimizerKind::Lion:
  case OptimizerKind::Muon:
    return states == 1;
  case OptimizerKind::Sgd:
    return states <= 1;
  case OptimizerKind::Apply:
    return states == 0;
  }
  return false;
}

LogicalResult OptimizeOp::verify() {
  size_t weights = getWeights().size();
  bool same = getGrads().size() == weights && getNewWeights().getTypes() == getWeights().getTypes();
  for (size_t i = 0; i < weights && same; ++i) {
    Type gradient = getGrads()[i].getType(), weight = getWeights()[i].getType();
    same = elementType(getGrads()[i]) == elementType(getGrads()[0]) &&
           (gradient == weight || gradient == withElement(weight, BFloat16Type::get(getContext())));
  }
  if (!same)
    return emitOpError(
        "gradients (or their bf16) and new weights must have the types of the weights"); // C1
  unsigned states = getStatesPerWeight();
  if (getStates().size() != states * weights || !mayHaveStates(getKind(), states))
    return emitOpError() << "'" << stringifyOptimizerKind(getKind()) << "' can't have "
                         << getStates().size() << " states for " << weights << " weights"; // C2
  for (auto [index, state] : llvm::enumerate(getStates()))
    if (failed(expectType(*this, "state", getWeights()[index % weights].getType(),
                          state.getType()))) // C2
      return failure();
  if (getNewStates().getTypes() != getStates().getTypes())
    return emitOpError("new states must have the types of the states"); // C2
  if (getHypers().size() != hyperCount(getKind()))                      // C3
    return emitOpError() << "'" << stringifyOptimizerKind(getKind()) << "' takes "
                         << hyperCount(getKind()) << " hyper-parameters, found "
                         << getHypers().size();
  for (Value hyper : getHypers())
    if (!isFloatTensor(hyper.getType()) || cast<RankedTensorType>(hyper.getType()).getRank() != 0)
      return emitOpError() << "hyper-parameters must be float scalars, found "
                           << hyper.getType(); // C3
  if (getNames().size() != weights)            // C5
    return emitOpError() << "needs one name per weight, found " << getNames().size() << " for "
                         << weights;
  return expectType(*this, "step", getScalarType(IntegerType::get(getContext(), 64)),
                    getStep().getType()); // C4
}
