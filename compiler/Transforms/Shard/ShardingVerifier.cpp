//===- ShardingVerifier.cpp - Is a rank's program the global one? ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The structure: with moves and masks erased, the local code must be the global
// program, operation by operation, with its attributes and operands.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/ShardingVerifier.h"

#include "compiler/Transforms/Shard/Attributes.h"
#include "llvm/Support/MathExtras.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace ptlc::shard;
using namespace mlir;

static constexpr llvm::StringLiteral kBatch = "batch";

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

InFlightDiagnostic shard::wrong(Operation *op) {
  return emitError(op->getLoc()) << "internal error: partitioned program is wrong: '"
                                 << op->getName() << "' ";
}

std::string shard::listText(const Mesh &mesh, ArrayRef<AxisId> axes) {
  // An attribute may name an axis that there isn't.
  bool known = llvm::all_of(axes, [&](AxisId axis) { return axis < mesh.size(); });
  return known ? "[" + axesText(mesh, axes) + "]" : "[an unknown axis]";
}

Value shard::constrained(Value value) {
  while (auto op = value.getDefiningOp<spmd::ConstrainOp>())
    value = op.getX();
  return value;
}

/// A value without the attribute isn't cut.
Sharding ShardingVerifier::readSharding(Attribute attribute, Value value) const {
  auto sharding = dyn_cast_or_null<spmd::ShardingAttr>(attribute);
  return sharding ? fromAttribute(mesh, sharding) : Sharding(typeOf(value).getRank());
}

LogicalResult ShardingVerifier::run(func::FuncOp globalFunction, func::FuncOp localFunction) {
  global = globalFunction;
  local = localFunction;
  parts.clear();
  shares.clear();
  kept.clear();
  if (global.isExternal() && local.isExternal())
    return success();
  if (failed(arguments()))
    return failure();
  return block(global.getBody().front(), local.getBody().front());
}

/// Whether two dictionaries are equal but for the entries `own`, which partitioning adds or drops.
static bool areEqual(DictionaryAttr a, DictionaryAttr b, ArrayRef<StringRef> own) {
  auto entries = [&](DictionaryAttr dictionary) {
    return llvm::make_filter_range(
        dictionary ? dictionary.getValue() : ArrayRef<NamedAttribute>(),
        [&](NamedAttribute entry) { return !llvm::is_contained(own, entry.getName().getValue()); });
  };
  return llvm::equal(entries(a), entries(b));
}

static StringRef textOf(DictionaryAttr attributes, StringRef name) {
  auto text = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return text ? text.getValue() : StringRef();
}

/// What stays from step to step: the role and path of a weight or state; else nothing.
static std::string keptName(DictionaryAttr attributes) {
  StringRef role = textOf(attributes, "ptl.role");
  bool kept = role == "weight" || role == "state";
  return kept ? (role + " " + textOf(attributes, "ptl.path")).str() : "";
}

/// Returns the type of a rank's share of `value`, an argument of `pieces` micro-batches.
static Type argumentType(const Mesh &mesh, Value value, const Part &part) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t, 4> shape = localShape(mesh, type.getShape(), part.sharding);
  if (std::optional<unsigned> batch = ptl::findDim(type, kBatch); batch && part.pieces > 1) {
    int64_t piece = llvm::divideCeil(type.getDimSize(*batch), part.pieces);
    shape[*batch] = part.pieces * localLength(mesh, piece, part.sharding.dims[*batch]);
  }
  return ptl::getTensorType(shape, type.getElementType(), ptl::getDims(type));
}

