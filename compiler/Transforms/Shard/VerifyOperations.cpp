//===- VerifyOperations.cpp - Operations on parts -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Inference.h"

#include "llvm/Support/FormatVariadic.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace ptlc::shard;
using namespace mlir;

LogicalResult ShardingVerifier::operation(Operation *op, Operation *expected) {
  auto interface = dyn_cast<ShardingRuleInterface>(expected);
  SmallVector<Sharding> operands, results;
  for (Value operand : op->getOperands()) {
    const Part &part = parts.find(operand)->second;
    if (part.pieces > 1)
      return wrong(op) << "reads a field that is divided into micro-batches";
    operands.push_back(part.sharding);
  }
  if (!interface) {
    if (!llvm::all_of(operands, [](const Sharding &sharding) { return sharding.isReplicated(); }))
      return wrong(op) << "has no sharding rule, but cut operands";
    for (auto [i, result] : llvm::enumerate(expected->getResults()))
      if (failed(define(op, i, result, Sharding(ptl::getDims(result).size()))))
        return failure();
    return success();
  }
  ShardingRule rule = interface.getShardingRule();
  Inference inference(mesh, op, expected, rule);
  if (failed(inference.readOperands(operands)))
    return failure();
  for (unsigned i = 0; i < op->getNumResults(); i++) {
    FailureOr<Sharding> result = inference.result(i);
    if (failed(result) || failed(define(op, i, expected->getResult(i), *result)))
      return failure();
    results.push_back(*result);
  }
  if (failed(inference.checkCuts(operands, results)))
    return failure();
  return checkPadding(op, rule);
}

/// Whether `fill` changes nothing in a fold of elements of `type`.
static bool isIdentity(FactorKind kind, std::optional<double> fill, Type type) {
  if (!fill || (kind != FactorKind::Max && kind != FactorKind::Min))
    return fill == 0;
  double sign = kind == FactorKind::Max ? -1 : 1;
  return isa<FloatType>(type) ? *fill == sign * std::numeric_limits<double>::infinity()
                              : *fill * sign >= std::numeric_limits<int32_t>::max();
}

/// A lookup never reads rows of padding. A scatter leaves updates out whose index is negative, and
/// adds nothing if they are 0 and the index is one of a row.
LogicalResult ShardingVerifier::checkPadding(Operation *op, const ShardingRule &rule) {
  if (isa<ptl::GatherOp>(op))
    return success();
  if (auto scatter = dyn_cast<ptl::ScatterAddOp>(op)) {
    const Part &ids = parts.find(scatter.getIds())->second;
    bool negative = !ids.padding.empty();
    for (auto [dim, factors] : llvm::enumerate(rule.operands[0]))
      if (isFoldedAway(rule, factors[0]))
        negative &= !ids.padding.empty() && ids.padding[dim].value_or(0) < 0;
    if (negative)
      return success();
  }
  for (unsigned i = 0; i < op->getNumOperands(); i++)
    if (failed(checkOperandPadding(op, rule, i)))
      return failure();
  return success();
}

LogicalResult ShardingVerifier::checkOperandPadding(Operation *op, const ShardingRule &rule,
                                                    unsigned operand) {
  const Part &part = parts.find(op->getOperand(operand))->second;
  auto type = cast<RankedTensorType>(part.global.getType());
  for (auto [dim, factors] : llvm::enumerate(rule.operands[operand])) {
    if (factors.empty() || !isFoldedAway(rule, factors[0]) ||
        !isUneven(mesh, type.getDimSize(dim), part.sharding.dims[dim]))
      continue;
    std::optional<double> fill = part.padding.empty() ? std::nullopt : part.padding[dim];
    if (isIdentity(rule.factors[factors[0]].kind, fill, type.getElementType()))
      continue;
    return wrong(op) << "folds '" << ptl::getDims(type)[dim].getValue()
                     << "', whose padding in operand " << operand
                     << " should be what the fold ignores, and is "
                     << (fill ? llvm::formatv("{0}", *fill).str() : "anything");
  }
  return success();
}

/// Micro-batches divide a field before axes do; a rank's shares of all lie one behind the other.
LogicalResult ShardingVerifier::microbatch(ptl::MicrobatchOp op, ptl::MicrobatchOp expected) {
  const Part field = parts.find(op.getX())->second;
  auto type = cast<RankedTensorType>(field.global.getType());
  unsigned dim = *ptl::findDim(type, op.getDim());
  auto pieces = static_cast<int64_t>(op.getPieces());
  bool whole =
      field.pieces == 1 && field.sharding.dims[dim].empty() && type.getDimSize(dim) % pieces == 0;
  if (field.pieces != pieces && !whole)
    return wrong(op) << "takes a piece of " << pieces << ", the field lies in " << field.pieces;
  return define(op, 0, expected.getResult(), field.sharding);
}

/// Updates are element-wise: all that belongs to a weight is cut as it is.
LogicalResult ShardingVerifier::optimize(ptl::OptimizeOp op, ptl::OptimizeOp expected) {
  size_t count = op.getWeights().size();
  size_t scalars = 2 * count + op.getStates().size();
  auto sharding = [&](Value value) { return parts.find(value)->second.sharding; };
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    Sharding needed = i < scalars ? sharding(op.getWeights()[i % count]) : Sharding(0);
    if (sharding(value) != needed || needed.partial)
      return wrong(op) << "needs operand " << i << " finished and under " << toString(mesh, needed)
                       << "; found " << toString(mesh, sharding(value));
  }
  for (auto [i, result] : llvm::enumerate(expected.getResults()))
    if (failed(define(op, i, result, sharding(op.getWeights()[i % count]))))
      return failure();
  return success();
}
