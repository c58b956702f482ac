//===- PlanBuffers.cpp - Offsets in the arena -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The persistent part begins with the optimizers' groups: the weights of a group
// behind each other, then their gradients in the same order, then each kind of
// state, then copies of the weights in bf16. An element has the same place in all of
// these areas, whatever its size. So one flat kernel updates a whole group; padding between them is
// updated, too, and stays harmless. Then come data, scalars and what stage
// functions hand on. The slots of a pipeline's phases follow, kind by kind: what a
// phase keeps for another lies at one place in every slot of its pool. The micro
// part holds one function's values at a time, so it is as large as the largest
// needs.
//===----------------------------------------------------------------------===//
#include "compiler/Support/SignatureAttributes.h"
#include "compiler/Support/Stages.h"
#include "compiler/Transforms/Memory/InsertCopies.h"
#include "compiler/Transforms/Memory/Passes.h"
#include "compiler/Transforms/Memory/Storage.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace ptlc::memory {
#define GEN_PASS_DEF_PLANBUFFERS
#include "compiler/Transforms/Memory/Passes.h.inc"
} // namespace ptlc::memory

using namespace mlir;
using namespace ptlc;
using namespace ptlc::memory;

static constexpr int64_t kBucketAlign = 4096;

namespace {
/// Totals of the report, in bytes.
struct Totals {
  int64_t weights = 0, gradients = 0, states = 0, data = 0;
};

class Planner {
public:
  explicit Planner(ModuleOp module) : module(module), layouts(module) {}
  LogicalResult run();

private:
  /// The storages of each block that are placed by lifetime.
  using BlockIds = llvm::MapVector<Block *, SmallVector<unsigned>>;
  Packing placeBlock(Block *block, const BlockIds &blocks, StorageMap &map);
  void addMicro(const Packing &packing);
  void shift(Block *block, int64_t bytes, const BlockIds &blocks, StorageMap &map);
  LogicalResult planFunction(func::FuncOp function, bool isStep);
  void placeBuckets(func::FuncOp function, StorageMap &map);
  bool placeBucket(rt::KernelOp kernel, StorageMap &map);
  void placeArea(ArrayRef<Value> area, ArrayRef<int64_t> begins, int64_t elements, StorageMap &map);
  void placeArguments(func::FuncOp function, StorageMap &map, bool isStep);
  void place(Storage &storage);
  void placeAligned(Storage &storage);
  bool placeParts(rt::KernelOp kernel, StorageMap &map);
  void annotate(func::FuncOp function, StorageMap &map);
  Attribute buffer(Value value, StorageMap &map);
  void placeShared(func::FuncOp function, StorageMap &map);
  void placeSlots(StorageMap &map);
  ArrayAttr membersOf(Value value);
  ArrayAttr axesOf(const BucketLayout &bucket);

  ModuleOp module;
  Layouts layouts;
  llvm::StringMap<int64_t> weightOffsets; ///< by path
  int64_t persistent = 0, micro = 0, least = 0, slots = 0;
  std::array<int64_t, 6> slotBytes{}; ///< of one slot of each kind
  Totals totals;
};
} // namespace

void Planner::place(Storage &storage) {
  if (storage.offset)
    return;
  storage.offset = persistent;
  persistent += storage.bytes;
}

/// Buckets begin where pages do, on all ranks alike.
void Planner::placeAligned(Storage &storage) {
  if (storage.offset)
    return;
  persistent = llvm::alignTo(persistent, kBucketAlign);
  place(storage);
  persistent = llvm::alignTo(persistent, kBucketAlign);
}

/// The copy of a weight in bf16 that a kernel makes of it alone; null if there is none.
static Value copyOf(Value weight) {
  for (Operation *user : weight.getUsers()) {
    auto kernel = dyn_cast<rt::KernelOp>(user);
    if (kernel && kernel.getInputs().size() == 1 && kernel.getNumResults() == 1 &&
        kernel.getResult(0).getType() ==
            ptl::withElement(weight.getType(), BFloat16Type::get(weight.getContext())))
      return kernel.getResult(0);
  }
  return {};
}

/// The values of one kernel that must lie in parallel: weights, gradients, each kind of state.
static SmallVector<SmallVector<Value>> areasOf(rt::KernelOp kernel) {
  SmallVector<SmallVector<Value>> areas;
  auto optimizers = kernel.getBody().getOps<ptl::OptimizeOp>();
  if (optimizers.empty())
    return areas;
  ptl::OptimizeOp optimize = *optimizers.begin();
  auto outer = [&](ValueRange values) {
    SmallVector<Value> result;
    for (Value value : values)
      if (auto argument = dyn_cast<BlockArgument>(value))
        result.push_back(kernel.getInputs()[argument.getArgNumber()]);
    areas.push_back(result);
  };
  unsigned count = optimize.getWeights().size();
  outer(optimize.getWeights());
  outer(optimize.getGrads());
  for (unsigned i = 0; i < optimize.getStates().size(); i += count)
    outer(optimize.getStates().slice(i, count));
  return areas;
}

