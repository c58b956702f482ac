//===- Loops.cpp - A row kernel as threads: loops over a row --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All values of a vector are computed before any is stored, so that an output may
// lie in the memory of an operand: nobody but this thread reads its elements in
// that loop. A fold has an accumulator for each lane of a vector.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelScalars/Arithmetic.h"
#include "compiler/Conversion/KernelToGpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

/// A fold whose value travels through the loops.
bool GpuEmitter::isFold(const Action &action) const {
  return action.kind == Action::Reduce ||
         (action.kind == Action::AddRow && graph.inner(graph.outputs[action.output].dims).empty());
}

GpuEmitter::Chunk GpuEmitter::chunkAt(ArrayRef<DimId> dims, Value first, unsigned lanes,
                                      Value active) {
  SmallVector<int64_t> sizes;
  for (DimId dim : dims)
    sizes.push_back(size(dim));
  Chunk chunk;
  chunk.at.assign(graph.dims.size(), {});
  for (auto [dim, index] : llvm::zip_equal(dims, unflattened({first, 0, lanes}, sizes)))
    chunk.at[dim] = index;
  chunk.lanes = lanes;
  chunk.active = active;
  return chunk;
}

/// The indices of one lane, with those of the row.
Indices GpuEmitter::laneOf(const Chunk &chunk, unsigned number) const {
  Indices at = chunk.at;
  for (auto [index, row] : llvm::zip_equal(at, rowIndices)) {
    if (!index)
      index = row;
    else if (index.lanes > 1)
      index.lane = number;
  }
  return at;
}

/// The chunk of this thread among units [begin, end) of `lanes` elements; unit 0 is element
/// `origin`.
GpuEmitter::Chunk GpuEmitter::unitChunk(ArrayRef<DimId> dims, int64_t origin, int64_t begin,
                                        int64_t end, unsigned lanes) {
  Value unit = apply(IndexOp::AddConstant, lane, begin), active;
  if (begin + mapping.team > end) {
    active = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, lane, integer(b, end - begin));
    unit = apply(IndexOp::Min, unit, end - 1);
  }
  Value first = apply(IndexOp::AddConstant, apply(IndexOp::Times, unit, lanes), origin);
  return chunkAt(dims, first, lanes, active);
}

/// Calls `body` for the chunks of this thread, with their number. Unrolled, they are the same
/// values in all loops of equal dimensions, so that what they load is found again.
void GpuEmitter::forEachChunk(ArrayRef<DimId> dims, unsigned lanes, bool unrolled, Values &carried,
                              llvm::function_ref<void(const Chunk &, unsigned)> body) {
  int64_t elements = graph.volume(dims), vectors = elements / lanes, done = 0;
  if (!unrolled && vectors / mapping.team > 1) {
    int64_t full = vectors / mapping.team;
    countTo(full, carried, [&](Value number) {
      Value unit = arith::AddIOp::create(b, apply(IndexOp::Times, number, mapping.team), lane);
      body(chunkAt(dims, apply(IndexOp::Times, unit, lanes), lanes, {}), 0);
    });
    done = full * mapping.team;
  }
  auto key = std::make_pair(DimList(dims), lanes);
  auto found = llvm::find_if(chunks, [&](const auto &entry) { return entry.first == key; });
  if (found == chunks.end() || !unrolled) {
    std::vector<Chunk> list;
    for (; done < vectors; done += mapping.team)
      list.push_back(unitChunk(dims, 0, done, vectors, lanes));
    int64_t tail = elements - vectors * lanes;
    for (done = 0; done < tail; done += mapping.team)
      list.push_back(unitChunk(dims, vectors * lanes, done, tail, 1));
    if (!unrolled) {
      for (auto [number, chunk] : llvm::enumerate(list))
        body(chunk, number);
      return;
    }
    chunks.push_back({key, std::move(list)});
    found = std::prev(chunks.end());
  }
  std::vector<Chunk> list = found->second;
  for (auto [number, chunk] : llvm::enumerate(list))
    body(chunk, number);
}

/// Which chunks there are doesn't depend on the row.
void GpuEmitter::prepareChunks() {
  Values none;
  if (mapping.resident)
    for (auto [number, loop] : llvm::enumerate(plan.loops()))
      if (!loop.dims.empty())
        forEachChunk(loop.dims, mapping.lanes[number], true, none, [](const Chunk &, unsigned) {});
}

