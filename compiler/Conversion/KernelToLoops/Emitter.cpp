//===- Emitter.cpp - Loops of a row kernel --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Per row, the loops of the plan in order. In the innermost body all values are
// computed before anything is stored, so that an output may lie in the memory of
// an operand. A fold without inner dimensions travels as a loop-carried value;
// others are added to in memory, which keeps the innermost loop free of
// dependences.
//
// A floating-point sum has the same bits in whichever kernel it is formed, so that
// stages, schedules and recomputation, which change kernels, change no number. Its
// order follows from the number of elements alone: the innermost loop is split into
// parts that are vectorised with a fixed number of lanes, and a rest that isn't.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelToLoops/Emitter.h"

#include "compiler/Conversion/KernelScalars/Arithmetic.h"
#include "compiler/Conversion/KernelToLoops/LoopHints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

SmallVector<Value> Emitter::count(Value begin, Value end, ValueRange carried,
                                  llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  Value one = integer(b, 1);
  auto loop = scf::ForOp::create(b, begin, end, one, carried);
  OpBuilder::InsertionGuard guard(b);
  // An empty loop comes with a terminator only if it carries nothing.
  if (carried.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

/// An outer loop that runs over more elements than this isn't unrolled.
static constexpr int64_t kUnrolled = 4096;

SmallVector<Value> Emitter::nestFold(DimId dim, Indices &at, ValueRange carried, Body body) {
  SmallVector<Value> values(carried);
  for (const FoldPart &part : foldPartsOf(size(dim))) {
    reorders = part.lanes > 1;
    values = count(integer(b, part.begin), integer(b, part.end), values,
                   [&](Value index, ValueRange now) {
                     fixLanes(b.getInsertionBlock()->getParentOp(), part);
                     Scope scope(*this);
                     at[dim] = index;
                     SmallVector<Value> next = body(now);
                     at[dim] = {};
                     return next;
                   });
  }
  return values;
}

SmallVector<Value> Emitter::nest(ArrayRef<DimId> dims, Indices &at, ValueRange carried,
                                 const Loop *hoistFor, Body body) {
  if (dims.empty())
    return body(carried);
  if (hoistFor)
    hoist(*hoistFor, at);
  if (dims.size() == 1 && folds)
    return nestFold(dims.front(), at, carried, body);
  bool large = dims.size() > 1 && graph.volume(dims) > kUnrolled;
  return count(integer(b, 0), integer(b, size(dims.front())), carried,
               [&](Value index, ValueRange values) {
                 if (large)
                   disableUnrolling(b.getInsertionBlock()->getParentOp());
                 Scope scope(*this);
                 at[dims.front()] = index;
                 SmallVector<Value> next = nest(dims.drop_front(), at, values, hoistFor, body);
                 at[dims.front()] = {};
                 return next;
               });
}

void Emitter::emitRows(Value begin, Value end, ValueRange slotValues, ValueRange scalarValues) {
  slots = slotValues;
  scalars = scalarValues;
  Scope scope(*this);
  rowIndices.assign(graph.dims.size(), {});
  if (binding.accumulatesAny())
    accumulateFlag =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, scalars.back(), integer(b, 0));
  for (const Node *node : plan.scratchNodes()) {
    Value elements = integer(b, std::max<int64_t>(1, graph.volume(plan.scratch(node)->dims)));
    Type type = memoryTypeOf(b.getContext(), node->elem);
    scratchBase[node] =
        LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), type, elements, 64);
  }
  initialise();
  for (const Loop &loop : plan.loops())
    hoist(loop, rowIndices);
  if (graph.volume(graph.iterate) == 1) {
    // Without a loop: LLVM would try to vectorise one in which nothing changes.
    Value any = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, begin, end);
    auto branch = scf::IfOp::create(b, any, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Scope rowScope(*this);
    return emitRow(integer(b, 0));
  }
  count(begin, end, {}, [&](Value row, ValueRange) {
    Scope rowScope(*this);
    emitRow(row);
    return SmallVector<Value>();
  });
}