/// Places what an optimizer of parts works on; false if it is one of whole tensors.
bool Planner::placeParts(rt::KernelOp kernel, StorageMap &map) {
  SmallVector<SmallVector<Value>> areas = areasOf(kernel);
  const BucketLayout *bucket =
      areas.empty() ? nullptr : layouts.bucketOf(areas.front().front().getType());
  if (!bucket)
    return false;
  for (const SmallVector<Value> &area : areas)
    for (Value value : area)
      if (map.of(value).level == rt::MemoryLevel::Persistent)
        placeAligned(map.of(value));
  kernel->setAttr("rt.bucket",
                  IntegerAttr::get(IntegerType::get(module.getContext(), 64), bucket->part));
  return true;
}

/// True if the values can lie in one area: none has a place, no two share memory, all have one
/// element type.
static bool fitsArea(ArrayRef<Value> area, StorageMap &map, llvm::SetVector<unsigned> &ids) {
  return llvm::all_of(area, [&](Value value) {
    const Storage &storage = map.of(value);
    return !storage.offset && storage.level == rt::MemoryLevel::Persistent &&
           ptl::elementType(value) == ptl::elementType(area.front()) && ids.insert(map.idOf(value));
  });
}

/// Places the values of an area so that each begins at its element, of `elements` in all.
void Planner::placeArea(ArrayRef<Value> area, ArrayRef<int64_t> begins, int64_t elements,
                        StorageMap &map) {
  int64_t size = elementBytes(area.front().getType());
  persistent = llvm::alignTo(persistent, kBucketAlign);
  for (auto [number, value] : llvm::enumerate(area)) {
    Storage &storage = map.of(value);
    storage.offset = persistent + begins[number] * size;
    // Places are aligned in elements, not in bytes.
    storage.bytes = (begins[number + 1] - begins[number]) * size;
  }
  persistent = llvm::alignTo(persistent + elements * size, kBucketAlign);
}

/// Places a group; false if it can't be one bucket.
bool Planner::placeBucket(rt::KernelOp kernel, StorageMap &map) {
  SmallVector<SmallVector<Value>> areas = areasOf(kernel);
  // Directions don't lie as weights do.
  if (llvm::any_of(kernel.getBody().getOps<ptl::OptimizeOp>(),
                   [](ptl::OptimizeOp op) { return op.makesDirections(); }))
    return false;
  llvm::SetVector<unsigned> ids;
  if (areas.empty() || areas.front().empty() ||
      !llvm::all_of(areas, [&](const SmallVector<Value> &area) {
        return area.size() == areas.front().size() && fitsArea(area, map, ids);
      }))
    return false;
  SmallVector<int64_t> begins = {0};
  for (Value weight : areas.front())
    begins.push_back(begins.back() + map.of(weight).bytes / elementBytes(weight.getType()));
  int64_t elements =
      llvm::alignTo(begins.back(), kBucketAlign / elementBytes(areas[0][0].getType()));
  SmallVector<Value> copies;
  for (Value weight : areas.front())
    if (Value copy = copyOf(weight))
      copies.push_back(copy);
  if (copies.size() == areas.front().size() && fitsArea(copies, map, ids))
    areas.push_back(copies);
  for (const SmallVector<Value> &area : areas)
    placeArea(area, begins, elements, map);
  kernel->setAttr("rt.bucket",
                  IntegerAttr::get(IntegerType::get(module.getContext(), 64), elements));
  return true;
}

void Planner::placeBuckets(func::FuncOp function, StorageMap &map) {
  function.walk([&](rt::KernelOp kernel) {
    if (kernel.getKind() != rt::KernelKind::Flat)
      return;
    if (!placeParts(kernel, map))
      placeBucket(kernel, map);
    for (auto [number, area] : llvm::enumerate(areasOf(kernel)))
      for (Value value : area) {
        (number == 0   ? totals.weights
         : number == 1 ? totals.gradients
                       : totals.states) += map.of(value).bytes;
        if (Value copy = number == 0 ? copyOf(value) : Value())
          totals.weights += map.of(copy).bytes;
      }
  });
}

/// What the ranks of a pipeline, whose programs differ, add up together lies at the same place in
/// all of them.
void Planner::placeShared(func::FuncOp function, StorageMap &map) {
  DictionaryAttr pipeline = pipelineOf(module);
  if (!pipeline)
    return;
  function.walk([&](spmd::AllReduceOp op) {
    if (llvm::is_contained(op.getAxes().getNames(), pipeline.getAs<StringAttr>("axis")))
      for (Value value : op.getOutputs())
        place(map.of(value));
  });
}

