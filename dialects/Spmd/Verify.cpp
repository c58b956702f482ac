//===- Verify.cpp - Verifiers of the spmd dialect -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Spmd/Verify.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::spmd;

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<AxesAttr> dims, ArrayRef<StringAttr> partial,
                                   ptl::FoldKind) {
  SmallVector<StringAttr> seen;
  auto add = [&](ArrayRef<StringAttr> names) -> LogicalResult {
    for (StringAttr name : names) {
      if (llvm::is_contained(seen, name))
        return emitError() << "axis '" << name.getValue() << "' occurs twice in a sharding"; // C1
      seen.push_back(name);
    }
    return success();
  };
  for (AxesAttr axes : dims)
    if (failed(add(axes.getNames())))
      return failure();
  return add(partial);
}

LogicalResult MeshOp::verify() {
  SmallVector<StringAttr> seen;
  for (AxisAttr axis : getAxisRange()) {
    if (axis.getSize() < 1)
      return emitOpError() << "axis '" << axis.getName().getValue()
                           << "' must have a size of at least 1, is " << axis.getSize();
    if (llvm::is_contained(seen, axis.getName()))
      return emitOpError() << "axis '" << axis.getName().getValue() << "' is given twice";
    if (!(axis.getByteCost() >= 1)) // C2
      return emitOpError() << "a byte costs at least 1 on the link of axis '"
                           << axis.getName().getValue() << "', not " << axis.getByteCost();
    seen.push_back(axis.getName());
  }
  return success();
}

LogicalResult spmd::verifyAxes(Operation *op, AxesAttr axes) {
  if (axes.getNames().empty())
    return op->emitOpError("needs at least one axis");
  for (auto [index, name] : llvm::enumerate(axes.getNames()))
    if (llvm::is_contained(axes.getNames().take_front(index), name))
      return op->emitOpError() << "axis '" << name.getValue() << "' is listed twice";
  return success();
}

MeshOp spmd::lookUpMesh(Operation *op, FlatSymbolRefAttr symbol, SymbolTableCollection &tables) {
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(op, symbol);
  if (!mesh)
    op->emitOpError() << "there is no mesh '" << symbol.getValue() << "'";
  return mesh;
}

LogicalResult spmd::verifyAxesOf(Operation *op, MeshOp mesh, ArrayRef<StringAttr> names) {
  for (StringAttr name : names)
    if (!mesh.getAxisSize(name.getValue()))
      return op->emitOpError() << "mesh '" << mesh.getSymName() << "' has no axis '"
                               << name.getValue() << "'";
  return success();
}

/// Returns all axes that cut a dimension.
static SmallVector<StringAttr> axesOf(ShardingAttr sharding) {
  SmallVector<StringAttr> list;
  for (AxesAttr axes : sharding.getDims())
    llvm::append_range(list, axes.getNames());
  return list;
}

/// (C3) where one dimension shrinks: `whole`, divided by `axes`, must be `part`; all else equal.
static LogicalResult verifyShard(Operation *op, MeshOp mesh, AxesAttr axes, StringAttr dim,
                                 Type whole, Type part) {
  if (!ptl::hasDim(whole, dim.getValue()) || !ptl::hasDim(part, dim.getValue()))
    return op->emitOpError() << "there is no dimension '" << dim.getValue() << "' in "
                             << ptl::printDims(ptl::getDims(whole));
  SmallVector<int64_t> sizes;
  for (StringAttr name : axes.getNames())
    sizes.push_back(*mesh.getAxisSize(name.getValue()));
  int64_t size = ptl::getDimSize(whole, dim.getValue());
  int64_t expected = nestedCeil(size, sizes);
  if (ptl::replaceDim(whole, dim, dim, expected) != part)
    return op->emitOpError() << size << " elements along '" << dim.getValue() << "' make shards of "
                             << expected << ", and nothing else changes; found " << whole << " and "
                             << part;
  return success();
}

/// (C2), then (C3) for collectives that cut or join one dimension.
template <typename OpT>
static LogicalResult verifyDimCollective(OpT op, SymbolTableCollection &tables, bool joins) {
  MeshOp mesh = lookUpMesh(op, op.getMeshAttr(), tables);
  if (!mesh || failed(verifyAxesOf(op, mesh, op.getAxes().getNames())))
    return failure();
  Type whole = op.getX().getType(), part = op.getResult().getType();
  if (joins)
    std::swap(whole, part);
  return verifyShard(op, mesh, op.getAxes(), op.getDimAttr(), whole, part);
}

