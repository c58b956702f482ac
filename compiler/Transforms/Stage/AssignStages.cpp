//===- AssignStages.cpp - Which stage each operation is in ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The parts that the plan names are layers, in the order of the plan. Operations
// inside of one are known by the part in their location; the others take their
// place from their neighbours: that of the last layer they depend on, or, if they
// depend on data and weights only, of the first that reads them. What depends on
// the last layer and is outside of it belongs to the loss.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Partition.h"
#include "compiler/Support/Location.h"
#include "compiler/Support/Programs.h"
#include "compiler/Transforms/Stage/ForwardProgram.h"
#include "compiler/Transforms/Stage/Orders.h"
#include "compiler/Transforms/Stage/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace ptlc::stage {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "compiler/Transforms/Stage/Passes.h.inc"
} // namespace ptlc::stage

using namespace mlir;
using namespace ptlc;

static constexpr int kNone = -1;

namespace {
class Assigner {
public:
  Assigner(func::FuncOp loss, DictionaryAttr pipeline) : loss(loss), pipeline(pipeline) {
    for (StringRef part : pipeline.getAs<ArrayAttr>("parts").getAsValueRange<StringAttr>())
      numbers[part] = layers++;
  }
  LogicalResult run(ModuleOp module);

private:
  int layerAround(StringRef path) const;
  int layerAround(Operation *op) const { return layerAround(partOf(op->getLoc())); }
  void placeOperations(func::FuncOp function);
  LogicalResult cut(const schedule::Orders &orders);
  LogicalResult cutByCost(const schedule::Orders &orders);
  LogicalResult cutWhereTold(int stages);
  void mark(func::FuncOp function, int stages);
  ArrayAttr layersOfStages(int stages);

  func::FuncOp loss;
  DictionaryAttr pipeline;
  llvm::StringMap<int> numbers; ///< of the layers, by path
  int layers = 0;
  llvm::DenseMap<Operation *, int> layerOf; ///< the number of layers: the loss
  std::vector<int> stageOfLayer;
};
} // namespace

int Assigner::layerAround(StringRef path) const {
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    auto found = numbers.find(path.substr(0, end));
    if (found != numbers.end())
      return found->second;
    if (end == StringRef::npos)
      return kNone;
  }
}

/// Fills in `layerOf`.
void Assigner::placeOperations(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator()) {
    int around = layerAround(&op), place = around;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        place = std::max(place, layerOf.lookup_or(maker, kNone));
    layerOf[&op] = place == layers - 1 && around == kNone ? layers : place;
  }
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    int &place = layerOf.find(&op)->second;
    if (place != kNone)
      continue;
    place = layers;
    for (Operation *user : op.getUsers())
      place = std::min(place, layerOf.lookup_or(user, layers));
  }
}

/// By the FLOPs of each layer; what is outside of all counts with its neighbour.
LogicalResult Assigner::cutByCost(const schedule::Orders &orders) {
  std::vector<double> flops(layers);
  double total = 0;
  for (Operation &op : loss.getBody().front())
    if (auto counted = dyn_cast<CostInterface>(op)) {
      auto count = static_cast<double>(counted.getFlops());
      flops[std::min(layerOf.lookup(&op), layers - 1)] += count;
      total += count;
    }
  constexpr double kUnits = 1e9; // equal layers stay equal
  std::vector<int64_t> costs;
  for (double count : flops)
    costs.push_back(std::llround(count / std::max(total, 1.0) * kUnits));
  auto stages = static_cast<int>(orders.place.size());
  std::optional<std::vector<schedule::Part>> parts =
      orders.chunks == 1 ? schedule::partition(costs, stages)
                         : schedule::partitionRanks(costs, orders.ranks, orders.place);
  if (!parts)
    return emitError(stage::placeOf(pipeline))
           << stages << " stages need as many layers, there are " << layers;
  for (auto [number, part] : llvm::enumerate(*parts))
    for (int layer = part.first; layer < part.second; ++layer)
      stageOfLayer[layer] = static_cast<int>(number);
  return success();
}

LogicalResult Assigner::cutWhereTold(int stages) {
  auto cuts = llvm::to_vector(pipeline.getAs<ArrayAttr>("cuts").getAsValueRange<StringAttr>());
  if (static_cast<int>(cuts.size()) != stages - 1)
    return emitError(stage::placeOf(pipeline))
           << stages << " stages need " << stages - 1 << " cuts, there are " << cuts.size();
  int before = 0;
  for (StringRef cut : cuts) {
    auto found = numbers.find(cut);
    if (found == numbers.end() || found->second <= before)
      return emitError(stage::placeOf(pipeline))
             << "cut '" << cut << "' leaves a stage empty or isn't behind the one before";
    before = found->second;
    for (int later = before; later < layers; ++later)
      ++stageOfLayer[later];
  }
  return success();
}

LogicalResult Assigner::cut(const schedule::Orders &orders) {
  stageOfLayer.assign(layers, 0);
  return pipeline.getAs<ArrayAttr>("cuts").empty()
             ? cutByCost(orders)
             : cutWhereTold(static_cast<int>(orders.place.size()));
}

/// Puts the operations in the order of their parts.
void Assigner::mark(func::FuncOp function, int stages) {
  Block &block = function.getBody().front();
  std::vector<std::vector<Operation *>> parts(stages + 1);
  Builder builder(loss.getContext());
  llvm::DenseMap<Operation *, int> partOfOp;
  for (Operation &op : block.without_terminator()) {
    int part = layerOf.lookup(&op) == layers ? stages : stageOfLayer[layerOf.lookup(&op)];
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        part = std::max(part, partOfOp.lookup(maker));
    partOfOp[&op] = part;
    op.setAttr(kPart, builder.getI64IntegerAttr(part));
    parts[part].push_back(&op);
  }
  for (const std::vector<Operation *> &list : parts)
    for (Operation *op : list)
      op->moveBefore(block.getTerminator());
}

ArrayAttr Assigner::layersOfStages(int stages) {
  std::vector<SmallVector<Attribute>> lists(stages);
  for (auto [layer, path] : llvm::enumerate(pipeline.getAs<ArrayAttr>("parts")))
    lists[stageOfLayer[layer]].push_back(path);
  Builder builder(loss.getContext());
  return builder.getArrayAttr(llvm::map_to_vector(
      lists, [&](ArrayRef<Attribute> list) -> Attribute { return builder.getArrayAttr(list); }));
}

LogicalResult Assigner::run(ModuleOp module) {
  FailureOr<schedule::Orders> orders = stage::ordersOf(module, pipeline);
  if (failed(orders))
    return failure();
  placeOperations(loss);
  if (failed(cut(*orders)))
    return failure();
  auto stages = static_cast<int>(orders->place.size());
  module->setAttr(kStages, Builder(module.getContext()).getI64IntegerAttr(stages));
  module->setAttr(kStageLayers, layersOfStages(stages));
  mark(loss, stages);
  for (StringLiteral name : stage::kForwards)
    if (auto function = module.lookupSymbol<func::FuncOp>(name)) {
      placeOperations(function);
      mark(function, stages);
    }
  return success();
}

namespace {
struct AssignStages : stage::impl::AssignStagesBase<AssignStages> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    DictionaryAttr pipeline = pipelineOf(module);
    auto loss = module.lookupSymbol<func::FuncOp>("loss");
    if (!pipeline || !loss)
      return;
    if (failed(Assigner(loss, pipeline).run(module)))
      signalPassFailure();
  }
};
} // namespace
