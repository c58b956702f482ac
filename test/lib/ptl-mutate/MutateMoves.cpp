//===- MutateMoves.cpp - Wrong collectives --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "test/lib/ptl-mutate/Mutations.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::mutate;

bool mutate::isMove(Operation *op) {
  return isa<spmd::AllReduceOp, spmd::AllGatherOp, spmd::ReduceScatterOp, spmd::AllToAllOp,
             spmd::PermuteOp, spmd::SliceOp, spmd::KeepOp>(op);
}

bool mutate::isStep(Operation *op) {
  return isa<ptl::PtlDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         op->getNumRegions() == 0;
}

SmallVector<StringAttr> mutate::otherAxes(spmd::MeshOp mesh, ArrayRef<StringAttr> list,
                                          StringAttr instead, bool same) {
  SmallVector<StringAttr> equal, others;
  for (spmd::AxisAttr axis : mesh.getAxisRange()) {
    if (llvm::is_contained(list, axis.getName()))
      continue;
    bool isEqual = axis.getSize() == mesh.getAxisSize(instead.getValue());
    (isEqual ? equal : others).push_back(axis.getName());
  }
  if (!same && equal.empty())
    return others;
  return equal;
}

static spmd::AxesAttr axesOf(Operation *op) { return op->getAttrOfType<spmd::AxesAttr>("axes"); }

static void setAxes(Operation *op, ArrayRef<StringAttr> names) {
  op->setAttr("axes", spmd::AxesAttr::get(op->getContext(), names));
}

static bool drop(Operation *op, spmd::MeshOp, Random &) {
  if (!isMove(op))
    return false;
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  return true;
}

/// The operation once more, on `value`.
static Operation *again(Operation *op, Value value) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfterValue(value);
  Operation *copy = builder.clone(*op);
  copy->setOperand(0, value);
  return copy;
}

static bool repeat(Operation *op, spmd::MeshOp, Random &) {
  if (!isMove(op))
    return false;
  Operation *copy = again(op, op->getResult(0));
  op->getResult(0).replaceAllUsesExcept(copy->getResult(0), copy);
  return true;
}

/// After one consumer instead of before it.
static bool misplace(Operation *op, spmd::MeshOp, Random &random) {
  if (!isa<spmd::AllReduceOp>(op))
    return false;
  SmallVector<Operation *> users;
  for (Operation *user : op->getUsers())
    if (isStep(user) && !llvm::is_contained(users, user))
      users.push_back(user);
  if (users.empty())
    return false;
  Operation *user = random.pick(users);
  user->replaceUsesOfWith(op->getResult(0), op->getOperand(0));
  Operation *copy = again(op, user->getResult(0));
  copy->getResult(0).setType(user->getResult(0).getType());
  user->getResult(0).replaceAllUsesExcept(copy->getResult(0), copy);
  return true;
}

/// Inserts behind `op` what `make` builds on its result.
template <typename Make>
static bool insert(Operation *op, spmd::MeshOp mesh, Random &random, Make make) {
  if (!isStep(op) || !ptl::isFloatTensor(op->getResult(0).getType()))
    return false;
  auto axis = cast<spmd::AxisAttr>(random.pick(mesh.getAxes().getValue()));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  Operation *added = make(builder, op->getResult(0), symbol,
                          spmd::AxesAttr::get(op->getContext(), {axis.getName()}));
  op->getResult(0).replaceAllUsesExcept(added->getResult(0), added);
  return true;
}

static bool addReduction(Operation *op, spmd::MeshOp mesh, Random &random) {
  return insert(op, mesh, random, [](OpBuilder &builder, Value x, auto symbol, auto axes) {
    auto kind = ptl::FoldKindAttr::get(builder.getContext(), ptl::FoldKind::Sum);
    return spmd::AllReduceOp::create(builder, x.getLoc(), TypeRange{x.getType()}, kind,
                                     ValueRange{x}, symbol, axes, nullptr, nullptr)
        .getOperation();
  });
}

static bool addKeep(Operation *op, spmd::MeshOp mesh, Random &random) {
  return insert(op, mesh, random, [](OpBuilder &builder, Value x, auto symbol, auto axes) {
    return spmd::KeepOp::create(builder, x.getLoc(), x.getType(), x, symbol, axes).getOperation();
  });
}

static bool changeAxis(Operation *op, spmd::MeshOp mesh, Random &random) {
  if (!isMove(op))
    return false;
  SmallVector<StringAttr> names(axesOf(op).getNames());
  size_t place = random.below(names.size());
  SmallVector<StringAttr> others = otherAxes(mesh, names, names[place], /*same=*/true);
  if (others.empty())
    return false;
  names[place] = random.pick(others);
  setAxes(op, names);
  return true;
}

