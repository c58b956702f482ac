//===- ChunkGroup.cpp - Kernels around a large value ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel can run piece by piece along a dimension if each point of it is
// computed on its own: the dimension is iterated over, or a free or summed one of
// a product. What such a kernel returns without the dimension is a sum over the
// pieces, which nothing in the loop may read.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/ChunkGroup.h"

#include "compiler/Analysis/Kernel/Outline.h"
#include "dialects/Spmd/Spmd.h"
#include "dialects/Ptl/ByteSize.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::fuse;

std::optional<ChunkGroup> ChunkGroup::create(Value large, DenseSet<Value> &hopeless) {
  ChunkGroup group;
  group.dim = kernel::outermostDim(large.getType());
  if (!group.dim)
    return std::nullopt;
  auto type = cast<RankedTensorType>(large.getType());
  group.size = ptl::getDimSize(type, group.dim);
  group.bytes = ptl::getByteSize(type);
  for (int64_t extent : type.getShape().drop_back())
    group.rows *= extent;
  if (!group.grow(large) || group.readsSums()) {
    // A group around a smaller one of these would hold them all.
    hopeless.insert(group.values.begin(), group.values.end());
    return std::nullopt;
  }
  if (group.findUsersBetween())
    return group;
  // An equally large one has the same group; that of a smaller one may hold what lies between, too.
  for (Value value : group.values)
    if (ptl::getByteSize(value.getType()) == group.bytes)
      hopeless.insert(value);
  return std::nullopt;
}

/// Adds a kernel and the large values around it; false if it can't run piece by piece.
bool ChunkGroup::addKernel(Operation *op) {
  if (!kernels.insert(op))
    return true;
  for (ValueRange list : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : list)
      if (ptl::getByteSize(value.getType()) >= bytes / 2 &&
          kernel::outermostDim(value.getType()) == dim)
        values.insert(value);
  return fits(cast<rt::KernelOp>(op));
}

/// Adds the maker and the readers of a large value; false if one of them is no kernel that can run
/// piece by piece.
bool ChunkGroup::addLarge(Value value) {
  auto maker = value.getDefiningOp<rt::KernelOp>();
  if (!maker)
    return true; // made outside: its pieces are read in place
  if (!addKernel(maker))
    return false;
  for (Operation *user : value.getUsers())
    if (!isa<rt::KernelOp>(user) || user->getBlock() != maker->getBlock() || !addKernel(user))
      return false;
  return true;
}

/// Follows large values from `large` on, until there is no more to add or something doesn't fit.
bool ChunkGroup::grow(Value large) {
  values.insert(large);
  for (size_t i = 0; i < values.size(); ++i)
    if (!addLarge(values[i]))
      return false;
  SmallVector<Operation *> sorted(kernels.begin(), kernels.end());
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  kernels = llvm::SetVector<Operation *>(sorted.begin(), sorted.end());
  return true;
}

/// True if a kernel reads what another one of the group adds up over the pieces.
bool ChunkGroup::readsSums() const {
  return llvm::any_of(kernels, [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return kernels.contains(operand.getDefiningOp()) && !ptl::hasDim(operand, dim);
    });
  });
}

/// Finds what must move behind the loop; false if something outside of it lies on a path through
/// it.
bool ChunkGroup::findUsersBetween() {
  DenseSet<Operation *> behind;
  auto dependsOn = [](Operation *op, auto contains) {
    bool found = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          found |= contains(maker);
    });
    return found;
  };
  for (Operation *op = kernels.front(); op != kernels.back()->getNextNode();
       op = op->getNextNode()) {
    bool afterOthers = dependsOn(op, [&](Operation *maker) { return behind.contains(maker); });
    if (kernels.contains(op)) {
      if (afterOthers)
        return false;
    } else if (afterOthers || dependsOn(op, [&](Operation *m) { return kernels.contains(m); })) {
      behind.insert(op);
      later.push_back(op);
    }
  }
  return true;
}

/// True if pieces of the value follow each other in memory, or all pieces read the same value.
bool ChunkGroup::canCut(Type type) const {
  if (!ptl::hasDim(type, dim))
    return true;
  return kernel::outermostDim(type) == dim && ptl::getDimSize(type, dim) == size;
}

/// True if the operation of a kernel's body treats the points of `dim` alike.
static bool treatsAlike(Operation *op, StringAttr dim) {
  auto in = [&](ArrayRef<StringAttr> names) { return llvm::is_contained(names, dim); };
  if (auto reshape = dyn_cast<ptl::ReshapeOp>(op))
    return llvm::none_of(reshape.getArrowRange(), [&](ptl::ArrowAttr arrow) {
      return in(arrow.getFrom()) || in(arrow.getTo());
    });
  if (auto gather = dyn_cast<ptl::GatherOp>(op))
    return gather.getDimAttr() != dim;
  if (auto scatter = dyn_cast<ptl::ScatterAddOp>(op))
    return scatter.getDimAttr() != dim;
  return !isa<ptl::SliceOp, ptl::PadOp, ptl::ConcatOp, ptl::TopKOp, ptl::MicrobatchOp>(op);
}

bool ChunkGroup::fits(rt::KernelOp kernel) const {
  bool isRows = kernel.getKind() == rt::KernelKind::Rows;
  if (isRows ? !llvm::is_contained(kernel.getIterate().getNames(), dim)
             : kernel.getKind() != rt::KernelKind::Matmul)
    return false;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (!treatsAlike(&op, dim))
      return false;
  for (Value operand : kernel.getInputs())
    if (!canCut(operand.getType()))
      return false;
  for (auto [number, result] : llvm::enumerate(kernel.getOutputs())) {
    Type element = ptl::elementType(result);
    if (!canCut(result.getType()))
      return false;
    // A product's sum in bf16 becomes one in f32 (see build()).
    bool canAdd = element.isF32() || (element.isBF16() && !isRows);
    if (!ptl::hasDim(result, dim) && (!canAdd || !kernel::canAccumulate(kernel, number)))
      return false;
  }
  return true;
}

