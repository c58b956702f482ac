//===- Storage.cpp - Which values share memory, and for how long ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Views and operations that work in place by definition (optimizers, all_reduce)
// are joined first; then lifetimes are known, and kernels may take the place of
// an operand that dies in them.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/Storage.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"
#include "compiler/Analysis/Kernel/Outline.h"
#include "compiler/Analysis/Kernel/RowPlan.h"
#include "compiler/Transforms/Memory/InsertCopies.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::memory;

static constexpr int64_t kAlign = 64;

unsigned StorageMap::find(unsigned id) const {
  while (parents[id] != id)
    id = parents[id];
  return id;
}

int64_t StorageMap::shiftOf(unsigned id) const {
  int64_t shift = 0;
  for (; parents[id] != id; id = parents[id])
    shift += shifts[id];
  return shift;
}

unsigned StorageMap::add(int64_t bytes, rt::MemoryLevel level, Block *block, unsigned position) {
  parents.push_back(storages.size());
  shifts.push_back(0);
  Storage storage;
  storage.bytes = bytes;
  storage.level = level;
  storage.first = storage.last = position;
  storage.block = block;
  storages.push_back(storage);
  return storages.size() - 1;
}

void StorageMap::create(Value value, rt::MemoryLevel level, unsigned position) {
  int64_t bytes = llvm::alignTo(layouts.bytes(value.getType()), kAlign);
  ids[value] = add(bytes, level, value.getParentBlock(), position);
  order.push_back(value);
}

/// Puts value `id` where `into` begins, or `shift` bytes behind it.
void StorageMap::join(unsigned id, unsigned into, int64_t shift) {
  shift += shiftOf(into) - shiftOf(id);
  id = find(id);
  into = find(into);
  if (id == into)
    return;
  if (shift < 0) {
    std::swap(id, into);
    shift = -shift;
  }
  Storage &target = storages[into];
  const Storage &source = storages[id];
  if (target.block == source.block) {
    target.first = std::min(target.first, source.first);
    target.last = std::max(target.last, source.last);
  }
  target.bytes = std::max(target.bytes, shift + source.bytes);
  target.pinned |= source.pinned;
  target.shared |= source.shared;
  target.argument |= source.argument;
  target.bucket |= source.bucket;
  parents[id] = into;
  shifts[id] = shift;
}

SmallVector<unsigned> StorageMap::roots() {
  SmallVector<unsigned> result;
  for (unsigned i = 0; i < parents.size(); ++i)
    if (parents[i] == i)
      result.push_back(i);
  return result;
}

LogicalResult StorageMap::build(func::FuncOp function, bool persistentBody) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    create(argument, rt::MemoryLevel::Persistent, 0);
    storages.back().argument = storages.back().pinned = true;
  }
  return buildBlock(block, persistentBody ? rt::MemoryLevel::Persistent : rt::MemoryLevel::Micro);
}

/// Values of a pipeline's phases that live in slots.
void StorageMap::placeInSlots(Operation *op) {
  auto place = [&](Value value, int64_t pool) {
    of(value).level = rt::MemoryLevel::Slots;
    of(value).pool = pool;
    of(value).pinned = true;
  };
  if (auto receive = dyn_cast<rt::ReceiveOp>(op))
    for (Value value : receive.getValues())
      place(value, receive.getPool());
  if (auto phase = op->getAttrOfType<rt::PhaseAttr>("rt.phase"))
    for (OpResult result : op->getResults())
      if (int64_t pool = phase.getPool(result.getResultNumber()); pool >= 0)
        place(result, pool);
}

/// The optimizer's result that a kernel's result is, or null.
static OpResult optimizerResult(rt::KernelOp kernel, unsigned number) {
  auto result = dyn_cast<OpResult>(kernel.getBody().front().getTerminator()->getOperand(number));
  return result && isa<ptl::OptimizeOp>(result.getOwner()) ? result : OpResult();
}

/// True if `result` of a flat kernel is the direction of a weight, which has memory of its own.
static bool isDirection(rt::KernelOp kernel, unsigned number) {
  OpResult result = optimizerResult(kernel, number);
  auto optimize = result ? cast<ptl::OptimizeOp>(result.getOwner()) : ptl::OptimizeOp();
  return optimize && optimize.makesDirections() &&
         result.getResultNumber() < optimize.getWeights().size();
}

/// True if a result is a direction of an optimizer or made of one. All that is comes behind all
/// loops, and is needed for a while only.
bool StorageMap::comesOfDirections(OpResult result) {
  auto kernel = dyn_cast<rt::KernelOp>(result.getOwner());
  bool is = kernel && kernel.getKind() == rt::KernelKind::Flat &&
            isDirection(kernel, result.getResultNumber());
  is |= llvm::any_of(result.getOwner()->getOperands(),
                     [&](Value operand) { return ofDirections.contains(operand); });
  if (is)
    ofDirections.insert(result);
  return is;
}

