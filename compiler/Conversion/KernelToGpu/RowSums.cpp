//===- RowSums.cpp - A row kernel as threads: sums over rows --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A team adds up its rows in registers, or in memory if a row is too long, and
// writes its part once. Where it looked at all rows of the sum, that is the
// result; else a second kernel adds the parts in order. A sum without dimensions
// of the row is first added over the block.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelScalars/Arithmetic.h"
#include "compiler/Conversion/KernelToGpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

/// Threads of a block that adds parts.
static constexpr unsigned kSumBlock = 128;

/// Chunks of a thread in a loop over `elements`; see GpuEmitter::forEachChunk.
static int64_t chunkCount(int64_t elements, unsigned lanes, unsigned team) {
  int64_t vectors = elements / lanes;
  return llvm::divideCeil(vectors, team) + llvm::divideCeil(elements - vectors * lanes, team);
}

std::vector<RowSum> kernel::planRowSums(const Graph &graph, const RowPlan &plan,
                                        const Mapping &mapping, int64_t &workspace) {
  constexpr int64_t kAlign = 16;
  std::vector<RowSum> sums;
  unsigned values = 0;
  for (auto [number, loop] : llvm::enumerate(plan.loops()))
    for (const Action &action : loop.actions) {
      if (action.kind != Action::AddRow)
        continue;
      RowSum sum{};
      sum.node = action.node;
      sum.output = action.output;
      sum.loop = number;
      sum.inner = graph.inner(graph.outputs[action.output].dims);
      sum.whole = graph.outputs[action.output].dims.size() > sum.inner.size();
      sum.first = values;
      int64_t bytes = byteSize(action.node->elem);
      sum.stride = llvm::alignTo(graph.volume(sum.inner), kAlign / bytes);
      if (sum.inner.empty())
        sum.count = 1;
      else if (mapping.sumsInRegisters)
        sum.count = mapping.lanes[number] *
                    chunkCount(graph.volume(loop.dims), mapping.lanes[number], mapping.team);
      values += sum.count;
      if (!sum.whole) {
        sum.place = workspace;
        workspace += sum.stride * bytes * (sum.inner.empty() ? mapping.grid : mapping.teams());
      }
      sums.push_back(sum);
    }
  return sums;
}

RowSum *GpuEmitter::sumOf(const Action &action) {
  return &*llvm::find_if(sums, [&](const RowSum &sum) { return sum.output == action.output; });
}

/// Where this team's part lies: the result itself if it is the whole sum.
Value GpuEmitter::sumBase(const RowSum &sum) {
  if (sum.whole)
    return outputBase(sum.output);
  Value number = sum.inner.empty() ? block : team;
  int64_t bytes = byteSize(sum.node->elem);
  Value place = apply(IndexOp::Times, number, sum.stride * bytes);
  place = apply(IndexOp::AddConstant, place, sum.place);
  return LLVM::GEPOp::create(b, workspace.getType(), b.getI8Type(), workspace,
                             ArrayRef<LLVM::GEPArg>{place}, LLVM::GEPNoWrapFlags::inbounds);
}

void GpuEmitter::addToSum(RowSum &sum, const Chunk &chunk, unsigned place, ValueRange values) {
  const Node &node = *sum.node;
  Values parts(values);
  if (rowActive)
    for (Value &part : parts)
      part = arith::SelectOp::create(b, rowActive, part, identityOf(b, node.combine, node.elem));
  if (!sum.count)
    return addInMemory(sum, chunk, parts);
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value &total = held[sum.first + place * mapping.lanes[sum.loop] + i];
    total = combineValues(b, node.combine, total, part);
  }
}