LogicalResult ShardingVerifier::arguments() {
  if (global.getNumArguments() != local.getNumArguments() ||
      global.getNumResults() != local.getNumResults())
    return wrong(local) << "'" << local.getName() << "' should have " << global.getNumArguments()
                        << " arguments and " << global.getNumResults() << " results";
  for (auto [i, argument] : llvm::enumerate(global.getArguments())) {
    DictionaryAttr attributes = global.getArgAttrDict(i);
    if (!areEqual(attributes, local.getArgAttrDict(i), {kPieces, kGlobalType}))
      return wrong(local) << "'" << local.getName() << "' declares argument " << i
                          << " otherwise than the global program";
    Part part{argument, readSharding(global.getArgAttr(i, kSharding), argument), {}};
    if (auto pieces = local.getArgAttrOfType<IntegerAttr>(i, kPieces))
      part.pieces = pieces.getInt();
    auto stated = local.getArgAttrOfType<TypeAttr>(i, kGlobalType);
    Type type = argumentType(mesh, argument, part), found = local.getArgument(i).getType();
    if (found != type || part.sharding.partial ||
        (stated && stated.getValue() != argument.getType()))
      return wrong(local) << "argument " << i << " of '" << local.getName() << "' should be "
                          << type << ", a part of " << argument.getType() << " under "
                          << toString(mesh, part.sharding) << "; found " << found;
    parts[local.getArgument(i)] = part;
    kept[keptName(attributes)] = i;
  }
  return success();
}

LogicalResult ShardingVerifier::block(Block &globalBlock, Block &localBlock) {
  auto next = globalBlock.begin();
  for (Operation &op : localBlock) {
    while (next != globalBlock.end() && isa<spmd::ConstrainOp>(*next))
      ++next;
    if (next == globalBlock.end())
      return wrong(&op) << "isn't in the global program";
    bool matched = false;
    if (failed(visit(&op, &*next, matched)))
      return failure();
    if (matched)
      ++next;
  }
  return success();
}

static bool isMove(Operation *op) {
  return isa<spmd::AllReduceOp, spmd::AllGatherOp, spmd::ReduceScatterOp, spmd::AllToAllOp,
             spmd::PermuteOp, spmd::SliceOp, spmd::KeepOp>(op);
}

LogicalResult ShardingVerifier::visit(Operation *op, Operation *expected, bool &matched) {
  if (auto whole = dyn_cast<ptl::GlobalNormOp>(expected))
    if (!isa<spmd::SpmdDialect>(op->getDialect()) || isa<spmd::SquareSumOp, spmd::RootOp>(op) ||
        shares.contains(op->getOperand(0)))
      return norm(op, whole, matched);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!parts.contains(operand))
      return wrong(op) << "uses a part of a norm as operand " << i;
  if (isMove(op))
    return move(op);
  if (auto padding = dyn_cast<spmd::MaskOp>(op); padding && isPaddingMask(padding, expected))
    return mask(padding);
  matched = true;
  return match(op, expected);
}

LogicalResult ShardingVerifier::match(Operation *op, Operation *expected) {
  if (op->getName() != expected->getName()) {
    InFlightDiagnostic error = wrong(op) << "stands where the global program has '"
                                         << expected->getName() << "'";
    error.attachNote(expected->getLoc()) << "that operation";
    return error;
  }
  if (failed(sameAttributes(op, expected)) || failed(sameOperands(op, expected)))
    return failure();
  if (auto region = dyn_cast<ptl::AccumulateOp>(op))
    return accumulate(region, cast<ptl::AccumulateOp>(expected));
  if (auto terminator = dyn_cast<func::ReturnOp>(op))
    return results(terminator);
  if (auto piece = dyn_cast<ptl::MicrobatchOp>(op))
    return microbatch(piece, cast<ptl::MicrobatchOp>(expected));
  if (auto update = dyn_cast<ptl::OptimizeOp>(op))
    return optimize(update, cast<ptl::OptimizeOp>(expected));
  return isa<ptl::YieldOp>(op) ? success() : operation(op, expected);
}