LogicalResult StorageMap::buildBlock(Block &block, rt::MemoryLevel level) {
  unsigned position = 1;
  for (Operation &op : block) {
    positions[&op] = position++;
    for (OpResult result : op.getResults())
      create(result, comesOfDirections(result) ? rt::MemoryLevel::Micro : level, positions[&op]);
    placeInSlots(&op);
    if (auto accumulate = dyn_cast<ptl::AccumulateOp>(op))
      if (failed(buildBlock(*accumulate.getPiece().getParentBlock(), rt::MemoryLevel::Micro)))
        return failure();
    if (auto chunks = dyn_cast<rt::ChunksOp>(op)) {
      if (level == rt::MemoryLevel::Micro)
        bodies[&op] = add(0, level, &block, positions[&op]);
      if (failed(buildBlock(chunks.getBody().front(), rt::MemoryLevel::Micro)))
        return failure();
      for (Value result : op.getResults())
        of(result).pinned = false;
    }
  }
  for (Operation &op : block)
    if (failed(aliasOperation(&op)))
      return failure();
  setLastUses(block);
  for (Operation &op : block)
    if (auto kernel = dyn_cast<rt::KernelOp>(op);
        kernel && kernel.getKind() == rt::KernelKind::Rows)
      reuseOperands(kernel, positions[&op]);
  return success();
}

LogicalResult StorageMap::aliasOperation(Operation *op) {
  if (isa<spmd::SpmdDialect>(op->getDialect()) && !op->getParentOfType<rt::KernelOp>()) {
    for (Value operand : op->getOperands())
      of(operand).shared = true;
    for (Value result : op->getResults())
      of(result).shared = true;
  }
  if (isa<ptl::ReshapeOp, ptl::StopGradientOp>(op)) {
    join(ids.lookup(op->getResult(0)), ids.lookup(op->getOperand(0)));
  } else if (auto piece = dyn_cast<ptl::MicrobatchOp>(op)) {
    // Dimensions of one element may stand in front, also that of the pieces itself.
    if (ptl::getDimSize(piece.getX(), piece.getDim()) > 1 &&
        kernel::outermostDim(piece.getX().getType()) != piece.getDimAttr())
      return op->emitOpError("needs '")
             << piece.getDim() << "' as the first dimension of the field";
    if (ptl::getDimSize(piece.getX(), piece.getDim()) !=
        ptl::getDimSize(piece.getResult(), piece.getDim()) * int64_t(piece.getPieces()))
      return op->emitOpError("needs a field that is padded to whole pieces");
    join(ids.lookup(piece.getResult()), ids.lookup(piece.getX()));
  } else if (auto reduce = dyn_cast<spmd::AllReduceOp>(op)) {
    for (auto [input, output] : llvm::zip_equal(reduce.getInputs(), reduce.getOutputs()))
      join(ids.lookup(output), ids.lookup(input));
  } else if (auto wait = dyn_cast<rt::WaitOp>(op)) {
    // What the collective works on is in use up to here.
    for (auto [value, result] : llvm::zip_equal(wait.getValues(), wait.getResults()))
      join(ids.lookup(result), ids.lookup(value));
  } else if (auto scatter = dyn_cast<spmd::BucketReduceScatterOp>(op)) {
    // What is summed further must lie at one place on all ranks.
    bool isSummed = llvm::any_of(scatter.getPart().getUsers(), llvm::IsaPred<spmd::AllReduceOp>);
    return aliasBucket(op, scatter.getInputs(), scatter.getPart(), !isSummed);
  } else if (auto slice = dyn_cast<spmd::BucketSliceOp>(op)) {
    return aliasBucket(op, slice.getInputs(), slice.getPart(), true);
  } else if (auto gather = dyn_cast<spmd::BucketAllGatherOp>(op)) {
    // In place, if the part lies in the bucket already, or is made for it alone.
    Value part = gather.getPart();
    auto maker = part.getDefiningOp<rt::KernelOp>();
    bool isOwn = maker && maker.getKind() == rt::KernelKind::Rows && part.hasOneUse() &&
                 maker->getBlock() == op->getBlock();
    return aliasBucket(op, gather.getOutputs(), part, of(part).bucket || isOwn);
  } else if (auto kernel = dyn_cast<rt::KernelOp>(op);
             kernel && kernel.getKind() == rt::KernelKind::Flat) {
    return aliasOptimizer(kernel);
  } else if (auto chunks = dyn_cast<rt::ChunksOp>(op->getParentOp());
             chunks && isa<rt::ReturnOp>(op)) {
    aliasChunks(chunks);
  } else if (auto yield = dyn_cast<ptl::YieldOp>(op)) {
    for (auto [value, sum] : llvm::zip_equal(yield.getValues(), op->getParentOp()->getResults())) {
      join(ids.lookup(value), ids.lookup(sum));
      of(sum).pinned = true;
    }
  }
  return success();
}