LogicalResult AllReduceOp::verify() {
  if (getInputs().getTypes() != getOutputs().getTypes()) // C3
    return emitOpError("results must have the types of the operands");
  if (ArrayAttr members = getMembersAttr(); members && members.size() != getInputs().size()) // C4
    return emitOpError() << "has " << members.size() << " members for " << getInputs().size()
                         << " operands";
  return verifyAxes(*this, getAxes());
}
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &tables) {
  MeshOp mesh = lookUpMesh(*this, getMeshAttr(), tables);
  return success(mesh && succeeded(verifyAxesOf(*this, mesh, getAxes().getNames())));
}

LogicalResult AllGatherOp::verify() { return verifyAxes(*this, getAxes()); }
LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyDimCollective(*this, tables, /*joins=*/true);
}
LogicalResult ReduceScatterOp::verify() { return verifyAxes(*this, getAxes()); }
LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyDimCollective(*this, tables, /*joins=*/false);
}
LogicalResult SliceOp::verify() { return verifyAxes(*this, getAxes()); }
LogicalResult SliceOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyDimCollective(*this, tables, /*joins=*/false);
}

LogicalResult AllToAllOp::verify() {
  if (getFrom() == getTo())
    return emitOpError("needs two different dimensions"); // C3
  for (StringAttr dim : {getFromAttr(), getToAttr()})
    if (!ptl::hasDim(getX(), dim.getValue()))
      return emitOpError() << "there is no dimension '" << dim.getValue() << "' in "
                           << ptl::printDims(ptl::getDims(getX()));
  return verifyAxes(*this, getAxes());
}
LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &tables) {
  MeshOp mesh = lookUpMesh(*this, getMeshAttr(), tables);
  if (!mesh || failed(verifyAxesOf(*this, mesh, getAxes().getNames())))
    return failure();
  // The type between: `from` whole, `to` not yet cut.
  Type result = getResult().getType();
  if (!ptl::hasDim(result, getFrom()))
    return emitOpError() << "there is no dimension '" << getFrom() << "' in the result";
  Type between = ptl::replaceDim(getX().getType(), getFromAttr(), getFromAttr(),
                                 ptl::getDimSize(result, getFrom()));
  if (failed(verifyShard(*this, mesh, getAxes(), getFromAttr(), between, getX().getType())))
    return failure();
  return verifyShard(*this, mesh, getAxes(), getToAttr(), between, result);
}

LogicalResult PermuteOp::verify() {
  if (getX().getType() != getResult().getType())
    return emitOpError("the result must have the operand's type"); // C3
  size_t rank = cast<RankedTensorType>(getX().getType()).getRank();
  for (ShardingAttr sharding : {getFrom(), getTo()}) {
    if (sharding.getDims().size() != rank) // C4
      return emitOpError() << "a sharding of " << sharding.getDims().size()
                           << " dimensions for a value of " << rank;
    if (sharding.isPartial())
      return emitOpError("what is pending can't be in a permute");
  }
  return verifyAxes(*this, getAxes());
}

/// Number of shards behind those that axis `place` of a list tells apart.
static int64_t shardsFrom(MeshOp mesh, ArrayRef<StringAttr> list, size_t place) {
  int64_t product = 1;
  for (StringAttr name : list.drop_front(place))
    product *= *mesh.getAxisSize(name.getValue());
  return product;
}

/// (C4) of one dimension; adds the axes that (C5) speaks of.
static LogicalResult verifyMoved(PermuteOp op, MeshOp mesh, unsigned dim,
                                 llvm::SetVector<StringAttr> &moved) {
  ArrayRef<StringAttr> from = op.getFrom().getAxes(dim), to = op.getTo().getAxes(dim);
  if (from.size() != to.size() || shardsFrom(mesh, from, 0) != shardsFrom(mesh, to, 0))
    return op.emitOpError() << "dimension " << dim << " isn't cut into the same shards";
  for (size_t i = 0; i < from.size(); i++)
    if (from[i] != to[i] || shardsFrom(mesh, from, i) != shardsFrom(mesh, to, i)) {
      moved.insert(from[i]);
      moved.insert(to[i]);
    }
  return success();
}

/// (C6).
static LogicalResult verifyBijection(PermuteOp op, MeshOp mesh) {
  auto sizesOf = [&](ShardingAttr in, ShardingAttr notIn) {
    SmallVector<int64_t> sizes;
    for (StringAttr name : axesOf(in))
      if (!llvm::is_contained(axesOf(notIn), name))
        sizes.push_back(*mesh.getAxisSize(name.getValue()));
    llvm::sort(sizes);
    return sizes;
  };
  if (sizesOf(op.getFrom(), op.getTo()) != sizesOf(op.getTo(), op.getFrom()))
    return op.emitOpError("the axes that are only in 'from' must have the sizes of those that are "
                          "only in 'to'");
  return success();
}