/// Axes of size 1 don't exist, so this changes sizes, too, where there are any.
static bool loseAxis(Operation *op, spmd::MeshOp, Random &random) {
  if (!isMove(op) || axesOf(op).getNames().size() < 2)
    return false;
  SmallVector<StringAttr> names(axesOf(op).getNames());
  names.erase(names.begin() + random.below(names.size()));
  setAxes(op, names);
  return true;
}

static bool reorderAxes(Operation *op, spmd::MeshOp, Random &) {
  if (!isMove(op) || axesOf(op).getNames().size() < 2)
    return false;
  SmallVector<StringAttr> names(axesOf(op).getNames());
  std::reverse(names.begin(), names.end());
  setAxes(op, names);
  return true;
}

static bool changeDim(Operation *op, spmd::MeshOp mesh, Random &random) {
  auto dim = op->getAttrOfType<StringAttr>("dim");
  auto dims = op->getNumOperands() ? ptl::getDims(op->getOperand(0)) : ArrayRef<StringAttr>();
  if (!isMove(op) || !dim || dims.size() < 2)
    return false;
  StringAttr other = random.pick(dims);
  if (other == dim)
    return false;
  SmallVector<int64_t> sizes;
  for (StringAttr name : axesOf(op).getNames())
    sizes.push_back(*mesh.getAxisSize(name.getValue()));
  Type type = op->getOperand(0).getType();
  int64_t size = ptl::getDimSize(type, other.getValue());
  for (int64_t count : isa<spmd::AllGatherOp>(op) ? sizes : SmallVector<int64_t>())
    size *= count;
  if (!isa<spmd::AllGatherOp>(op))
    size = spmd::nestedCeil(size, sizes);
  op->setAttr("dim", other);
  op->getResult(0).setType(ptl::replaceDim(type, other, other, size));
  return true;
}

/// The exchange the other way round, where types allow it.
static bool changeRoute(Operation *op, spmd::MeshOp, Random &) {
  if (auto permute = dyn_cast<spmd::PermuteOp>(op)) {
    spmd::ShardingAttr from = permute.getFrom();
    permute.setFromAttr(permute.getTo());
    permute.setToAttr(from);
    return true;
  }
  auto exchange = dyn_cast<spmd::AllToAllOp>(op);
  if (!exchange)
    return false;
  StringAttr from = exchange.getFromAttr();
  exchange.setFromAttr(exchange.getToAttr());
  exchange.setToAttr(from);
  return true;
}

/// Shards go to other places of the same axes.
static bool reorderRoute(Operation *op, spmd::MeshOp, Random &random) {
  auto permute = dyn_cast<spmd::PermuteOp>(op);
  if (!permute)
    return false;
  SmallVector<spmd::AxesAttr> dims(permute.getTo().getDims());
  SmallVector<StringAttr> names;
  for (spmd::AxesAttr dim : dims)
    names.append(dim.getNames().begin(), dim.getNames().end());
  random.shuffle(names);
  size_t place = 0;
  for (spmd::AxesAttr &dim : dims) {
    size_t count = dim.getNames().size();
    dim = spmd::AxesAttr::get(op->getContext(), ArrayRef(names).slice(place, count));
    place += count;
  }
  auto to = spmd::ShardingAttr::get(op->getContext(), dims, {}, ptl::FoldKind::Sum);
  if (to == permute.getTo())
    return false;
  permute.setToAttr(to);
  return true;
}

static bool changeFold(Operation *op, spmd::MeshOp, Random &random) {
  if (!isa<spmd::AllReduceOp, spmd::ReduceScatterOp>(op))
    return false;
  SmallVector<ptl::FoldKind> kinds = {ptl::FoldKind::Sum, ptl::FoldKind::Max, ptl::FoldKind::Min};
  llvm::erase(kinds, op->getAttrOfType<ptl::FoldKindAttr>("kind").getValue());
  op->setAttr("kind", ptl::FoldKindAttr::get(op->getContext(), random.pick(kinds)));
  return true;
}

static constexpr Mutation kMutations[] = {
    {"drop a move", drop},
    {"repeat a move", repeat},
    {"reduce after the consumer", misplace},
    {"reduce what is whole", addReduction},
    {"keep what is whole", addKeep},
    {"move over another axis", changeAxis},
    {"move over an axis less", loseAxis},
    {"move over reordered axes", reorderAxes},
    {"move another dimension", changeDim},
    {"exchange the other way", changeRoute},
    {"exchange by another route", reorderRoute},
    {"reduce by another fold", changeFold},
};

ArrayRef<Mutation> mutate::moveMutations() { return kMutations; }