/// Puts tensors behind each other, and the part in its place among them or by itself.
LogicalResult StorageMap::aliasBucket(Operation *op, ValueRange tensors, Value part,
                                      bool isInPlace) {
  const BucketLayout &bucket = *layouts.bucketOf(part.getType());
  int64_t size = elementBytes(part.getType());
  unsigned whole = isInPlace && of(part).bucket
                       ? idOf(part)
                       : add(bucket.part * bucket.ranks * size, of(tensors.front()).level,
                             op->getBlock(), positions[op]);
  storages[whole].bucket = true;
  for (auto [tensor, start] : llvm::zip_equal(tensors, bucket.starts)) {
    unsigned id = ids.lookup(tensor);
    if (find(id) != whole && storages[find(id)].bucket)
      return op->emitOpError("a tensor can't lie in two buckets");
    join(id, whole, start * size);
  }
  if (isInPlace)
    join(ids.lookup(part), whole);
  return success();
}

/// Pieces and sums are written straight to the results.
void StorageMap::aliasChunks(rt::ChunksOp chunks) {
  Operation *end = chunks.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(end->getOperands())) {
    Value result = chunks.getResult(number);
    join(ids.lookup(value), ids.lookup(result));
    of(result).pinned = true;
    if (!chunks.isStacked(number))
      continue;
    kernel::MatrixLayout whole = layouts.of(result.getType()), piece = layouts.of(value.getType());
    of(result).step = kernel::pieceElements(whole, piece) * elementBytes(result.getType());
  }
}

/// New weights and states take the place of the old ones.
LogicalResult StorageMap::aliasOptimizer(rt::KernelOp kernel) {
  for (unsigned number = 0; number < kernel.getNumResults(); ++number) {
    OpResult result = optimizerResult(kernel, number);
    if (!result)
      return kernel.emitOpError("of kind flat must return what an optimizer makes");
    if (isDirection(kernel, number))
      continue;
    auto optimize = cast<ptl::OptimizeOp>(result.getOwner());
    unsigned index = result.getResultNumber(), weights = optimize.getWeights().size();
    Value old =
        index < weights ? optimize.getWeights()[index] : optimize.getStates()[index - weights];
    auto argument = dyn_cast<BlockArgument>(old);
    if (!argument)
      return kernel.emitOpError("must update its operands in place");
    join(ids.lookup(kernel.getResult(number)),
         ids.lookup(kernel.getInputs()[argument.getArgNumber()]));
  }
  return success();
}

void StorageMap::setLastUses(Block &block) {
  for (Operation &op : block)
    op.walk([&](Operation *user) {
      for (Value operand : user->getOperands())
        if (ids.contains(operand)) {
          Storage &storage = of(operand);
          if (storage.block == &block)
            storage.last = std::max(storage.last, positions[&op]);
        }
    });
}

void StorageMap::reuseOperands(rt::KernelOp kernel, unsigned position) {
  auto graph = kernel::buildGraph(kernel.getBody().front(), kernel.getIterate().getNames());
  if (failed(graph))
    return;
  std::string error;
  std::optional<kernel::RowPlan> plan = kernel::RowPlan::create(*graph, error);
  if (!plan)
    return;
  auto added = kernel->getAttrOfType<DenseBoolArrayAttr>(kAccumulate);
  for (auto [number, result] : llvm::enumerate(kernel.getOutputs())) {
    if (added && added[number])
      continue;
    for (auto [index, input] : llvm::enumerate(kernel.getInputs())) {
      Storage &operand = of(input), &own = of(result);
      bool dies = operand.block == kernel->getBlock() && operand.last == position &&
                  !operand.argument && !operand.pinned && idOf(input) != idOf(result);
      // Another operand in the same memory would be overwritten, too.
      bool taken = llvm::any_of(kernel.getOutputs(),
                                [&](Value other) { return idOf(other) == idOf(input); });
      unsigned readers = llvm::count_if(kernel.getInputs(),
                                        [&](Value other) { return idOf(other) == idOf(input); });
      if (!dies || taken || readers != 1 || (own.pool >= 0 && operand.shared) ||
          operand.bytes != own.bytes ||
          !(layouts.of(input.getType()) == layouts.of(result.getType())) ||
          !plan->mayOverwrite(index, number))
        continue;
      // A storage whose offset others fix keeps its identity.
      own.pinned ? join(idOf(input), idOf(result)) : join(idOf(result), idOf(input));
      break;
    }
  }
}

Packing memory::placeByLifetime(StorageMap &map, ArrayRef<unsigned> ids) {
  SmallVector<PackItem> items;
  for (unsigned id : ids)
    items.push_back({map[id].bytes, map[id].first, map[id].last});
  Packing packing = packItems(items);
  for (auto [id, offset] : llvm::zip_equal(ids, packing.offsets))
    map[id].offset = offset;
  return packing;
}