/// Results that rows are added to start from zero, from `init`, or from what is there.
void Emitter::initialise() {
  for (const Loop &loop : plan.loops())
    for (const Action &action : loop.actions) {
      if (action.kind != Action::AddRow && action.kind != Action::Scatter)
        continue;
      if (!binding.accumulates[action.output]) {
        startOutput(action.output);
        continue;
      }
      Value fresh = arith::XOrIOp::create(b, accumulateFlag, number(b, Elem::I1, 1));
      auto branch = scf::IfOp::create(b, fresh, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      startOutput(action.output);
    }
}

void Emitter::startOutput(unsigned number) {
  Scope scope(*this);
  const Output &output = graph.outputs[number];
  const Node &node = *output.node;
  const Node *init =
      node.kind == NodeKind::ScatterAdd && node.operands.size() > 2 ? node.operands[2] : nullptr;
  if (init && init->kind == NodeKind::Input &&
      binding.argumentSlots[init->argument] == binding.outputSlots[number])
    return;
  Indices at(graph.dims.size());
  nest(output.dims, at, {}, nullptr, [&](ValueRange) {
    Combine combine = node.kind == NodeKind::Reduce ? node.combine : Combine::Sum;
    Value value = init ? evaluate(init, at) : identityOf(b, combine, node.elem);
    store(value, outputBase(number), node.elem, output.dims, binding.outputs[number], at);
    return SmallVector<Value>();
  });
}

void Emitter::emitRow(Value row) {
  // Split the row's number into indices, the last dimension fastest.
  Value rest = row;
  for (auto [i, dim] : llvm::enumerate(llvm::reverse(graph.iterate))) {
    if (i + 1 == graph.iterate.size()) {
      rowIndices[dim] = rest;
      break;
    }
    Value extent = integer(b, size(dim));
    rowIndices[dim] = Value(arith::RemUIOp::create(b, rest, extent));
    rest = arith::DivUIOp::create(b, rest, extent);
  }
  rowValues.clear();
  for (unsigned i = 0; i < plan.loops().size(); ++i)
    emitLoop(i);
}

/// A fold whose value travels through the loops.
bool Emitter::isCarried(const Action &action) const {
  return action.kind == Action::Reduce || plan.loops()[currentLoop].folded ||
         (action.kind == Action::AddRow && graph.inner(action.node->dims).empty());
}

static bool isSum(const Action &action) {
  return action.node->combine == Combine::Sum && action.node->elem == Elem::F32;
}

/// Folds the innermost dimensions, in the same order as where nothing else is left of a row.
void Emitter::emitFolds(const Loop &loop) {
  ArrayRef<DimId> dims = loop.dims;
  Indices at = rowIndices;
  nest(dims.drop_back(loop.folded), at, {}, &loop, [&](ValueRange) {
    SmallVector<Value> carried;
    for (const Action &action : loop.actions)
      carried.push_back(identityOf(b, action.node->combine, action.node->elem));
    folds = llvm::any_of(loop.actions, isSum);
    SmallVector<Value> results =
        nest(dims.take_back(loop.folded), at, carried, &loop,
             [&](ValueRange values) { return emitBody(loop, at, values); });
    folds = false;
    for (auto [action, value] : llvm::zip_equal(loop.actions, results)) {
      const DimList &left = plan.scratch(action.node)->dims;
      store(value, scratchBase[action.node], action.node->elem, left, packed(left), at);
    }
    return SmallVector<Value>();
  });
}

void Emitter::emitLoop(unsigned number) {
  const Loop &loop = plan.loops()[number];
  currentLoop = number;
  if (loop.folded)
    return emitFolds(loop);
  Indices at = rowIndices;
  SmallVector<Value> carried;
  for (const Action &action : loop.actions) {
    if (action.kind == Action::Select)
      return emitSelect(loop, action);
    if (isCarried(action))
      carried.push_back(identityOf(b, action.node->combine, action.node->elem));
    if (action.kind != Action::Accumulate)
      continue;
    const DimList &dims = plan.scratch(action.node)->dims;
    nest(dims, at, {}, nullptr, [&](ValueRange) {
      Value identity = identityOf(b, action.node->combine, action.node->elem);
      store(identity, scratchBase[action.node], action.node->elem, dims, packed(dims), at);
      return SmallVector<Value>();
    });
  }
  folds = llvm::any_of(loop.actions,
                       [&](const Action &action) { return isCarried(action) && isSum(action); });
  SmallVector<Value> results = nest(loop.dims, at, carried, &loop,
                                    [&](ValueRange values) { return emitBody(loop, at, values); });
  folds = false;
  finishLoop(loop, results);
}

SmallVector<Value> Emitter::emitBody(const Loop &loop, Indices &at, ValueRange carried) {
  SmallVector<Value> values;
  for (const Action &action : loop.actions) {
    b.setLoc(action.node->loc);
    bool ofOperand = action.kind != Action::Store && action.kind != Action::Keep;
    const Node *node =
        ofOperand ? action.node->operands[action.kind == Action::Scatter ? 1 : 0] : action.node;
    values.push_back(evaluate(node, at));
  }
  SmallVector<Value> next;
  for (auto [action, value] : llvm::zip_equal(loop.actions, values)) {
    const Node &node = *action.node;
    b.setLoc(node.loc);
    if (isCarried(action)) {
      next.push_back(combineValues(b, node.combine, carried[next.size()], value, reorders));
      continue;
    }
    if (action.kind == Action::Keep || action.kind == Action::Accumulate) {
      const DimList &dims = plan.scratch(&node)->dims;
      Value base = scratchBase[&node];
      if (action.kind == Action::Accumulate)
        value = combineValues(b, node.combine, load(base, node.elem, dims, packed(dims), at), value,
                              /*mayReorder=*/false);
      store(value, base, node.elem, dims, packed(dims), at);
      continue;
    }
    const Output &output = graph.outputs[action.output];
    const Strides &strides = binding.outputs[action.output];
    Value base = outputBase(action.output);
    Indices where = at;
    if (action.kind == Action::Scatter) {
      // What has a negative index isn't added: adding 0 to row 0 instead needs no branch.
      Value index = arith::ExtSIOp::create(b, b.getI64Type(), evaluate(node.operands[0], at));
      Value first = integer(b, 0);
      Value valid = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, index, first);
      where[node.over[0]] = Value(arith::MaxSIOp::create(b, index, first));
      value = arith::SelectOp::create(b, valid, value, number(b, node.elem, 0));
    }
    if (action.kind != Action::Store) {
      Combine combine = action.kind == Action::AddRow ? node.combine : Combine::Sum;
      value = combineValues(b, combine, load(base, node.elem, output.dims, strides, where), value,
                            /*mayReorder=*/false);
    } else if (binding.accumulates[action.output]) {
      Value sum =
          combineValues(b, Combine::Sum, load(base, node.elem, output.dims, strides, where), value,
                        /*mayReorder=*/false);
      value = arith::SelectOp::create(b, accumulateFlag, sum, value);
    }
    store(value, base, node.elem, output.dims, strides, where);
  }
  return next;
}

