//===- Plan.cpp - What the plan says of a weight's storage ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Plan.h"

#include "compiler/Support/Stages.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

/// The location that "file:line:column" names.
static LocationAttr placeOf(StringAttr text) {
  auto [rest, column] = text.getValue().rsplit(':');
  auto [file, line] = rest.rsplit(':');
  unsigned numbers[2] = {0, 0};
  if (line.getAsInteger(10, numbers[0]) || column.getAsInteger(10, numbers[1]))
    return UnknownLoc::get(text.getContext());
  return FileLineColLoc::get(text.getContext(), file, numbers[0], numbers[1]);
}

zero::Plan::Plan(ModuleOp module, func::FuncOp step) : mesh(spmd::findMesh(module)), step(step) {
  auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan");
  if (!plan || !mesh)
    return;
  for (spmd::AxisAttr axis : mesh.getAxisRange())
    all.push_back(axis.getName());
  if (auto flag = plan.getAs<BoolAttr>("reproducible"))
    reproducible = flag.getValue();
  if (auto flag = plan.getAs<BoolAttr>("overlap"))
    overlap = flag.getValue();
  pipeline = plan.contains("pipeline");
  if (auto bytes = plan.getAs<IntegerAttr>("bucket"))
    bucket = bytes.getInt();
  auto list = plan.getAs<ArrayAttr>("zero");
  if (!list)
    return;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    Rule rule;
    rule.level = entry.getAs<IntegerAttr>("level").getInt();
    rule.axes = sorted(llvm::to_vector(entry.getAs<ArrayAttr>("axes").getAsRange<StringAttr>()));
    rule.place = placeOf(entry.getAs<StringAttr>("line"));
    for (auto path : entry.getAs<ArrayAttr>("weights").getAsRange<StringAttr>())
      rules[path.getValue()] = rule;
  }
}

LogicalResult zero::Plan::findStages(ModuleOp module) {
  auto count = module->getAttrOfType<IntegerAttr>(kStages);
  ptl::AccumulateOp loop = stage::mainLoop(step.getBody().front());
  if (!pipeline || !count || !loop)
    return success();
  parts.emplace(loop, static_cast<int>(count.getInt()));
  if (failed(parts->find()))
    return failure();
  stages = parts->stagesOfArguments();
  step.walk([&](ptl::OptimizeOp op) {
    if (!op.readsGradients())
      return;
    for (auto [weight, gradient] : llvm::zip_equal(op.getWeights(), op.getGrads()))
      for (Value sum : stage::sumsOf(gradient, loop))
        stages[weight].insert(parts->stageOf(parts->ofSum(cast<OpResult>(sum).getResultNumber())));
  });
  return success();
}

SmallVector<int64_t> zero::Plan::stagesOf(Value weight) const {
  auto found = stages.find(weight);
  return found == stages.end() ? SmallVector<int64_t>()
                               : SmallVector<int64_t>(found->second.begin(), found->second.end());
}

int zero::Plan::partOf(Operation *op) const { return parts ? parts->of(op).value_or(0) : 0; }

size_t zero::Plan::numberOf(StringAttr axis) const { return llvm::find(all, axis) - all.begin(); }

Axes zero::Plan::sorted(ArrayRef<StringAttr> axes) const {
  Axes result;
  for (StringAttr axis : all)
    if (llvm::is_contained(axes, axis))
      result.push_back(axis);
  return result;
}

Axes zero::Plan::cutAxes(BlockArgument weight) const {
  Axes axes;
  func::FuncOp function = step;
  auto sharding =
      function.getArgAttrOfType<spmd::ShardingAttr>(weight.getArgNumber(), "spmd.sharding");
  if (sharding)
    for (spmd::AxesAttr list : sharding.getDims())
      llvm::append_range(axes, list.getNames());
  return sorted(axes);
}

Rule zero::Plan::ruleFor(BlockArgument weight) const {
  func::FuncOp function = step;
  auto path = function.getArgAttrOfType<StringAttr>(weight.getArgNumber(), "ptl.path");
  Rule rule = path ? rules.lookup(path.getValue()) : Rule();
  Axes cut = cutAxes(weight);
  llvm::erase_if(rule.axes, [&](StringAttr axis) { return llvm::is_contained(cut, axis); });
  return rule.axes.empty() ? Rule() : rule;
}

spmd::AxesAttr zero::Plan::attribute(ArrayRef<StringAttr> axes) const {
  spmd::MeshOp op = mesh;
  return spmd::AxesAttr::get(op.getContext(), axes);
}
