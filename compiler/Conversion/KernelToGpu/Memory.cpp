//===- Memory.cpp - A row kernel as threads: loads and stores -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Four neighbours that lie together are one access of 16 bytes, of 8 in bf16. What is loaded is
// remembered for the whole region, that is for all loops over a resident row:
// the plan lets no loop read what an earlier one has overwritten, not even to
// compute a kept value again.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelScalars/Arithmetic.h"
#include "compiler/Conversion/KernelToGpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

Value GpuEmitter::address(Value base, Elem elem, Value elements) {
  if (!elements)
    return base;
  return LLVM::GEPOp::create(b, base.getType(), memoryTypeOf(b.getContext(), elem), base,
                             ArrayRef<LLVM::GEPArg>{elements}, LLVM::GEPNoWrapFlags::inbounds);
}

Value GpuEmitter::load(Value base, Elem elem, Value elements) {
  Value place = address(base, elem, elements);
  Value value = LLVM::LoadOp::create(b, memoryTypeOf(b.getContext(), elem), place, byteSize(elem));
  return fromMemory(b, value, elem);
}

void GpuEmitter::store(Value value, Value base, Elem elem, Value elements) {
  LLVM::StoreOp::create(b, toMemory(b, value, elem), address(base, elem, elements), byteSize(elem));
}

GpuEmitter::Values GpuEmitter::loadVector(Value base, Elem elem, Value elements) {
  auto type = VectorType::get(Mapping::kVector, memoryTypeOf(b.getContext(), elem));
  Value vector = LLVM::LoadOp::create(b, type, address(base, elem, elements),
                                      Mapping::kVector * byteSize(elem));
  Values values;
  for (unsigned i = 0; i < Mapping::kVector; ++i) {
    Value place = arith::ConstantOp::create(b, b.getI32IntegerAttr(i));
    values.push_back(fromMemory(b, LLVM::ExtractElementOp::create(b, vector, place), elem));
  }
  return values;
}

void GpuEmitter::storeVector(ValueRange values, Value base, Elem elem, Value elements) {
  auto type = VectorType::get(Mapping::kVector, memoryTypeOf(b.getContext(), elem));
  Value vector = LLVM::PoisonOp::create(b, type);
  for (auto [i, value] : llvm::enumerate(values)) {
    Value place = arith::ConstantOp::create(b, b.getI32IntegerAttr(i));
    vector = LLVM::InsertElementOp::create(b, vector, toMemory(b, value, elem), place);
  }
  LLVM::StoreOp::create(b, vector, address(base, elem, elements),
                        Mapping::kVector * byteSize(elem));
}

/// The dimension along which `at` has lanes, if the lanes of the tensor, which begins at `base`,
/// lie together at a multiple of their size.
std::optional<DimId> GpuEmitter::vectorDim(Value base, Elem elem, ArrayRef<DimId> dims,
                                           const Strides &strides, const Indices &at) const {
  for (auto [slot, aligned] : llvm::zip_equal(slots, binding.aligned))
    if (slot == base && !aligned)
      return std::nullopt;
  std::optional<DimId> along;
  for (DimId dim : dims) {
    if (at[dim].lanes != Mapping::kVector)
      continue;
    if (along)
      return std::nullopt;
    along = dim;
  }
  if (!along || !isVectorAlong(graph, dims, strides, elem, *along))
    return std::nullopt;
  return along;
}

GpuEmitter::Values GpuEmitter::loadLanes(Value base, Elem elem, ArrayRef<DimId> dims,
                                         const Strides &strides, const Chunk &chunk) {
  if (vectorDim(base, elem, dims, strides, chunk.at))
    return loadVector(base, elem, baseOffset(dims, strides, chunk.at));
  Values values;
  for (unsigned i = 0; i < chunk.lanes; ++i)
    values.push_back(load(base, elem, offset(dims, strides, laneOf(chunk, i))));
  return values;
}

void GpuEmitter::storeLanes(ValueRange values, Value base, Elem elem, ArrayRef<DimId> dims,
                            const Strides &strides, const Chunk &chunk) {
  if (vectorDim(base, elem, dims, strides, chunk.at))
    return storeVector(values, base, elem, baseOffset(dims, strides, chunk.at));
  for (auto [i, value] : llvm::enumerate(values))
    store(value, base, elem, offset(dims, strides, laneOf(chunk, i)));
}

Value GpuEmitter::loadArgument(const Node *node, const Indices &at) {
  const Strides &strides = binding.arguments[node->argument];
  Value base = slots[binding.argumentSlots[node->argument]];
  std::optional<DimId> along = vectorDim(base, node->elem, node->dims, strides, at);
  Memo::Key key{node, {}};
  for (DimId dim : node->dims)
    key.second.push_back({at[dim].base.getAsOpaquePointer(), at[dim].lane});
  if (!along)
    return memos[region].values[key] = load(base, node->elem, offset(node->dims, strides, at));
  Values lanes = loadVector(base, node->elem, baseOffset(node->dims, strides, at));
  size_t place = llvm::find(node->dims, *along) - node->dims.begin();
  for (auto [i, value] : llvm::enumerate(lanes)) {
    key.second[place].second = i;
    memos[region].values[key] = value;
  }
  return lanes[at[*along].lane];
}

/// Dear values that the plan keeps are computed again: registers, or else the cache, hold what
/// they come from.
Value GpuEmitter::materialised(const Node *node, const Indices &at) {
  if (auto it = rowValues.find(node); it != rowValues.end())
    return it->second;
  auto it = scratchBase.find(node);
  if (it == scratchBase.end())
    return {};
  Value word =
      memref::LoadOp::create(b, it->second, ValueRange{scratchIndex(plan.scratch(node)->dims, at)});
  return fromWord(word, node->elem);
}

/// Place of a value in its team's part of shared memory.
Value GpuEmitter::scratchIndex(ArrayRef<DimId> dims, const Indices &at) {
  Value place = offset(dims, packed(dims), at);
  if (!place)
    place = integer(b, 0);
  if (mapping.block > mapping.team) {
    Value teams = integer(b, mapping.block / mapping.team);
    Value within = arith::RemUIOp::create(b, team, teams);
    place = arith::AddIOp::create(b, place, apply(IndexOp::Times, within, graph.volume(dims)));
  }
  return arith::IndexCastOp::create(b, b.getIndexType(), place);
}

/// 1 - x^n by repeated squaring in f64: for small n the difference cancels.
static Value oneMinusPower(ImplicitLocOpBuilder &b, Value x, Value n) {
  Type f64 = b.getF64Type();
  Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  Value base = arith::ExtFOp::create(b, f64, x), power = one;
  constexpr int kBits = 31;
  for (int bit = 0; bit < kBits; ++bit) {
    Value is = arith::AndIOp::create(b, n, integer(b, int64_t(1) << bit));
    is = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, is, integer(b, 0));
    power = arith::MulFOp::create(b, power, arith::SelectOp::create(b, is, base, one));
    base = arith::MulFOp::create(b, base, base);
  }
  return arith::TruncFOp::create(b, b.getF32Type(), arith::SubFOp::create(b, one, power));
}

Value GpuEmitter::mapped(const Node *node, ValueRange operands) {
  if (node->map == Map::OneMinusPower)
    return oneMinusPower(b, operands[0], operands[1]);
  return Evaluator::mapped(node, operands);
}