void Emitter::finishLoop(const Loop &loop, ValueRange results) {
  unsigned number = 0;
  for (const Action &action : loop.actions) {
    if (!isCarried(action))
      continue;
    Value value = results[number++];
    const Node &node = *action.node;
    if (action.kind == Action::Reduce) {
      rowValues[&node] = value;
      continue;
    }
    const Output &output = graph.outputs[action.output];
    const Strides &strides = binding.outputs[action.output];
    Value old = load(outputBase(action.output), node.elem, output.dims, strides, rowIndices);
    value = combineValues(b, node.combine, old, value, /*mayReorder=*/false);
    store(value, outputBase(action.output), node.elem, output.dims, strides, rowIndices);
  }
}

void Emitter::emitSelect(const Loop &loop, const Action &action) {
  Indices at = rowIndices;
  nest(loop.dims, at, {}, &loop, [&](ValueRange) {
    emitTopK(*action.node, at);
    return SmallVector<Value>();
  });
}

/// Elements are ordered by (value descending, index ascending); step j looks for the first one
/// after that of step j - 1, so nothing has to be marked.
void Emitter::emitTopK(const Node &node, Indices &at) {
  DimId from = node.over[0], to = node.over[1];
  const Node *operand = node.operands[0];
  Type f32 = b.getF32Type();
  Value low = identityOf(b, Combine::Max, Elem::F32), high = identityOf(b, Combine::Min, Elem::F32);
  Value none = integer(b, -1);
  auto less = [&](Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
  };
  auto either = [&](Value x, Value y) { return arith::OrIOp::create(b, x, y); };
  count(integer(b, 0), integer(b, size(to)), ValueRange{high, none},
        [&](Value step, ValueRange last) {
          Scope scope(*this);
          SmallVector<Value> best = count(
              integer(b, 0), integer(b, size(from)), ValueRange{low, none},
              [&](Value index, ValueRange now) {
                Scope inner(*this);
                at[from] = index;
                Value x = evaluate(operand, at);
                if (x.getType() != f32)
                  x = mapValue(b, Map::Cast, x, Elem::F32);
                Value equal = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, last[0]);
                Value later = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, index, last[1]);
                Value allowed = either(less(x, last[0]), arith::AndIOp::create(b, equal, later));
                Value first =
                    arith::CmpIOp::create(b, arith::CmpIPredicate::slt, now[1], integer(b, 0));
                Value take = arith::AndIOp::create(b, allowed, either(first, less(now[0], x)));
                at[from] = {};
                return SmallVector<Value>{arith::SelectOp::create(b, take, x, now[0]),
                                          arith::SelectOp::create(b, take, index, now[1])};
              });
          Value value = best[0];
          if (node.result == 1)
            value = arith::TruncIOp::create(b, b.getI32Type(), best[1]);
          else if (!isFloat(node.elem))
            value = mapValue(b, Map::Cast, value, node.elem);
          at[to] = step;
          const DimList &dims = plan.scratch(&node)->dims;
          store(value, scratchBase[&node], node.elem, dims, packed(dims), at);
          at[to] = {};
          return best;
        });
}