void GpuEmitter::addInMemory(RowSum &sum, const Chunk &chunk, ValueRange values) {
  const Node &node = *sum.node;
  Chunk where = chunk;
  where.at = laneOf(chunk, 0);
  // Without the whole sum, teams that have no row write what changes nothing.
  Value active = sum.whole ? both(chunk.active, keptActive) : chunk.active;
  guarded(active, [&] {
    const DimList &dims = sum.whole ? graph.outputs[sum.output].dims : sum.inner;
    Strides strides = sum.whole ? binding.outputs[sum.output] : packed(dims);
    Value base = sumBase(sum);
    Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, iteration, integer(b, 0));
    if (sum.whole && binding.accumulates[sum.output])
      first = arith::AndIOp::create(
          b, first, arith::XOrIOp::create(b, accumulateFlag, number(b, Elem::I1, 1)));
    Values totals = loadLanes(base, node.elem, dims, strides, where);
    for (auto [total, value] : llvm::zip_equal(totals, values)) {
      total = arith::SelectOp::create(b, first, identityOf(b, node.combine, node.elem), total);
      total = combineValues(b, node.combine, total, value);
    }
    storeLanes(totals, base, node.elem, dims, strides, where);
  });
}

void GpuEmitter::addScalar(RowSum &sum, Value value) {
  const Node &node = *sum.node;
  if (rowActive)
    value = arith::SelectOp::create(b, rowActive, value, identityOf(b, node.combine, node.elem));
  held[sum.first] = combineValues(b, node.combine, held[sum.first], value);
}

/// What the result starts with: what lies there already, or nothing.
static Value startOf(ImplicitLocOpBuilder &b, const Node &node, Value accumulateFlag, Value old) {
  Value none = identityOf(b, node.combine, node.elem);
  return accumulateFlag ? Value(arith::SelectOp::create(b, accumulateFlag, old, none)) : none;
}

void GpuEmitter::storeSum(RowSum &sum) {
  const Node &node = *sum.node;
  unsigned lanes = mapping.lanes[sum.loop];
  Values none;
  forEachChunk(
      plan.loops()[sum.loop].dims, lanes, true, none, [&](const Chunk &chunk, unsigned place) {
        Chunk where = chunk;
        where.at = laneOf(chunk, 0);
        guarded(both(chunk.active, sum.whole ? keptActive : Value()), [&] {
          ArrayRef<Value> totals = ArrayRef(held).slice(sum.first + place * lanes, chunk.lanes);
          if (!sum.whole)
            return storeLanes(totals, sumBase(sum), node.elem, sum.inner, packed(sum.inner), where);
          Values results(totals);
          const DimList &dims = graph.outputs[sum.output].dims;
          const Strides &strides = binding.outputs[sum.output];
          Value base = sumBase(sum);
          if (binding.accumulates[sum.output]) {
            Values old = loadLanes(base, node.elem, dims, strides, where);
            for (auto [result, before] : llvm::zip_equal(results, old))
              result =
                  combineValues(b, node.combine, startOf(b, node, accumulateFlag, before), result);
          }
          storeLanes(results, base, node.elem, dims, strides, where);
        });
      });
}

void GpuEmitter::storeScalarSum(RowSum &sum) {
  const Node &node = *sum.node;
  Values total = {held[sum.first]};
  bool once = plan.loops()[sum.loop].dims.empty();
  // Lanes that computed the same value count once.
  if (Value first = once ? isFirstLane() : Value())
    total[0] = arith::SelectOp::create(b, first, total[0], identityOf(b, node.combine, node.elem));
  reduceOverTeam({&node}, total, sum.whole ? mapping.team : mapping.block);
  Value writer =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, sum.whole ? lane : thread, integer(b, 0));
  guarded(both(writer, sum.whole ? keptActive : Value()), [&] {
    Value base = sumBase(sum);
    if (!sum.whole)
      return store(total[0], base, node.elem, {});
    Value place = offset(graph.outputs[sum.output].dims, binding.outputs[sum.output], rowIndices);
    if (binding.accumulates[sum.output]) {
      Value old = load(base, node.elem, place);
      total[0] = combineValues(b, node.combine, startOf(b, node, accumulateFlag, old), total[0]);
    }
    store(total[0], base, node.elem, place);
  });
}

