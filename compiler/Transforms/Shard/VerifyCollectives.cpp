//===- VerifyCollectives.cpp - What moves do to shardings -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/ShardingVerifier.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace ptlc::shard;
using namespace mlir;

StringRef shard::cutsName(Operation *op) { return isa<spmd::MaskOp>(op) ? "cuts" : "cut"; }

spmd::CutsAttr shard::cutsOf(Operation *op) {
  return op->getAttrOfType<spmd::CutsAttr>(cutsName(op));
}

namespace {
/// The sharding after one move, from its own attributes only.
class Move {
public:
  Move(const Mesh &mesh, Operation *op, const Part &part)
      : mesh(mesh), op(op), part(part), now(part.sharding) {}

  FailureOr<Sharding> after();

private:
  LogicalResult readAxes();
  std::optional<unsigned> dimOf(StringRef name);
  InFlightDiagnostic needs(const Twine &what);
  LogicalResult beFree();
  LogicalResult fold(ptl::FoldKind kind);
  LogicalResult remove(StringRef dim);
  LogicalResult append(StringRef dim);
  LogicalResult permute(spmd::PermuteOp op);

  const Mesh &mesh;
  Operation *op;
  const Part &part;
  Sharding now;
  AxisList axes;
};
} // namespace

InFlightDiagnostic Move::needs(const Twine &what) {
  return wrong(op) << "over " << listText(mesh, axes) << " needs a value " << what
                   << "; this one is " << toString(mesh, part.sharding);
}

LogicalResult Move::readAxes() {
  for (StringAttr name : op->getAttrOfType<spmd::AxesAttr>("axes").getNames()) {
    int axis = mesh.find(name.getValue());
    if (axis < 0 || llvm::is_contained(axes, AxisId(axis)))
      return wrong(op) << "names the axis '" << name.getValue()
                       << "', which the mesh lacks or which it named before";
    axes.push_back(axis);
  }
  return success();
}

std::optional<unsigned> Move::dimOf(StringRef name) {
  return ptl::findDim(part.global.getType(), name);
}

LogicalResult Move::beFree() {
  return (now.used() | now.partial) & setOf(axes) ? LogicalResult(needs("without them"))
                                                  : success();
}

LogicalResult Move::fold(ptl::FoldKind kind) {
  bool pending = (setOf(axes) & ~now.partial) == 0;
  if (!pending || now.kind != static_cast<Fold>(kind))
    return needs("that waits for their " + ptl::stringifyFoldKind(kind));
  now = now.withPartial(now.partial & ~setOf(axes));
  return success();
}

LogicalResult Move::remove(StringRef dim) {
  std::optional<unsigned> at = dimOf(dim);
  AxisList *list = at ? &now.dims[*at] : nullptr;
  if (!list || ArrayRef<AxisId>(*list).take_back(axes.size()) != ArrayRef<AxisId>(axes))
    return needs("whose '" + dim + "' they cut last");
  list->truncate(list->size() - axes.size());
  return success();
}

LogicalResult Move::append(StringRef dim) {
  std::optional<unsigned> at = dimOf(dim);
  if (!at)
    return needs("with the dimension '" + dim + "'");
  now.dims[*at].append(axes);
  return success();
}

/// The axes of which a rank and the one that it receives from may have different coordinates.
static AxisSet axesThatMove(const Mesh &mesh, ArrayRef<AxisId> before, ArrayRef<AxisId> after) {
  AxisSet axes = 0;
  for (size_t i = 0; i < before.size(); i++)
    if (before[i] != after[i] ||
        mesh.product(before.drop_front(i)) != mesh.product(after.drop_front(i)))
      axes |= axisBit(before[i]) | axisBit(after[i]);
  return axes;
}

/// The routing is compiled from `from` and `to`; it hands on whole buffers. That these are the same
/// shards of the whole value is more than the operation itself can see.
LogicalResult Move::permute(spmd::PermuteOp permute) {
  Sharding from = fromAttribute(mesh, permute.getFrom()), to = fromAttribute(mesh, permute.getTo());
  if (from.dims != now.dims)
    return needs("that is cut as " + toString(mesh, from));
  if (now.partial & to.used())
    return needs("that waits for no axis of " + toString(mesh, to));
  auto shape = cast<RankedTensorType>(part.global.getType()).getShape();
  AxisSet moving = 0;
  for (auto [size, before, after] : llvm::zip(shape, from.dims, to.dims)) {
    if (before.size() != after.size() ||
        allExtents(mesh, size, before) != allExtents(mesh, size, after))
      return needs("whose shards are the same as " + toString(mesh, to));
    moving |= axesThatMove(mesh, before, after);
  }
  if (moving != setOf(axes))
    return needs("whose shards move over them to " + toString(mesh, to));
  now.dims = to.dims;
  return success();
}

