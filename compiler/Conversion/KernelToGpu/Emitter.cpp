//===- Emitter.cpp - A row kernel as threads: rows ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelToGpu/Emitter.h"

#include "compiler/Conversion/KernelScalars/Arithmetic.h"
#include "compiler/Conversion/KernelToGpu/KernelToGpu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

Value GpuEmitter::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AndIOp::create(b, x, y);
}

Value GpuEmitter::isFirstLane() {
  if (mapping.team == 1)
    return {};
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, integer(b, 0));
}

/// Emits `body` where `condition` holds; without one, everywhere.
void GpuEmitter::guarded(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Scope scope(*this);
  unsigned outer = std::exchange(region, memos.size() - 1);
  body();
  region = outer;
}

/// Emits a loop over [0, end). In its body `carried` are the values of the iteration, which the
/// body replaces by the next ones.
void GpuEmitter::countTo(int64_t end, Values &carried, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, integer(b, 0), integer(b, end), integer(b, 1), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    // An empty loop comes with a terminator only if it carries nothing.
    if (carried.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToStart(loop.getBody());
    Scope scope(*this);
    unsigned outer = std::exchange(region, memos.size() - 1);
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    body(loop.getInductionVar());
    region = outer;
    if (!carried.empty())
      scf::YieldOp::create(b, carried);
  }
  carried.assign(loop.getResults().begin(), loop.getResults().end());
}

void GpuEmitter::setUp(gpu::GPUFuncOp gpuFunction) {
  function = gpuFunction;
  // Copied: shared memory adds arguments to the block.
  arguments.assign(function.getArguments().begin(), function.getArguments().end());
  slots = ValueRange(arguments).take_front(binding.slots);
  scalars =
      ValueRange(arguments).slice(binding.slots, graph.scalars.size() + binding.accumulatesAny());
  if (arguments.size() > binding.slots + scalars.size())
    workspace = arguments.back();
  if (binding.accumulatesAny())
    accumulateFlag =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, scalars.back(), integer(b, 0));
  Type i64 = b.getI64Type();
  thread = arith::IndexCastOp::create(b, i64, gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  block = arith::IndexCastOp::create(b, i64, gpu::BlockIdOp::create(b, gpu::Dimension::x));
  if (mapping.team == mapping.block) {
    lane = thread;
    team = block;
    return;
  }
  Value width = integer(b, mapping.team), perBlock = integer(b, mapping.block / mapping.team);
  lane = arith::RemUIOp::create(b, thread, width);
  Value within = arith::DivUIOp::create(b, thread, width);
  team = arith::AddIOp::create(b, arith::MulIOp::create(b, block, perBlock), within);
}

/// The row dimensions that sums keep: one index of them per team.
void GpuEmitter::findKept() {
  keptIndices.assign(graph.dims.size(), {});
  if (mapping.kept.empty())
    return;
  SmallVector<int64_t> sizes;
  for (DimId dim : mapping.kept)
    sizes.push_back(size(dim));
  int64_t volume = graph.volume(mapping.kept);
  Value number = team;
  if (mapping.teams() > volume) {
    Value bound = integer(b, volume);
    keptActive = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, team, bound);
    number = arith::MinUIOp::create(b, team, integer(b, volume - 1));
  }
  for (auto [dim, index] : llvm::zip_equal(mapping.kept, unflattened(number, sizes)))
    keptIndices[dim] = index;
}

void GpuEmitter::emit(gpu::GPUFuncOp gpuFunction) {
  Scope scope(*this);
  setUp(gpuFunction);
  findKept();
  prepareChunks();
  for (const RowSum &sum : sums)
    for (unsigned i = 0; i < sum.count; ++i)
      held.push_back(identityOf(b, sum.node->combine, sum.node->elem));
  for (const Loop &loop : plan.loops())
    for (const Action &action : loop.actions)
      if (action.kind == Action::Scatter)
        startScatter(loop, action);
  if (mapping.iterations > 1) {
    countTo(mapping.iterations, held, [&](Value number) {
      emitRow(number);
      // The next row writes to the shared memory that slower threads still read.
      if (reductions % 2 == 1 || !scratchBase.empty())
        synchronise();
    });
  } else {
    Scope row(*this);
    region = memos.size() - 1;
    emitRow(integer(b, 0));
    region = 0;
  }
  finishSums();
}