/// Values of a pool lie behind each other in each of its slots; the pools of one kind share slots.
void Planner::placeSlots(StorageMap &map) {
  auto counts = module->getAttrOfType<DenseI64ArrayAttr>(kSlots);
  if (!counts)
    return;
  std::map<int64_t, int64_t> used; ///< bytes, by pool
  for (unsigned id : map.roots())
    if (Storage &storage = map[id]; storage.level == rt::MemoryLevel::Slots) {
      int64_t &bytes = used[storage.pool];
      storage.offset = bytes;
      bytes += storage.bytes;
    }
  for (auto [pool, bytes] : used) {
    int64_t &largest = slotBytes[pool / kMaxChunks];
    largest = std::max(largest, bytes);
  }
  std::array<int64_t, 6> begins{};
  for (unsigned kind = 0; kind < begins.size(); ++kind) {
    begins[kind] = slots;
    slots += counts.asArrayRef()[kind] * slotBytes[kind];
  }
  for (unsigned id : map.roots())
    if (Storage &storage = map[id]; storage.level == rt::MemoryLevel::Slots)
      *storage.offset += begins[storage.pool / kMaxChunks];
}

void Planner::placeArguments(func::FuncOp function, StorageMap &map, bool isStep) {
  for (BlockArgument argument : function.getArguments()) {
    auto text = [&](StringRef name) {
      auto attribute = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), name);
      return attribute ? attribute.getValue() : StringRef();
    };
    Storage &storage = map.of(argument);
    if (text("ptl.role") == "weight") {
      auto [it, isNew] = weightOffsets.try_emplace(text("ptl.path"), 0);
      if (isNew) {
        if (!storage.offset && isStep)
          totals.weights += storage.bytes;
        storage.bucket ? placeAligned(storage) : place(storage);
        it->second = *storage.offset + map.positionOf(argument);
      }
      if (!storage.offset)
        storage.offset = it->second;
      continue;
    }
    if (text("ptl.role") == "data" && isStep)
      totals.data += storage.bytes;
    place(storage);
  }
}

/// The micro part holds one block's values at a time.
void Planner::addMicro(const Packing &packing) {
  micro = std::max(micro, packing.end);
  least = std::max(least, packing.least);
}

/// Places what lives in a block by lifetime; the inside of a loop over pieces lives as long as the
/// loop runs.
Packing Planner::placeBlock(Block *block, const BlockIds &blocks, StorageMap &map) {
  auto loops = block->getOps<rt::ChunksOp>();
  for (rt::ChunksOp loop : loops) {
    Packing inside = placeBlock(&loop.getBody().front(), blocks, map);
    if (std::optional<unsigned> body = map.bodyOf(loop))
      map[*body].bytes = inside.end;
    else
      addMicro(inside);
  }
  Packing packing = placeByLifetime(map, blocks.lookup(block));
  for (rt::ChunksOp loop : loops)
    if (std::optional<unsigned> body = map.bodyOf(loop))
      shift(&loop.getBody().front(), *map[*body].offset, blocks, map);
  return packing;
}

void Planner::shift(Block *block, int64_t bytes, const BlockIds &blocks, StorageMap &map) {
  for (unsigned id : blocks.lookup(block))
    *map[id].offset += bytes;
  for (rt::ChunksOp loop : block->getOps<rt::ChunksOp>())
    shift(&loop.getBody().front(), bytes, blocks, map);
}

LogicalResult Planner::planFunction(func::FuncOp function, bool isStep) {
  if (failed(insertCopies(function, layouts)))
    return failure();
  StorageMap map(layouts);
  // What lives across a loop must not lie where its body works.
  bool loops = !function.getBody().getOps<ptl::AccumulateOp>().empty();
  if (failed(map.build(function, isStep || loops)))
    return failure();
  if (isStep) {
    placeShared(function, map);
    placeSlots(map);
  }
  placeBuckets(function, map);
  placeArguments(function, map, isStep);
  BlockIds blocks;
  for (unsigned id : map.roots()) {
    Storage &storage = map[id];
    if (storage.level == rt::MemoryLevel::Persistent)
      storage.bucket ? placeAligned(storage) : place(storage);
    else if (storage.level == rt::MemoryLevel::Micro)
      blocks[storage.block].push_back(id);
  }
  addMicro(placeBlock(&function.getBody().front(), blocks, map));
  for (ptl::AccumulateOp loop : function.getBody().getOps<ptl::AccumulateOp>())
    addMicro(placeBlock(&loop.getBody().front(), blocks, map));
  annotate(function, map);
  return success();
}