void GpuEmitter::emitLoop(unsigned number) {
  const Loop &loop = plan.loops()[number];
  if (loop.dims.empty())
    return emitOnce(loop);
  if (number > 0 && mustOrderLoops())
    synchronise();
  Scope scope(*this);
  bool accumulates = false, other = false;
  for (const Action &action : loop.actions) {
    if (action.kind == Action::Accumulate) {
      emitAccumulate(action);
      accumulates = true;
    } else if (action.kind != Action::Keep) {
      other = true;
    }
  }
  if (accumulates)
    synchronise();
  if (!other)
    return;
  unsigned lanes = mapping.lanes[number];
  Values folds;
  for (const Action &action : loop.actions)
    if (isFold(action))
      folds.append(lanes, identityOf(b, action.node->combine, action.node->elem));
  forEachChunk(loop.dims, lanes, mapping.resident, folds, [&](const Chunk &chunk, unsigned place) {
    emitChunk(loop, chunk, place, lanes, folds);
  });
  finishFolds(loop, lanes, folds);
}

/// True if a thread may overwrite what another one reads in an earlier loop that visits the row in
/// another order.
bool GpuEmitter::mustOrderLoops() const {
  bool inPlace = llvm::any_of(binding.outputSlots, [&](unsigned slot) {
    return llvm::is_contained(binding.argumentSlots, slot);
  });
  const DimList *first = nullptr;
  bool differ = false;
  for (const Loop &loop : plan.loops()) {
    if (loop.dims.empty())
      continue;
    differ |= first && *first != loop.dims;
    first = &loop.dims;
  }
  return inPlace && differ && mapping.team > 1;
}

/// The node whose value an action takes.
static const Node *sourceOf(const Action &action) {
  if (action.kind == Action::Store)
    return action.node;
  return action.node->operands[action.kind == Action::Scatter ? 1 : 0];
}

/// What is done once per row: all lanes compute it, the first one stores it.
void GpuEmitter::emitOnce(const Loop &loop) {
  Scope scope(*this);
  Chunk chunk;
  chunk.at = rowIndices;
  std::vector<Values> values;
  for (const Action &action : loop.actions) {
    b.setLoc(action.node->loc);
    values.push_back({evaluate(sourceOf(action), rowIndices)});
    if (action.kind == Action::Reduce)
      rowValues[action.node] = values.back()[0];
    else if (action.kind == Action::AddRow)
      addScalar(*sumOf(action), values.back()[0]);
  }
  chunk.active = isFirstLane();
  writeChunk(loop, chunk, values);
}

void GpuEmitter::emitChunk(const Loop &loop, const Chunk &chunk, unsigned place, unsigned lanes,
                           Values &folds) {
  std::vector<Values> values(loop.actions.size());
  unsigned fold = 0;
  for (auto [number, action] : llvm::enumerate(loop.actions)) {
    if (action.kind == Action::Keep || action.kind == Action::Accumulate)
      continue;
    b.setLoc(action.node->loc);
    for (unsigned i = 0; i < chunk.lanes; ++i)
      values[number].push_back(evaluate(sourceOf(action), laneOf(chunk, i)));
  }
  for (auto [number, action] : llvm::enumerate(loop.actions)) {
    b.setLoc(action.node->loc);
    const Node &node = *action.node;
    if (isFold(action)) {
      for (unsigned i = 0; i < chunk.lanes; ++i) {
        Value x = values[number][i];
        if (chunk.active)
          x = arith::SelectOp::create(b, chunk.active, x, identityOf(b, node.combine, node.elem));
        Value &sum = folds[fold * lanes + i];
        sum = combineValues(b, node.combine, sum, x);
      }
      ++fold;
    } else if (action.kind == Action::AddRow) {
      addToSum(*sumOf(action), chunk, place, values[number]);
    }
  }
  writeChunk(loop, chunk, values);
}

void GpuEmitter::writeChunk(const Loop &loop, const Chunk &chunk, ArrayRef<Values> values) {
  auto isWrite = [](const Action &action) {
    return action.kind == Action::Store || action.kind == Action::Scatter;
  };
  if (llvm::none_of(loop.actions, isWrite))
    return;
  auto write = [&](const Action &action, ArrayRef<Value> source) {
    const Output &output = graph.outputs[action.output];
    const Node &node = *action.node;
    Chunk where = chunk;
    where.at = laneOf(chunk, 0);
    bool scatter = action.kind == Action::Scatter;
    if (scatter)
      where.at[node.over[0]] = scatterIds[&node];
    Value base = outputBase(action.output);
    const Strides &strides = binding.outputs[action.output];
    Values results(source);
    if (scatter || binding.accumulates[action.output]) {
      Values old = loadLanes(base, node.elem, output.dims, strides, where);
      for (auto [result, before] : llvm::zip_equal(results, old)) {
        Value sum = combineValues(b, Combine::Sum, before, result);
        result = scatter ? sum : Value(arith::SelectOp::create(b, accumulateFlag, sum, result));
      }
    }
    storeLanes(results, base, node.elem, output.dims, strides, where);
  };
  guarded(chunk.active, [&] {
    for (Action::Kind kind : {Action::Store, Action::Scatter})
      for (auto [action, source] : llvm::zip_equal(loop.actions, values)) {
        if (action.kind != kind)
          continue;
        b.setLoc(action.node->loc);
        guarded(kind == Action::Store ? rowActive : scatterActive[action.node],
                [&] { write(action, source); });
      }
  });
}