FailureOr<Sharding> Move::after() {
  if (failed(readAxes()))
    return failure();
  LogicalResult done = failure();
  if (auto gather = dyn_cast<spmd::AllGatherOp>(op)) {
    done = remove(gather.getDim());
  } else if (auto exchange = dyn_cast<spmd::AllToAllOp>(op)) {
    done = succeeded(remove(exchange.getFrom())) ? append(exchange.getTo()) : failure();
  } else if (auto slice = dyn_cast<spmd::SliceOp>(op)) {
    done = succeeded(beFree()) ? append(slice.getDim()) : failure();
  } else if (auto scatter = dyn_cast<spmd::ReduceScatterOp>(op)) {
    done = succeeded(fold(scatter.getKind())) ? append(scatter.getDim()) : failure();
  } else if (auto reduce = dyn_cast<spmd::AllReduceOp>(op)) {
    done = fold(reduce.getKind());
  } else if (auto permute = dyn_cast<spmd::PermuteOp>(op)) {
    done = this->permute(permute);
  } else {
    done = beFree();
    if (succeeded(done) && now.partial && now.kind != Fold::Sum)
      done = needs("that waits for no other fold than a sum");
    now.partial |= setOf(axes);
  }
  if (failed(done))
    return failure();
  return now;
}

LogicalResult ShardingVerifier::move(Operation *op) {
  for (unsigned i = 0; i < op->getNumOperands(); i++) {
    const Part part = parts.find(op->getOperand(i))->second;
    if (part.pieces > 1)
      return wrong(op) << "moves a field that is divided into micro-batches";
    FailureOr<Sharding> after = Move(mesh, op, part).after();
    if (failed(after) || failed(define(op, i, part.global, *after)))
      return failure();
  }
  return success();
}

/// Masks of uneven micro-batches are in the global program: there, with other axes.
bool ShardingVerifier::isPaddingMask(spmd::MaskOp op, Operation *expected) {
  auto known = dyn_cast<spmd::MaskOp>(expected);
  if (!known || parts.find(op.getX())->second.global != constrained(known.getX()) ||
      op.getFill() != known.getFill())
    return true;
  auto alike = [](spmd::CutAttr a, spmd::CutAttr b) {
    return b && a.getGlobal() == b.getGlobal() && a.getMicro() == b.getMicro();
  };
  return !llvm::all_of(known.getCuts().getCuts(), [&](spmd::CutAttr cut) {
    return alike(cut, op.getCuts().find(cut.getDim().getValue()));
  });
}

/// Only padding changes, if the mask was made for the part that a rank has.
LogicalResult ShardingVerifier::mask(spmd::MaskOp op) {
  const Part part = parts.find(op.getX())->second;
  if (part.pieces > 1)
    return wrong(op) << "moves a field that is divided into micro-batches";
  auto type = cast<RankedTensorType>(part.global.getType());
  double fill = op.getFill().convertToDouble();
  SmallVector<std::optional<double>, 4> padding(part.padding);
  padding.resize(type.getRank());
  for (std::optional<double> &known : padding)
    known = known == fill ? known : std::nullopt;
  for (spmd::CutAttr cut : op.getCuts().getCuts()) {
    std::optional<unsigned> dim = ptl::findDim(type, cut.getDim().getValue());
    spmd::CutAttr expected;
    if (dim)
      expected = spmd::CutAttr::get(
          op.getContext(), cut.getDim(), type.getDimSize(*dim),
          toAttribute(op.getContext(), mesh, part.sharding.dims[*dim]).getNames(), 1, 1);
    if (!dim || cut != expected)
      return wrong(op) << "is made for " << cut << ", the value is " << type << " under "
                       << toString(mesh, part.sharding);
    padding[*dim] = fill;
  }
  if (failed(define(op, 0, part.global, part.sharding)))
    return failure();
  parts.find(op.getResult())->second.padding = padding;
  return success();
}