void GpuEmitter::emitRow(Value number) {
  iteration = number;
  rowIndices = keptIndices;
  rowActive = keptActive;
  DimList dims;
  SmallVector<int64_t> sizes;
  for (DimId dim : graph.iterate)
    if (!llvm::is_contained(mapping.kept, dim)) {
      dims.push_back(dim);
      sizes.push_back(size(dim));
    }
  Value row = number;
  if (mapping.kept.empty() && !mapping.owned) {
    row = team;
    if (mapping.iterations > 1)
      row = arith::AddIOp::create(b, arith::MulIOp::create(b, number, integer(b, mapping.teams())),
                                  team);
    if (mapping.teams() * mapping.iterations > mapping.rows) {
      Value rows = integer(b, mapping.rows);
      rowActive = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, rows);
      row = arith::MinUIOp::create(b, row, integer(b, mapping.rows - 1));
    }
  }
  for (auto [dim, index] : llvm::zip_equal(dims, unflattened(row, sizes)))
    rowIndices[dim] = index;
  if (mapping.owned)
    emitOwnedRow();
  else
    emitLoops();
}

/// A team treats a row if it adds it somewhere, or if it stores the row's own results.
void GpuEmitter::emitOwnedRow() {
  Value teams = integer(b, mapping.teams()), any;
  auto isMine = [&](Value number) -> Value {
    Value owner = arith::RemUIOp::create(b, number, teams);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, owner, team);
  };
  auto add = [&](Value mine) {
    any = any ? Value(arith::OrIOp::create(b, any, mine)) : mine;
    return mine;
  };
  for (const Loop &loop : plan.loops())
    for (const Action &action : loop.actions) {
      if (action.kind == Action::Store && !rowActive)
        rowActive = add(isMine(iteration));
      if (action.kind != Action::Scatter)
        continue;
      Value id = evaluate(action.node->operands[0], rowIndices);
      id = arith::ExtSIOp::create(b, b.getI64Type(), id);
      scatterIds[action.node] = id;
      // What has a negative index isn't added.
      Value valid = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, id, integer(b, 0));
      scatterActive[action.node] = add(both(isMine(id), valid));
    }
  guarded(any, [&] { emitLoops(); });
}

void GpuEmitter::emitLoops() {
  rowValues.clear();
  for (unsigned i = 0; i < plan.loops().size(); ++i)
    emitLoop(i);
}

void GpuEmitter::finishSums() {
  rowActive = keptActive;
  rowIndices = keptIndices;
  for (RowSum &sum : sums) {
    b.setLoc(sum.node->loc);
    if (sum.inner.empty())
      storeScalarSum(sum);
    else if (sum.count)
      storeSum(sum);
  }
}

gpu::GPUFuncOp kernel::createFunction(gpu::GPUModuleOp module, StringRef name, const Graph &graph,
                                      const Binding &binding, int64_t workspace, unsigned block,
                                      int64_t grid, Location loc) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext(), 1);
  SmallVector<Type> types(binding.slots, pointer);
  types.append(graph.scalars.size() + binding.accumulatesAny(), builder.getI64Type());
  if (workspace)
    types.push_back(pointer);
  auto function = gpu::GPUFuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr({int32_t(block), 1, 1}));
  // At least one block for each multiprocessor: without this bound ptxas aims at more, and rather
  // spills some words than miss its aim.
  function->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(1));
  function->setAttr("rt.grid", builder.getI64IntegerAttr(grid));
  if (workspace)
    function->setAttr("rt.workspace", builder.getI64IntegerAttr(workspace));
  // Denormal numbers are zero: all arithmetic is .ftz.
  function->setAttr("passthrough", builder.getArrayAttr({builder.getStrArrayAttr(
                                       {"denormal-fp-math-f32", "preserve-sign,preserve-sign"})}));
  for (auto [i, type] : llvm::enumerate(types)) {
    if (type != pointer)
      continue;
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    if (i >= binding.slots || binding.aligned[i])
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(16));
    if (i < binding.slots && !llvm::is_contained(binding.outputSlots, i))
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  }
  return function;
}

std::string kernel::emitGpuKernel(gpu::GPUModuleOp module, StringRef name, const Graph &graph,
                                  const RowPlan &plan, const Binding &binding, Location loc) {
  std::string error;
  std::optional<Mapping> mapping = mapToThreads(graph, plan, binding, error);
  if (!mapping)
    return error;
  int64_t workspace = 0;
  std::vector<RowSum> sums = planRowSums(graph, plan, *mapping, workspace);
  gpu::GPUFuncOp function =
      createFunction(module, name, graph, binding, workspace, mapping->block, mapping->grid, loc);
  auto b = ImplicitLocOpBuilder::atBlockBegin(loc, &function.getBody().front());
  GpuEmitter(b, graph, plan, binding, *mapping, sums).emit(function);
  b.setLoc(loc);
  gpu::ReturnOp::create(b);
  if (workspace)
    emitSumOfParts(module, (name + "_sum").str(), graph, plan, binding, *mapping, sums, workspace,
                   loc);
  return "";
}