/// Cuts are checked with the sharding rule.
LogicalResult ShardingVerifier::sameAttributes(Operation *op, Operation *expected) {
  // Most operations differ in nothing, which is seen without making dictionaries.
  if (op->getName().compareOpProperties(op->getPropertiesStorage(),
                                        expected->getPropertiesStorage()) &&
      areEqual(expected->getDiscardableAttrDictionary(), op->getDiscardableAttrDictionary(),
               {kShardings, kOrigins}))
    return success();
  DictionaryAttr want = expected->getAttrDictionary(), have = op->getAttrDictionary();
  if (areEqual(want, have, {kShardings, kOrigins, cutsName(op)}))
    return success();
  InFlightDiagnostic error = wrong(op) << "should have the attributes " << want << ", has " << have;
  error.attachNote(expected->getLoc()) << "as in the global program";
  return error;
}

LogicalResult ShardingVerifier::sameOperands(Operation *op, Operation *expected) {
  if (op->getNumOperands() != expected->getNumOperands() ||
      op->getNumResults() != expected->getNumResults())
    return wrong(op) << "should have " << expected->getNumOperands() << " operands and "
                     << expected->getNumResults() << " results";
  for (auto [i, operand, value] : llvm::enumerate(op->getOperands(), expected->getOperands())) {
    Value want = constrained(value);
    if (parts.find(operand)->second.global == want)
      continue;
    InFlightDiagnostic error = wrong(op)
                               << "has another operand " << i << " than in the global program";
    error.attachNote(want.getLoc()) << "there it is this value";
    return error;
  }
  return success();
}

LogicalResult ShardingVerifier::define(Operation *op, unsigned result, Value value,
                                       const Sharding &sharding) {
  RankedTensorType type = typeOf(value);
  Type expected = ptl::getTensorType(localShape(mesh, type.getShape(), sharding),
                                     type.getElementType(), ptl::getDims(type));
  Value made = op->getResult(result);
  if (made.getType() != expected)
    return wrong(op) << "should give " << expected << " as result " << result << ", a part of "
                     << type << " under " << toString(mesh, sharding) << "; found "
                     << made.getType();
  parts[made] = Part{value, sharding, {}};
  return success();
}

/// Its sums are linear in what the body yields, so pending sums may stay pending.
LogicalResult ShardingVerifier::accumulate(ptl::AccumulateOp op, ptl::AccumulateOp expected) {
  parts[op.getPiece()] = Part{expected.getPiece(), Sharding(0), {}};
  if (failed(block(expected.getBody().front(), op.getBody().front())))
    return failure();
  Operation *yield = op.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
    const Sharding sharding = parts.find(value)->second.sharding;
    if (sharding.partial && sharding.kind != Fold::Sum)
      return wrong(yield) << "adds up value " << i << " over micro-batches, which is "
                          << toString(mesh, sharding);
    if (failed(define(op, i, expected.getResult(i), sharding)))
      return failure();
  }
  return success();
}

LogicalResult ShardingVerifier::results(func::ReturnOp op) {
  for (unsigned i = 0; i < op.getNumOperands(); i++)
    if (failed(declaredResult(op, i)))
      return failure();
  return success();
}

/// Weights and states go back as they came, logits as declared, all else whole.
LogicalResult ShardingVerifier::declaredResult(func::ReturnOp op, unsigned index) {
  const Part &part = parts.find(op.getOperand(index))->second;
  DictionaryAttr attributes = local.getResultAttrDict(index);
  if (!areEqual(global.getResultAttrDict(index), attributes, {kSharding, kGlobalType}))
    return wrong(op) << "declares result " << index << " otherwise than the global program";
  Sharding declared =
      readSharding(attributes ? attributes.get(kSharding) : Attribute(), part.global);
  bool free = textOf(attributes, "ptl.role") == "logits";
  Sharding expected = free ? declared : Sharding(declared.dims.size());
  if (auto found = kept.find(keptName(attributes)); found != kept.end() && !found->first().empty())
    expected = parts.find(local.getArgument(found->second))->second.sharding;
  if (part.sharding == declared && declared == expected && !declared.partial && part.pieces == 1)
    return success();
  return wrong(op) << "should give " << toString(mesh, expected) << " as result " << index
                   << ", which is declared as " << toString(mesh, declared) << "; found "
                   << toString(mesh, part.sharding);
}