/// Elements of a vector of the result.
static unsigned partLanes(const Graph &graph, const RowSum &sum) {
  if (sum.inner.empty())
    return 1;
  int64_t last = graph.dims[sum.inner.back()].size;
  bool aligned = last % Mapping::kVector == 0 || (sum.inner.size() == 1 && last > Mapping::kVector);
  return aligned && byteSize(sum.node->elem) == 4 ? Mapping::kVector : 1;
}

/// Adds the parts of units [0, count) of `lanes` elements from `origin` on, a unit per thread.
void GpuEmitter::addParts(const RowSum &sum, int64_t origin, int64_t count, unsigned lanes) {
  const Node &node = *sum.node;
  b.setLoc(node.loc);
  Value unit =
      arith::AddIOp::create(b, arith::MulIOp::create(b, block, integer(b, kSumBlock)), thread);
  Value active = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, unit, integer(b, count));
  unit = apply(IndexOp::Min, unit, count - 1);
  Value element = apply(IndexOp::AddConstant, apply(IndexOp::Times, unit, lanes), origin);
  Chunk chunk = chunkAt(sum.inner, element, lanes, active);
  Values totals(lanes, identityOf(b, node.combine, node.elem));
  int64_t bytes = byteSize(node.elem);
  countTo(sum.inner.empty() ? mapping.grid : mapping.teams(), totals, [&](Value part) {
    Value place = apply(IndexOp::Times, part, sum.stride * bytes);
    place = apply(IndexOp::AddConstant, place, sum.place);
    Value base = LLVM::GEPOp::create(b, workspace.getType(), b.getI8Type(), workspace,
                                     ArrayRef<LLVM::GEPArg>{place}, LLVM::GEPNoWrapFlags::inbounds);
    Values values = loadLanes(base, node.elem, sum.inner, packed(sum.inner), chunk);
    for (auto [total, value] : llvm::zip_equal(totals, values))
      total = combineValues(b, node.combine, total, value);
  });
  guarded(active, [&] {
    const Strides &strides = binding.outputs[sum.output];
    Value base = outputBase(sum.output);
    if (binding.accumulates[sum.output]) {
      Values old = loadLanes(base, node.elem, sum.inner, strides, chunk);
      for (auto [total, before] : llvm::zip_equal(totals, old))
        total = combineValues(b, node.combine, startOf(b, node, accumulateFlag, before), total);
    }
    storeLanes(totals, base, node.elem, sum.inner, strides, chunk);
  });
}

void GpuEmitter::emitParts(gpu::GPUFuncOp gpuFunction) {
  Scope scope(*this);
  setUp(gpuFunction);
  rowIndices.assign(graph.dims.size(), {});
  for (const RowSum &sum : sums) {
    if (sum.whole)
      continue;
    unsigned lanes = partLanes(graph, sum);
    int64_t elements = graph.volume(sum.inner), vectors = elements / lanes;
    addParts(sum, 0, vectors, lanes);
    if (elements > vectors * lanes)
      addParts(sum, vectors * lanes, elements - vectors * lanes, 1);
  }
}

void kernel::emitSumOfParts(gpu::GPUModuleOp module, StringRef name, const Graph &graph,
                            const RowPlan &plan, const Binding &binding, const Mapping &mapping,
                            ArrayRef<RowSum> sums, int64_t workspace, Location loc) {
  int64_t grid = 1;
  for (const RowSum &sum : sums)
    if (!sum.whole)
      grid = std::max<int64_t>(
          grid, llvm::divideCeil(graph.volume(sum.inner) / partLanes(graph, sum), kSumBlock));
  gpu::GPUFuncOp function =
      createFunction(module, name, graph, binding, workspace, kSumBlock, grid, loc);
  auto b = ImplicitLocOpBuilder::atBlockBegin(loc, &function.getBody().front());
  GpuEmitter(b, graph, plan, binding, mapping, sums).emitParts(function);
  b.setLoc(loc);
  gpu::ReturnOp::create(b);
}