LogicalResult PermuteOp::verifySymbolUses(SymbolTableCollection &tables) {
  MeshOp mesh = lookUpMesh(*this, getMeshAttr(), tables);
  if (!mesh || failed(verifyAxesOf(*this, mesh, getAxes().getNames())) ||
      failed(verifyAxesOf(*this, mesh, axesOf(getFrom()))) ||
      failed(verifyAxesOf(*this, mesh, axesOf(getTo()))))
    return failure();
  llvm::SetVector<StringAttr> moved;
  for (unsigned dim = 0; dim < getFrom().getDims().size(); dim++)
    if (failed(verifyMoved(*this, mesh, dim, moved)))
      return failure();
  ArrayRef<StringAttr> names = getAxes().getNames();
  if (moved.size() != names.size() ||
      !llvm::all_of(names, [&](StringAttr name) { return moved.contains(name); })) // C5
    return emitOpError() << "moves shards over " << ptl::printDims(moved.getArrayRef())
                         << ", not over " << ptl::printDims(names);
  return verifyBijection(*this, mesh);
}

LogicalResult KeepOp::verify() {
  if (getX().getType() != getResult().getType())
    return emitOpError("the result must have the operand's type"); // C3
  return verifyAxes(*this, getAxes());
}
LogicalResult KeepOp::verifySymbolUses(SymbolTableCollection &tables) {
  MeshOp mesh = lookUpMesh(*this, getMeshAttr(), tables);
  return success(mesh && succeeded(verifyAxesOf(*this, mesh, getAxes().getNames())));
}

LogicalResult MaskOp::verify() {
  if (getX().getType() != getResult().getType())
    return emitOpError("the result must have the operand's type"); // C1
  if (getCuts().getCuts().empty())
    return emitOpError("needs at least one cut dimension"); // C2
  for (CutAttr cut : getCuts().getCuts())
    if (!ptl::hasDim(getX(), cut.getDim().getValue()))
      return emitOpError() << "there is no dimension '" << cut.getDim().getValue() << "' in "
                           << ptl::printDims(ptl::getDims(getX()));
  return success();
}
LogicalResult MaskOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (llvm::all_of(getCuts().getCuts(), [](CutAttr cut) { return cut.getAxes().empty(); }))
    return success();
  MeshOp mesh = lookUpMesh(*this, getMeshAttr(), tables);
  if (!mesh)
    return failure();
  for (CutAttr cut : getCuts().getCuts())
    if (failed(verifyAxesOf(*this, mesh, cut.getAxes())))
      return failure();
  return success();
}

LogicalResult ConstrainOp::verify() {
  if (getBy().empty() || llvm::any_of(getBy(), [](int64_t place) { return place < 0; }))
    return emitOpError("needs places of the plan's rules, none of them negative"); // C2
  return success();
}

ShardingRule ConstrainOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors dims;
  auto type = cast<RankedTensorType>(getX().getType());
  for (auto [name, size] : llvm::zip_equal(ptl::getDims(type), type.getShape()))
    dims.push_back({rule.add(name, size)});
  rule.operands.push_back(dims);
  rule.results.push_back(dims);
  rule.linearity = Linearity::All;
  rule.linearOperands = {0};
  return rule;
}

LogicalResult ConstrainOp::buildGradient(OpBuilder &builder, ArrayRef<Value> gradResults,
                                         ArrayRef<bool>, MutableArrayRef<Value> grads) {
  grads[0] = ConstrainOp::create(builder, getLoc(), gradResults[0], getBy(), getHeld());
  return success();
}

/// Element-wise; where a device's part of a masked dimension lies matters.
ShardingRule MaskOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors dims;
  auto type = cast<RankedTensorType>(getX().getType());
  for (auto [name, size] : llvm::zip_equal(ptl::getDims(type), type.getShape())) {
    unsigned factor = rule.add(name, size);
    dims.push_back({factor});
    if (getCuts().find(name.getValue()))
      rule.positional.push_back(factor);
  }
  rule.operands.push_back(dims);
  rule.results.push_back(dims);
  if (getFill().isZero()) {
    rule.linearity = Linearity::All;
    rule.linearOperands = {0};
  }
  return rule;
}