Attribute Planner::buffer(Value value, StorageMap &map) {
  kernel::MatrixLayout layout = layouts.of(value.getType());
  const Storage &storage = map.of(value);
  bool inPieces = isa_and_nonnull<rt::ChunksOp>(value.getParentBlock()->getParentOp());
  const BucketLayout *bucket =
      storage.bucket ? layouts.bucketOf(value.getType()) : nullptr; // a part in its bucket
  int64_t part = bucket ? bucket->part * elementBytes(value.getType()) : 0;
  return rt::BufferAttr::get(module.getContext(), storage.level,
                             *storage.offset + map.positionOf(value), layout.rows, layout.cols,
                             layout.stride, inPieces ? storage.step : 0, storage.pool,
                             storage.pool < 0 ? 0 : slotBytes[storage.pool / kMaxChunks], part,
                             bucket ? axesOf(*bucket) : ArrayAttr());
}

/// Where the tensors of a bucket lie, in bytes from its beginning; empty for what is no part.
ArrayAttr Planner::membersOf(Value value) {
  Builder builder(module.getContext());
  const BucketLayout *bucket = layouts.bucketOf(value.getType());
  SmallVector<Attribute> members;
  if (bucket)
    for (auto [start, tensor] : llvm::zip_equal(bucket->starts, bucket->tensors)) {
      int64_t size = elementBytes(value.getType());
      members.push_back(rt::BufferAttr::get(module.getContext(), rt::MemoryLevel::Persistent,
                                            start * size, tensor.rows, tensor.cols, tensor.stride,
                                            0, -1, 0, bucket->part * size, axesOf(*bucket)));
    }
  return builder.getArrayAttr(members);
}

ArrayAttr Planner::axesOf(const BucketLayout &bucket) {
  return ArrayAttr::get(module.getContext(), SmallVector<Attribute>(bucket.axes.getNames().begin(),
                                                                    bucket.axes.getNames().end()));
}

void Planner::annotate(func::FuncOp function, StorageMap &map) {
  Builder builder(module.getContext());
  SignatureAttributes arguments = SignatureAttributes::ofArguments(function);
  for (BlockArgument argument : function.getArguments())
    arguments.set(argument.getArgNumber(), "rt.buffers",
                  builder.getArrayAttr(buffer(argument, map)));
  for (BlockArgument argument : function.getArguments())
    if (ArrayAttr members = membersOf(argument); !members.empty())
      arguments.set(argument.getArgNumber(), "rt.members", members);
  arguments.commit();
  function.walk([&](spmd::SquareSumOp op) {
    SmallVector<Attribute> members;
    for (Value operand : op.getInputs())
      members.push_back(membersOf(operand));
    op->setAttr("rt.members", builder.getArrayAttr(members));
  });
  function.walk([&](rt::KernelOp kernel) {
    // Of an optimizer's gradient, or of a copy; weights and states are arguments.
    SmallVector<SmallVector<Value>> areas = areasOf(kernel);
    Value part = areas.empty()      ? kernel.getResult(0)
                 : areas[1].empty() ? Value()
                                    : areas[1].front();
    if (ArrayAttr members = part ? membersOf(part) : ArrayAttr(); members && !members.empty())
      kernel->setAttr("rt.members", members);
  });
  function.walk([&](Operation *op) {
    if (!op->getNumResults() || !map.has(op->getResult(0)))
      return;
    SmallVector<Attribute> buffers;
    for (Value result : op->getResults())
      buffers.push_back(buffer(result, map));
    op->setAttr("rt.buffers", builder.getArrayAttr(buffers));
  });
}

LogicalResult Planner::run() {
  layouts.resizeParts(module);
  // The training step first: the others use its weights.
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  auto isStep = [](func::FuncOp function) { return function.getName() == "step"; };
  auto step = llvm::find_if(functions, isStep);
  if (step != functions.end())
    std::rotate(functions.begin(), step, step + 1);
  for (func::FuncOp function : functions)
    if (failed(planFunction(function, isStep(function))))
      return failure();
  persistent = llvm::alignTo(persistent, kBucketAlign);
  micro = llvm::alignTo(micro, kBucketAlign);
  slots = llvm::alignTo(slots, kBucketAlign);
  Builder builder(module.getContext());
  auto entry = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  module->setAttr(
      "rt.memory",
      builder.getDictionaryAttr(
          {entry("persistent", persistent), entry("micro", micro), entry("least", least),
           entry("slots", slots), entry("scratch", 0), entry("weights", totals.weights),
           entry("gradients", totals.gradients), entry("states", totals.states),
           entry("data", totals.data), entry("total", persistent + slots + micro)}));
  return success();
}

namespace {
struct PlanBuffers : memory::impl::PlanBuffersBase<PlanBuffers> {
  void runOnOperation() override {
    if (failed(Planner(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
