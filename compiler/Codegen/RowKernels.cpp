//===- RowKernels.cpp - Generated kernels of a program --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/RowKernels.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"
#include "compiler/Analysis/Kernel/Collapse.h"
#include "compiler/Analysis/Kernel/OptimizerGraph.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::codegen;

/// Elements that are worth a thread's wake-up.
static constexpr int64_t kGrainElements = 16384;
/// A bucket is divided into rows of this many elements, or of fewer, if it isn't a multiple of
/// them.
static constexpr int64_t kFlatRow = 1024;

static SmallVector<int64_t> sizes(const kernel::Graph &graph, ArrayRef<kernel::DimId> dims) {
  SmallVector<int64_t> result;
  for (kernel::DimId dim : dims)
    result.push_back(graph.dims[dim].size);
  return result;
}

/// The slot of `place` in `buffers`: operands in the same memory share one.
static unsigned slotOf(std::vector<Place> &buffers, const Place &place) {
  for (auto [slot, other] : llvm::enumerate(buffers))
    if (other.sameMemory(place))
      return slot;
  buffers.push_back(place);
  return buffers.size() - 1;
}

FailureOr<KernelCall> RowKernels::emit(kernel::Graph graph, std::vector<Place> operands,
                                       std::vector<Place> results, std::vector<bool> accumulates,
                                       Operation *op) {
  KernelCall call;
  kernel::Binding binding;
  auto bind = [&](ArrayRef<kernel::DimId> dims, const Place &place,
                  std::vector<kernel::Strides> &strides, std::vector<unsigned> &slots) {
    std::optional<kernel::Strides> found = kernel::stridesOf(sizes(graph, dims), place.layout);
    if (!found)
      return false;
    strides.push_back(*found);
    slots.push_back(slotOf(call.buffers, place));
    return true;
  };
  bool fits = true;
  for (auto [argument, place] : llvm::zip_equal(graph.arguments, operands))
    fits &= bind(argument.dims, place, binding.arguments, binding.argumentSlots);
  for (auto [output, place] : llvm::zip_equal(graph.outputs, results))
    fits &= bind(output.dims, place, binding.outputs, binding.outputSlots);
  if (!fits)
    return op->emitError("a buffer does not have the shape of its value"), failure();
  binding.slots = call.buffers.size();
  for (const Place &place : call.buffers)
    binding.aligned.push_back(place.isAligned());
  binding.accumulates = std::move(accumulates);
  kernel::collapseDims(graph, binding.arguments, binding.outputs);
  std::string error;
  std::optional<kernel::RowPlan> plan = kernel::RowPlan::create(graph, error);
  if (!plan)
    return op->emitError("can't generate a kernel: ") << error, failure();

  std::string &name = names[graph.key() + binding.key()];
  if (name.empty()) {
    name = "kernel_" + std::to_string(names.size() - 1);
    if (failed(emitKernel(name, graph, *plan, binding, op->getLoc())))
      return failure();
  }
  call.name = name;
  call.rows = graph.volume(graph.iterate);
  int64_t elements = 1;
  for (const kernel::Loop &loop : plan->loops())
    elements = std::max(elements, graph.volume(loop.dims));
  call.grain = plan->sequential()
                   ? call.rows
                   : std::max<int64_t>(1, llvm::divideCeil(kGrainElements, elements));
  call.scalars = graph.scalars;
  call.accumulates = binding.accumulatesAny();
  return call;
}

FailureOr<KernelCall> RowKernels::callGraph(kernel::Graph graph, std::vector<Place> operands,
                                            std::vector<Place> results, Operation *op) {
  std::vector<bool> accumulates(results.size(), false);
  return emit(std::move(graph), std::move(operands), std::move(results), std::move(accumulates),
              op);
}

FailureOr<KernelCall> RowKernels::call(rt::KernelOp kernel) {
  auto graph = kernel::buildGraph(kernel.getBody().front(), kernel.getIterate().getNames());
  if (failed(graph))
    return failure();
  std::vector<Place> operands, results;
  for (Value input : kernel.getInputs())
    operands.push_back(places->of(input));
  for (Value output : kernel.getOutputs())
    results.push_back(places->of(output));
  std::vector<bool> accumulates(results.size(), false);
  if (auto flags = kernel->getAttrOfType<DenseBoolArrayAttr>("rt.accumulate"))
    accumulates.assign(flags.asArrayRef().begin(), flags.asArrayRef().end());
  return emit(std::move(*graph), std::move(operands), std::move(results), std::move(accumulates),
              kernel);
}

/// The result of a kernel that returns `inner`.
static Value outputFor(rt::KernelOp kernel, Value inner) {
  ValueRange returned = kernel.getBody().front().getTerminator()->getOperands();
  return kernel.getOutputs()[llvm::find(returned, inner) - returned.begin()];
}

FailureOr<std::vector<KernelCall>> RowKernels::callFlat(rt::KernelOp kernel) {
  auto optimizers = kernel.getBody().getOps<ptl::OptimizeOp>();
  if (optimizers.empty())
    return kernel.emitOpError("of kind flat holds no optimizer"), failure();
  ptl::OptimizeOp optimize = *optimizers.begin();
  auto placeOf = [&](Value inner) {
    return places->of(kernel.getInputs()[cast<BlockArgument>(inner).getArgNumber()]);
  };
  auto bucket = kernel->getAttrOfType<IntegerAttr>("rt.bucket");
  unsigned weights = optimize.getWeights().size();
  std::vector<KernelCall> calls;
  for (unsigned i = 0; i < (bucket ? 1 : weights); ++i) {
    std::vector<Place> operands = {placeOf(optimize.getWeights()[i]),
                                   placeOf(optimize.getGrads()[i])};
    for (unsigned state = 0; state < optimize.getStatesPerWeight(); ++state)
      operands.push_back(placeOf(optimize.getStates()[state * weights + i]));
    kernel::MatrixLayout layout = operands.front().layout;
    if (bucket) {
      int64_t row = std::gcd(bucket.getInt(), kFlatRow);
      layout = {bucket.getInt() / row, row, row};
    }
    unsigned tensors = operands.size();
    for (Place &place : operands)
      place.layout = layout;
    for (Value hyper : optimize.getHypers())
      if (!hyper.getDefiningOp<ptl::ConstantOp>())
        operands.push_back(placeOf(hyper));
    operands.push_back(placeOf(optimize.getStep()));
    kernel::Graph graph = kernel::optimizerGraph(optimize, layout.rows, layout.cols);
    std::vector<Place> results = {operands[0]};
    if (optimize.makesDirections()) {
      results[0] = places->of(outputFor(kernel, optimize.getNewWeights()[i]));
      results[0].layout = layout;
    }
    results.insert(results.end(), operands.begin() + 2, operands.begin() + tensors);
    std::vector<bool> accumulates(results.size(), false);
    auto call = emit(std::move(graph), operands, results, accumulates, kernel);
    if (failed(call))
      return failure();
    calls.push_back(*call);
  }
  return calls;
}
