//===- Mutations.cpp - Wrong operations, offsets and masks ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-mutate/Mutations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::mutate;

static StringRef cutsName(Operation *op) { return isa<spmd::MaskOp>(op) ? "cuts" : "cut"; }

/// Replaces one of the operation's cuts by what `change` makes of it; null: it can't.
template <typename Change> static bool changeCut(Operation *op, Random &random, Change change) {
  auto cuts = op->getAttrOfType<spmd::CutsAttr>(cutsName(op));
  if (!cuts || cuts.getCuts().empty())
    return false;
  SmallVector<spmd::CutAttr> list(cuts.getCuts());
  size_t place = random.below(list.size());
  spmd::CutAttr changed = change(list[place]);
  if (!changed)
    return false;
  list[place] = changed;
  op->setAttr(cutsName(op), spmd::CutsAttr::get(op->getContext(), list));
  return true;
}

static spmd::CutAttr withAxes(spmd::CutAttr cut, ArrayRef<StringAttr> axes) {
  return spmd::CutAttr::get(cut.getContext(), cut.getDim(), cut.getGlobal(), axes, cut.getMicro(),
                            cut.getChunks());
}

static bool changeOffsetAxis(Operation *op, spmd::MeshOp mesh, Random &random) {
  return changeCut(op, random, [&](spmd::CutAttr cut) -> spmd::CutAttr {
    SmallVector<StringAttr> axes(cut.getAxes());
    if (axes.empty())
      return {};
    if (axes.size() > 1 && random.below(2)) {
      std::reverse(axes.begin(), axes.end());
      return withAxes(cut, axes);
    }
    size_t place = random.below(axes.size());
    SmallVector<StringAttr> others = otherAxes(mesh, axes, axes[place], /*same=*/false);
    if (others.empty())
      return {};
    axes[place] = random.pick(others);
    return withAxes(cut, axes);
  });
}

static bool loseOffsetAxis(Operation *op, spmd::MeshOp, Random &random) {
  return changeCut(op, random, [&](spmd::CutAttr cut) {
    return cut.getAxes().empty() ? spmd::CutAttr() : withAxes(cut, cut.getAxes().drop_back());
  });
}

static bool changeOffsetSize(Operation *op, spmd::MeshOp, Random &random) {
  return changeCut(op, random, [&](spmd::CutAttr cut) {
    int64_t size = cut.getGlobal() + (random.below(2) ? 1 : -1);
    return size < 1 ? spmd::CutAttr()
                    : spmd::CutAttr::get(cut.getContext(), cut.getDim(), size, cut.getAxes(),
                                         cut.getMicro(), cut.getChunks());
  });
}

static bool dropOffset(Operation *op, spmd::MeshOp, Random &) {
  return !isa<spmd::MaskOp>(op) && op->removeAttr("cut");
}

static bool dropMask(Operation *op, spmd::MeshOp, Random &) {
  if (!isa<spmd::MaskOp>(op))
    return false;
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  return true;
}

static bool changeFill(Operation *op, spmd::MeshOp, Random &) {
  auto mask = dyn_cast<spmd::MaskOp>(op);
  if (!mask)
    return false;
  mask.setFillAttr(
      FloatAttr::get(Float64Type::get(op->getContext()), mask.getFill().isZero() ? 1.0 : 0.0));
  return true;
}

static bool changeMaskDim(Operation *op, spmd::MeshOp, Random &random) {
  if (!isa<spmd::MaskOp>(op))
    return false;
  auto dims = ptl::getDims(op->getOperand(0));
  return changeCut(op, random, [&](spmd::CutAttr cut) {
    StringAttr dim = random.pick(dims);
    return dim == cut.getDim() ? spmd::CutAttr()
                               : spmd::CutAttr::get(cut.getContext(), dim, cut.getGlobal(),
                                                    cut.getAxes(), cut.getMicro(), cut.getChunks());
  });
}

/// Another value of the same type, made earlier.
static bool changeOperand(Operation *op, spmd::MeshOp, Random &random) {
  if (op->getNumOperands() == 0 || isa<func::FuncOp>(op))
    return false;
  size_t place = random.below(op->getNumOperands());
  Value old = op->getOperand(place);
  SmallVector<Value> others;
  auto add = [&](Value value) {
    if (value != old && value.getType() == old.getType())
      others.push_back(value);
  };
  for (Operation *end = op; end && !isa<ModuleOp>(end); end = end->getParentOp()) {
    for (Value argument : end->getBlock()->getArguments())
      add(argument);
    for (Operation &earlier : *end->getBlock()) {
      if (&earlier == end)
        break;
      for (Value result : earlier.getResults())
        add(result);
    }
  }
  if (others.empty())
    return false;
  op->setOperand(place, random.pick(others));
  return true;
}

static bool changeConstant(Operation *op, spmd::MeshOp, Random &) {
  auto constant = dyn_cast<ptl::ConstantOp>(op);
  if (!constant)
    return false;
  double value = constant.getValue().convertToDouble();
  bool isBool = ptl::elementType(constant.getResult()).isInteger(1);
  constant.setValueAttr(
      FloatAttr::get(Float64Type::get(op->getContext()), isBool ? 1 - value : 2 * value + 1));
  return true;
}

static bool changeFunction(Operation *op, spmd::MeshOp, Random &) {
  using K = ptl::ElementwiseKind;
  auto math = dyn_cast<ptl::ElementwiseOp>(op);
  if (!math || (math.getKind() != K::Add && math.getKind() != K::Sub && math.getKind() != K::Mul))
    return false;
  math.setKind(math.getKind() == K::Add ? K::Sub : K::Add);
  return true;
}

static bool dropOperation(Operation *op, spmd::MeshOp, Random &) {
  if (!isStep(op))
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand);
      op->erase();
      return true;
    }
  return false;
}

static bool dropNormMember(Operation *op, spmd::MeshOp, Random &random) {
  if (!isa<ptl::GlobalNormOp>(op) || op->getNumOperands() < 2)
    return false;
  op->eraseOperand(random.below(op->getNumOperands()));
  return true;
}

static constexpr Mutation kMutations[] = {
    {"offset from another axis", changeOffsetAxis},
    {"offset without an axis", loseOffsetAxis},
    {"offset in another size", changeOffsetSize},
    {"no offset", dropOffset},
    {"no mask", dropMask},
    {"mask with another number", changeFill},
    {"mask of another dimension", changeMaskDim},
    {"another operand", changeOperand},
    {"another constant", changeConstant},
    {"another function", changeFunction},
    {"an operation less", dropOperation},
    {"a member of the norm less", dropNormMember},
};

ArrayRef<Mutation> mutate::localMutations() { return kMutations; }
