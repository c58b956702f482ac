//===- Evaluate.cpp - Scalar code of kernel values ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Indices outside of an operand (concat, pad) are clamped and the value chosen
// afterwards: a load that is always legal needs no branch, so loops vectorise.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelToLoops/Arithmetic.h"
#include "compiler/Conversion/KernelToLoops/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

Value Emitter::add(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AddIOp::create(b, x, y, arith::IntegerOverflowFlags::nsw);
}

Value Emitter::times(Value x, int64_t factor) {
  return factor == 1
             ? x
             : arith::MulIOp::create(b, x, integer(b, factor), arith::IntegerOverflowFlags::nsw);
}

Strides Emitter::packed(ArrayRef<DimId> dims) const {
  Strides strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= size(dims[i]))
    strides[i] = stride;
  return strides;
}

Value Emitter::address(Value base, Elem elem, ArrayRef<DimId> dims, const Strides &strides,
                       const Indices &at) {
  Value offset;
  for (auto [dim, stride] : llvm::zip_equal(dims, strides))
    if (size(dim) > 1)
      offset = add(offset, times(at[dim], stride));
  if (!offset)
    return base;
  Type type = elem == Elem::I1 ? Type(b.getI8Type()) : typeOf(b.getContext(), elem);
  return LLVM::GEPOp::create(b, base.getType(), type, base, ArrayRef<LLVM::GEPArg>{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Emitter::load(Value base, Elem elem, ArrayRef<DimId> dims, const Strides &strides,
                    const Indices &at) {
  Value place = address(base, elem, dims, strides, at);
  if (elem != Elem::I1)
    return LLVM::LoadOp::create(b, typeOf(b.getContext(), elem), place, byteSize(elem));
  Value byte = LLVM::LoadOp::create(b, b.getI8Type(), place, 1);
  Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, byte, zero);
}

void Emitter::store(Value value, Value base, Elem elem, ArrayRef<DimId> dims,
                    const Strides &strides, const Indices &at) {
  if (elem == Elem::I1)
    value = arith::ExtUIOp::create(b, b.getI8Type(), value);
  LLVM::StoreOp::create(b, value, address(base, elem, dims, strides, at), byteSize(elem));
}

Value Emitter::evaluate(const Node *node, const Indices &at) {
  std::vector<const void *> key;
  for (DimId dim : node->dims)
    key.push_back(at[dim].getAsOpaquePointer());
  for (const Memo &memo : llvm::reverse(memos))
    if (auto it = memo.find({node, key}); it != memo.end())
      return it->second;
  Location outer = b.getLoc();
  b.setLoc(node->loc);
  Value value = materialised(node, at);
  if (!value)
    value = compute(node, at);
  b.setLoc(outer);
  return memos.back()[{node, key}] = value;
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

Value Emitter::compute(const Node *node, const Indices &at) {
  switch (node->kind) {
  case NodeKind::Input:
    return load(slots[binding.argumentSlots[node->argument]], node->elem, node->dims,
                binding.arguments[node->argument], at);
  case NodeKind::Scalar:
    return scalars[node->argument];
  case NodeKind::Constant:
    return number(b, node->elem, node->value);
  case NodeKind::Iota: {
    Value index = at[node->dims[0]];
    if (!node->cuts.empty())
      index = add(index, scalars[node->cuts[0].start]);
    return mapValue(b, Map::Cast, index, node->elem);
  }
  case NodeKind::Random:
    return computeRandom(node, at);
  case NodeKind::Map: {
    SmallVector<Value> operands;
    for (const Node *operand : node->operands)
      operands.push_back(evaluate(operand, at));
    return mapValue(b, node->map, operands, node->elem);
  }
  case NodeKind::Gather: {
    Indices moved = at;
    moved[node->over[0]] =
        arith::ExtSIOp::create(b, b.getI64Type(), evaluate(node->operands[1], at));
    return evaluate(node->operands[0], moved);
  }
  case NodeKind::Reindex:
    return computeReindex(node, at);
  case NodeKind::Pad:
    return computePad(node, at);
  case NodeKind::Concat:
    return computeConcat(node, at);
  case NodeKind::Mask:
    return computeMask(node, at);
  case NodeKind::Block: {
    Indices moved = at;
    Value first = times(evaluate(node->operands[1], at), size(node->over[1]));
    moved[node->over[0]] = add(at[node->over[1]], first);
    return evaluate(node->operands[0], moved);
  }
  case NodeKind::Reduce:
  case NodeKind::ScatterAdd:
  case NodeKind::TopK:
    break;
  }
  llvm_unreachable("a reduction is materialised before it is used");
}

Value Emitter::computeReindex(const Node *node, const Indices &at) {
  Indices moved = at;
  for (const ReindexGroup &group : node->groups) {
    Value index;
    Strides to = packed(group.to);
    for (auto [dim, stride] : llvm::zip_equal(group.to, to))
      if (size(dim) > 1)
        index = add(index, times(at[dim], stride));
    if (!index)
      index = integer(b, 0);
    if (group.offset)
      index = add(index, integer(b, group.offset));
    for (size_t i = group.from.size(); i-- > 0;) {
      if (i == 0) {
        moved[group.from[i]] = index;
        break;
      }
      Value extent = integer(b, size(group.from[i]));
      moved[group.from[i]] = arith::RemUIOp::create(b, index, extent);
      index = arith::DivUIOp::create(b, index, extent);
    }
  }
  return evaluate(node->operands[0], moved);
}

Value Emitter::computePad(const Node *node, const Indices &at) {
  Indices moved = at;
  Value index = add(at[node->over[1]], integer(b, -node->offset));
  Value last = integer(b, size(node->over[0]) - 1), zero = integer(b, 0);
  // One unsigned comparison covers both ends.
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, index, last);
  moved[node->over[0]] = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, index, last), zero);
  return arith::SelectOp::create(b, inside, evaluate(node->operands[0], moved),
                                 number(b, node->elem, node->value));
}

Value Emitter::computeConcat(const Node *node, const Indices &at) {
  Value result, index = at[node->over.back()];
  int64_t begin = 0;
  for (auto [i, operand] : llvm::enumerate(node->operands)) {
    DimId piece = node->over[i];
    Indices moved = at;
    Value local = begin ? add(index, integer(b, -begin)) : index;
    Value last = integer(b, size(piece) - 1);
    moved[piece] = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, local, last), integer(b, 0));
    Value value = evaluate(operand, moved);
    Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, index, integer(b, begin));
    result = result ? arith::SelectOp::create(b, here, value, result) : value;
    begin += size(piece);
  }
  return result;
}

Value Emitter::computeMask(const Node *node, const Indices &at) {
  Value inside;
  for (const Cut &cut : node->cuts) {
    Value valid =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at[cut.dim], scalars[cut.valid]);
    inside = inside ? arith::AndIOp::create(b, inside, valid) : valid;
  }
  return arith::SelectOp::create(b, inside, evaluate(node->operands[0], at),
                                 number(b, node->elem, node->value));
}

Value Emitter::computeRandom(const Node *node, const Indices &at) {
  // Row-major in the global type, as declared.
  Value index;
  for (DimId dim : node->dims) {
    int64_t extent = size(dim);
    Value global = at[dim];
    for (const Cut &cut : node->cuts)
      if (cut.dim == dim) {
        extent = cut.global;
        global = add(global, scalars[cut.start]);
      }
    index = index ? add(times(index, extent), global) : global;
  }
  if (!index)
    index = integer(b, 0);
  Value step = evaluate(node->operands[0], at);
  return randomValue(b, node->normal, node->place, scalars[node->argument], step, index);
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