Value Emitter::address(Value base, Elem elem, ArrayRef<DimId> dims, const Strides &strides,
                       const Indices &at) {
  Value elements = offset(dims, strides, at);
  if (!elements)
    return base;
  Type type = memoryTypeOf(b.getContext(), elem);
  return LLVM::GEPOp::create(b, base.getType(), type, base, ArrayRef<LLVM::GEPArg>{elements},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Emitter::load(Value base, Elem elem, ArrayRef<DimId> dims, const Strides &strides,
                    const Indices &at) {
  Value place = address(base, elem, dims, strides, at);
  Type type = memoryTypeOf(b.getContext(), elem);
  return fromMemory(b, LLVM::LoadOp::create(b, type, place, byteSize(elem)), elem);
}

void Emitter::store(Value value, Value base, Elem elem, ArrayRef<DimId> dims,
                    const Strides &strides, const Indices &at) {
  Value place = address(base, elem, dims, strides, at);
  LLVM::StoreOp::create(b, toMemory(b, value, elem), place, byteSize(elem));
}

Value Emitter::loadArgument(const Node *node, const Indices &at) {
  return load(slots[binding.argumentSlots[node->argument]], node->elem, node->dims,
              binding.arguments[node->argument], at);
}

/// What an earlier loop over this row left behind.
Value Emitter::materialised(const Node *node, const Indices &at) {
  if (auto it = rowValues.find(node); it != rowValues.end())
    return it->second;
  const Scratch *scratch = plan.scratch(node);
  std::optional<unsigned> made = scratch ? plan.madeIn(node) : std::nullopt;
  if (!made || *made >= currentLoop)
    return {};
  return load(scratchBase[node], node->elem, scratch->dims, packed(scratch->dims), at);
}

/// True if `node` can be evaluated now: its indices are known and so is every reduction below it.
static bool isReady(const Node *node, llvm::function_ref<bool(const Node *)> atHand) {
  if (node->kind == NodeKind::Reduce || node->kind == NodeKind::TopK ||
      node->kind == NodeKind::ScatterAdd)
    return atHand(node);
  return llvm::all_of(node->operands,
                      [&](const Node *operand) { return isReady(operand, atHand); });
}

/// Evaluates now, before a loop, what does not depend on it.
void Emitter::hoist(const Node *node, const Indices &at, llvm::DenseSet<const Node *> &seen) {
  if (!seen.insert(node).second || node->kind == NodeKind::Constant)
    return;
  bool known = llvm::all_of(node->dims, [&](DimId dim) { return bool(at[dim]); });
  auto atHand = [&](const Node *reduction) {
    if (rowValues.count(reduction))
      return true;
    std::optional<unsigned> made = plan.scratch(reduction) ? plan.madeIn(reduction) : std::nullopt;
    return made && *made < currentLoop;
  };
  if (known && isReady(node, atHand))
    return (void)evaluate(node, at);
  if (node->kind == NodeKind::Reduce || node->kind == NodeKind::TopK ||
      node->kind == NodeKind::ScatterAdd)
    return;
  for (auto [i, operand] : llvm::enumerate(node->operands))
    if (!movesIndices(*node) || (i == 1 && node->kind != NodeKind::Concat))
      hoist(operand, at, seen);
}

void Emitter::hoist(const Loop &loop, const Indices &at) {
  llvm::DenseSet<const Node *> seen;
  for (const Action &action : loop.actions) {
    bool ofOperand = action.kind != Action::Store && action.kind != Action::Keep;
    if (!ofOperand)
      hoist(action.node, at, seen);
    else
      for (const Node *operand : action.node->operands)
        hoist(operand, at, seen);
  }
}

void kernel::emitRowKernel(ModuleOp module, StringRef name, const Graph &graph, const RowPlan &plan,
                           const Binding &binding, Location loc) {
  MLIRContext *context = module.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type i64 = builder.getI64Type(), pointer = LLVM::LLVMPointerType::get(context);
  unsigned scalarCount = graph.scalars.size() + binding.accumulatesAny();
  SmallVector<Type> types = {i64, i64};
  types.append(binding.slots, pointer);
  types.append(scalarCount, i64);
  auto rows = func::FuncOp::create(builder, loc, (name + ".rows").str(),
                                   builder.getFunctionType(types, {}));
  rows.setPrivate();
  for (unsigned i = 0; i < binding.slots; ++i)
    rows.setArgAttr(2 + i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  // Inlining would turn `noalias` into metadata that later passes may drop.
  rows->setAttr("passthrough", builder.getArrayAttr({builder.getStringAttr("noinline")}));
  Block *body = rows.addEntryBlock();
  ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockBegin(loc, body);
  ValueRange arguments(body->getArguments());
  Emitter(b, graph, plan, binding)
      .emitRows(arguments[0], arguments[1], arguments.slice(2, binding.slots),
                arguments.drop_front(2 + binding.slots));
  b.setLoc(loc);
  func::ReturnOp::create(b);

  auto entry = func::FuncOp::create(builder, loc, name,
                                    builder.getFunctionType({i64, i64, pointer, pointer}, {}));
  body = entry.addEntryBlock();
  b = ImplicitLocOpBuilder::atBlockBegin(loc, body);
  SmallVector<Value> operands = {body->getArgument(0), body->getArgument(1)};
  auto loadAll = [&](Value base, Type type, unsigned number) {
    for (unsigned i = 0; i < number; ++i) {
      Value place = LLVM::GEPOp::create(b, pointer, type, base, ArrayRef<LLVM::GEPArg>{int32_t(i)});
      operands.push_back(LLVM::LoadOp::create(b, type, place));
    }
  };
  loadAll(body->getArgument(2), pointer, binding.slots);
  loadAll(body->getArgument(3), i64, scalarCount);
  func::CallOp::create(b, rows, operands);
  func::ReturnOp::create(b);
}
