//===- Indices.cpp - Arithmetic of indices --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An operation on an index is done once for all lanes of a base if they stay
// neighbours of an aligned base (a slice that begins at a multiple of the number
// of lanes, say); otherwise each lane goes its own way.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelScalars/Arithmetic.h"
#include "compiler/Conversion/KernelScalars/Evaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

static constexpr arith::IntegerOverflowFlags kNoWrap = arith::IntegerOverflowFlags::nsw;

Value Evaluator::apply(IndexOp op, Value x, int64_t constant) {
  if ((op == IndexOp::Times && constant == 1) || (op == IndexOp::AddConstant && constant == 0))
    return x;
  std::tuple<IndexOp, const void *, const void *, int64_t> key(op, x.getAsOpaquePointer(), nullptr,
                                                               constant);
  for (const Memo &memo : llvm::reverse(memos))
    if (auto it = memo.indices.find(key); it != memo.indices.end())
      return it->second;
  Value y = integer(b, constant), result;
  switch (op) {
  case IndexOp::Add:
  case IndexOp::AddConstant:
    result = arith::AddIOp::create(b, x, y, kNoWrap);
    break;
  case IndexOp::Times:
    result = arith::MulIOp::create(b, x, y, kNoWrap);
    break;
  case IndexOp::Divide:
    result = arith::DivUIOp::create(b, x, y);
    break;
  case IndexOp::Remainder:
    result = arith::RemUIOp::create(b, x, y);
    break;
  case IndexOp::Max:
    result = arith::MaxSIOp::create(b, x, y);
    break;
  case IndexOp::Min:
    result = arith::MinSIOp::create(b, x, y);
    break;
  case IndexOp::AtLeast:
    result = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, x, y);
    break;
  }
  return memos.back().indices[key] = result;
}

Value Evaluator::add(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  std::tuple<IndexOp, const void *, const void *, int64_t> key(IndexOp::Add, x.getAsOpaquePointer(),
                                                               y.getAsOpaquePointer(), 0);
  for (const Memo &memo : llvm::reverse(memos))
    if (auto it = memo.indices.find(key); it != memo.indices.end())
      return it->second;
  return memos.back().indices[key] = arith::AddIOp::create(b, x, y, kNoWrap);
}

Value Evaluator::value(const Index &index) {
  return apply(IndexOp::AddConstant, index.base, index.lane);
}

Index Evaluator::shifted(const Index &index, int64_t by) {
  if (by % index.lanes == 0)
    return {apply(IndexOp::AddConstant, index.base, by), index.lane, index.lanes};
  return apply(IndexOp::AddConstant, value(index), by);
}

Index Evaluator::clamped(const Index &index, int64_t size) {
  bool together = size % index.lanes == 0;
  Value x = together ? index.base : value(index);
  int64_t last = together ? size - index.lanes : size - 1;
  x = apply(IndexOp::Max, apply(IndexOp::Min, x, last), 0);
  return together ? Index(x, index.lane, index.lanes) : Index(x);
}

Value Evaluator::atLeast(const Index &index, int64_t bound) {
  return apply(IndexOp::AtLeast, bound % index.lanes == 0 ? index.base : value(index), bound);
}

Index Evaluator::flattened(ArrayRef<Index> indices, ArrayRef<int64_t> sizes) {
  Index last;
  Value sum;
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) {
    if (sizes[i] == 1)
      continue;
    bool isLane = !sum && indices[i].lanes > 1;
    if (isLane)
      last = indices[i];
    sum = add(sum, apply(IndexOp::Times, isLane ? last.base : value(indices[i]), stride));
  }
  if (!sum)
    sum = integer(b, 0);
  if (!last)
    return sum;
  // The other terms must keep the base a multiple of the number of lanes.
  stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i])
    if (stride % last.lanes != 0 && stride > 1 && sizes[i] > 1)
      return value({sum, last.lane, last.lanes});
  return {sum, last.lane, last.lanes};
}

SmallVector<Index> Evaluator::unflattened(Index number, ArrayRef<int64_t> sizes) {
  SmallVector<Index> result(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      result[i] = number;
      break;
    }
    if (sizes[i] % number.lanes != 0)
      number = value(number);
    result[i] = {apply(IndexOp::Remainder, number.base, sizes[i]), number.lane, number.lanes};
    number = apply(IndexOp::Divide, number.base, sizes[i]);
  }
  return result;
}

Value Evaluator::baseOffset(ArrayRef<DimId> dims, ArrayRef<int64_t> strides, const Indices &at) {
  Value sum;
  for (auto [dim, stride] : llvm::zip_equal(dims, strides))
    if (size(dim) > 1)
      sum = add(sum, apply(IndexOp::Times, at[dim].base, stride));
  return sum;
}

Value Evaluator::offset(ArrayRef<DimId> dims, ArrayRef<int64_t> strides, const Indices &at) {
  Value sum;
  for (auto [dim, stride] : llvm::zip_equal(dims, strides))
    if (size(dim) > 1)
      sum = add(sum, apply(IndexOp::Times, value(at[dim]), stride));
  return sum;
}

Strides Evaluator::packed(ArrayRef<DimId> dims) const {
  Strides strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= size(dims[i]))
    strides[i] = stride;
  return strides;
}