SmallVector<Value> ChunkGroup::resultsOutside() const {
  SmallVector<Value> results;
  for (Operation *op : kernels)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !kernels.contains(user); }))
        results.push_back(result);
  return results;
}

Type ChunkGroup::pieceType(Type type, int64_t pieces) const {
  return ptl::hasDim(type, dim) ? ptl::replaceDim(type, dim, dim, size / pieces) : type;
}

/// The type in which results of that type are added up over the pieces: never bf16.
Type ChunkGroup::sumType(Type type) const {
  if (ptl::hasDim(type, dim) || !cast<RankedTensorType>(type).getElementType().isBF16())
    return type;
  return ptl::withElement(type, Float32Type::get(type.getContext()));
}

/// What the loop adds up in f32, as the users know it.
static Value rounded(OpBuilder &builder, Value sum, Type type) {
  if (sum.getType() == type)
    return sum;
  auto kernel = rt::KernelOp::create(builder, sum.getLoc(), type, rt::KernelKind::Rows, sum,
                                     kernel::leadingDims(type));
  OpBuilder inner = OpBuilder::atBlockEnd(&kernel.getBody().front());
  Value result = ptl::ElementwiseOp::create(inner, sum.getLoc(), type, ptl::ElementwiseKind::Cast,
                                            kernel.getBody().getArgument(0));
  rt::ReturnOp::create(inner, sum.getLoc(), result);
  return kernel.getResult(0);
}

/// Tells an operation that depends on positions where the piece lies.
void ChunkGroup::setChunks(Operation *op, int64_t pieces) const {
  if (!isa<ptl::IotaOp, ptl::RandomOp, spmd::MaskOp>(op) || !ptl::hasDim(op->getResult(0), dim))
    return;
  StringRef name = isa<spmd::MaskOp>(op) ? "cuts" : "cut";
  SmallVector<spmd::CutAttr> cuts;
  bool known = false;
  if (auto old = op->getAttrOfType<spmd::CutsAttr>(name))
    cuts.assign(old.getCuts().begin(), old.getCuts().end());
  MLIRContext *context = op->getContext();
  for (spmd::CutAttr &cut : cuts)
    if (cut.getDim() == dim) {
      cut =
          spmd::CutAttr::get(context, dim, cut.getGlobal(), cut.getAxes(), cut.getMicro(), pieces);
      known = true;
    }
  if (!known && isa<spmd::MaskOp>(op))
    return; // it masks other dimensions
  if (!known)
    cuts.push_back(spmd::CutAttr::get(context, dim, size, {}, /*micro=*/1, pieces));
  op->setAttr(name, spmd::CutsAttr::get(context, cuts));
}

void ChunkGroup::cloneKernel(OpBuilder &builder, rt::KernelOp kernel, IRMapping &map,
                             int64_t pieces) const {
  auto clone = cast<rt::KernelOp>(builder.clone(*kernel, map));
  bool isProduct = kernel.getKind() == rt::KernelKind::Matmul;
  auto resize = [&](Value value) {
    Type type = pieceType(value.getType(), pieces);
    bool isResult =
        isProduct && value.getDefiningOp() && !isa<ptl::BroadcastOp>(value.getDefiningOp());
    value.setType(isResult ? sumType(type) : type);
  };
  llvm::for_each(clone.getResults(), resize);
  Block &body = clone.getBody().front();
  llvm::for_each(body.getArguments(), resize);
  for (Operation &op : body.without_terminator()) {
    setChunks(&op, pieces);
    llvm::for_each(op.getResults(), resize);
  }
}

rt::ChunksOp ChunkGroup::build(int64_t pieces) {
  Operation *last = kernels.back();
  OpBuilder builder(last);
  SmallVector<Value> results = resultsOutside();
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(sumType(result.getType()));
  auto chunks = rt::ChunksOp::create(builder, values.front().getLoc(), types, pieces, dim);
  builder.setInsertionPointToStart(&chunks.getBody().front());
  IRMapping map;
  for (Operation *op : kernels)
    for (Value operand : op->getOperands())
      if (!kernels.contains(operand.getDefiningOp()) && ptl::hasDim(operand, dim) &&
          !map.contains(operand))
        map.map(operand, ptl::MicrobatchOp::create(builder, op->getLoc(), operand,
                                                   chunks.getPiece(), pieces, dim));
  for (Operation *op : kernels)
    cloneKernel(builder, cast<rt::KernelOp>(op), map, pieces);
  SmallVector<Value> returned;
  for (Value result : results)
    returned.push_back(map.lookup(result));
  rt::ReturnOp::create(builder, chunks.getLoc(), returned);
  builder.setInsertionPointAfter(chunks);
  SmallVector<Value> replacements;
  for (auto [result, value] : llvm::zip_equal(results, chunks.getResults()))
    replacements.push_back(rounded(builder, value, result.getType()));
  Operation *place = chunks;
  for (Value value : replacements)
    if (value.getDefiningOp() != chunks)
      place = value.getDefiningOp();
  for (Operation *op : later) {
    op->moveAfter(place);
    place = op;
  }
  for (auto [result, value] : llvm::zip_equal(results, replacements))
    result.replaceUsesWithIf(value,
                             [&](OpOperand &use) { return !kernels.contains(use.getOwner()); });
  for (Operation *op : llvm::reverse(kernels))
    op->erase();
  return chunks;
}