/// A fold that leaves dimensions of the row: each thread folds whole results, into shared memory.
void GpuEmitter::emitAccumulate(const Action &action) {
  const Node &node = *action.node;
  b.setLoc(node.loc);
  DimList left = plan.scratch(&node)->dims, over;
  SmallVector<int64_t> leftSizes, overSizes;
  for (DimId dim : left)
    leftSizes.push_back(size(dim));
  for (DimId dim : graph.inner(node.operandDims))
    if (llvm::is_contained(node.over, dim)) {
      over.push_back(dim);
      overSizes.push_back(size(dim));
    }
  int64_t results = graph.volume(left);
  Value &memory = scratchBase[&node];
  if (!memory)
    memory = sharedMemory(b.getI64Type(), results * mapping.teamsPerBlock());
  unsigned lanes = overSizes.back() % Mapping::kVector == 0 ? Mapping::kVector : 1;
  Values none;
  forEachChunk(left, 1, false, none, [&](const Chunk &chunk, unsigned) {
    Values folds(lanes, identityOf(b, node.combine, node.elem));
    countTo(graph.volume(over) / lanes, folds, [&](Value number) {
      Chunk part = chunkAt(over, apply(IndexOp::Times, number, lanes), lanes, {});
      for (DimId dim : left)
        part.at[dim] = chunk.at[dim];
      for (auto [i, fold] : llvm::enumerate(folds))
        fold = combineValues(b, node.combine, fold, evaluate(node.operands[0], laneOf(part, i)));
    });
    for (unsigned i = 1; i < lanes; ++i)
      folds[0] = combineValues(b, node.combine, folds[0], folds[i]);
    guarded(chunk.active, [&] {
      memref::StoreOp::create(b, toWord(folds[0], node.elem), memory,
                              ValueRange{scratchIndex(left, chunk.at)});
    });
  });
}

/// Folds lanes, then threads.
void GpuEmitter::finishFolds(const Loop &loop, unsigned lanes, Values &folds) {
  SmallVector<const Node *> nodes;
  Values values;
  unsigned number = 0;
  for (const Action &action : loop.actions) {
    if (!isFold(action))
      continue;
    Combine combine = action.node->combine;
    Value *first = &folds[number++ * lanes];
    for (unsigned step = 1; step < lanes; step *= 2)
      for (unsigned i = 0; i < lanes; i += 2 * step)
        first[i] = combineValues(b, combine, first[i], first[i + step]);
    if (action.kind == Action::AddRow) {
      addScalar(*sumOf(action), *first);
      continue;
    }
    nodes.push_back(action.node);
    values.push_back(*first);
  }
  reduceOverTeam(nodes, values, mapping.team);
  for (auto [node, value] : llvm::zip_equal(nodes, values))
    rowValues[node] = value;
}

/// Zero, or what the result starts with, in the part of the result that this team owns.
void GpuEmitter::startScatter(const Loop &loop, const Action &action) {
  const Output &output = graph.outputs[action.output];
  const Node &node = *action.node;
  const Node *init = node.operands.size() > 2 ? node.operands[2] : nullptr;
  if (init && init->kind == NodeKind::Input &&
      binding.argumentSlots[init->argument] == binding.outputSlots[action.output])
    return;
  Value fresh;
  if (binding.accumulates[action.output])
    fresh = arith::XOrIOp::create(b, accumulateFlag, number(b, Elem::I1, 1));
  rowIndices.assign(graph.dims.size(), {});
  unsigned lanes = mapping.lanes[&loop - plan.loops().data()];
  auto fill = [&](const Chunk &chunk, unsigned) {
    Values values;
    for (unsigned i = 0; i < chunk.lanes; ++i)
      values.push_back(init ? evaluate(init, laneOf(chunk, i)) : number(b, node.elem, 0));
    Chunk where = chunk;
    where.at = laneOf(chunk, 0);
    guarded(chunk.active, [&] {
      storeLanes(values, outputBase(action.output), node.elem, output.dims,
                 binding.outputs[action.output], where);
    });
  };
  int64_t places = size(node.over[0]);
  Values none;
  guarded(fresh, [&] {
    countTo(llvm::divideCeil(places, mapping.teams()), none, [&](Value number) {
      Value place = arith::AddIOp::create(b, apply(IndexOp::Times, number, mapping.teams()), team);
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place, integer(b, places));
      guarded(inside, [&] {
        rowIndices[node.over[0]] = place;
        forEachChunk(loop.dims, lanes, false, none, fill);
      });
    });
  });
}
