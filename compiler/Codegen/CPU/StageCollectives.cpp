//===- StageCollectives.cpp - What ranks do together, in LLVM IR ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Collectives, and norms over tensors of the arena. A collective behind the loop
// over micro-batches may start in the last of them (dialects/Rt/InLast.h).
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/StageCode.h"

#include "dialects/Rt/InLast.h"

#include <limits>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::cpu;

llvm::Constant *StageCode::segmentsOf(ArrayRef<Place> tensors) {
  llvm::SmallVector<llvm::Constant *> segments;
  for (const Place &place : tensors)
    segments.push_back(numbers(
        {place.offset, place.layout.rows, place.layout.cols, place.layout.stride, place.bf16}));
  if (segments.empty())
    return llvm::ConstantPointerNull::get(b.getPtrTy());
  return constant(llvm::ConstantArray::get(
                      llvm::ArrayType::get(segments[0]->getType(), segments.size()), segments),
                  "segments");
}

LogicalResult StageCode::emitNorm(ptl::GlobalNormOp op) {
  SmallVector<Place> tensors;
  for (Value operand : op.getOperands())
    tensors.push_back(places.of(operand));
  b.CreateCall(declare("ptlrt_global_norm", {pointer, pointer, pointer, i64, pointer}),
               {rank, arena, segmentsOf(tensors), b.getInt64(tensors.size()),
                address(places.of(op.getResult()))});
  return success();
}

void StageCode::addSquares(ArrayRef<Place> tensors, llvm::Value *begin, llvm::Value *end,
                           llvm::Value *shift, const Place &sum, bool add) {
  b.CreateCall(
      declare("ptlrt_square_sum", {pointer, pointer, pointer, i64, i64, i64, i64, pointer, i32}),
      {rank, arena, segmentsOf(tensors), b.getInt64(tensors.size()), begin, end, shift,
       address(sum), b.getInt32(add)});
}

/// One call for all whole tensors, and one for each part of a bucket.
LogicalResult StageCode::emitSquareSum(spmd::SquareSumOp op) {
  Place sum = places.of(op.getSum());
  auto members = op->getAttrOfType<ArrayAttr>("rt.members");
  SmallVector<Place> whole;
  bool add = false;
  llvm::Value *zero = b.getInt64(0);
  for (auto [number, operand] : llvm::enumerate(op.getInputs())) {
    auto list = cast<ArrayAttr>(members[number]);
    Place place = places.of(operand);
    if (list.empty()) {
      whole.push_back(place);
      continue;
    }
    SmallVector<Place> tensors = places.inBucket(place, list);
    llvm::Value *begin = b.CreateMul(placeInGroup(tensors[0].axes), b.getInt64(tensors[0].part));
    llvm::Value *start = b.CreateAdd(begin, b.getInt64(place.offset));
    addSquares(tensors, start, b.CreateAdd(start, b.getInt64(tensors[0].part)),
               place.part ? zero : begin, sum, std::exchange(add, true));
  }
  if (!whole.empty() || !add)
    addSquares(whole, zero, b.getInt64(std::numeric_limits<int64_t>::max()), zero, sum, add);
  return success();
}

LogicalResult StageCode::emitRoot(spmd::RootOp op) {
  llvm::SmallVector<llvm::Value *> sums;
  for (Value sum : op.getSums())
    sums.push_back(address(places.of(sum)));
  b.CreateCall(
      declare("ptlrt_root", {pointer, pointer, i64, pointer}),
      {rank, store(sums, buffers), b.getInt64(sums.size()), address(places.of(op.getResult()))});
  return success();
}

void StageCode::emitCollective(StringRef function, Operation *op) {
  b.CreateCall(declare(function, {pointer, pointer, i32}),
               {rank, arena, b.getInt32(schedule.indexOf(op))});
}

/// Finds what starts in the last micro-batch of a stage that is the body of a loop.
void StageCode::findStarts(const codegen::StageFunction &stage) {
  startsBehind.clear();
  auto loop = stage.operations.empty()
                  ? ptl::AccumulateOp()
                  : dyn_cast<ptl::AccumulateOp>(stage.operations.front()->getParentOp());
  if (!loop)
    return;
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
    if (op->hasAttr(rt::kInLast))
      if (Operation *maker = rt::lastMaker(op); maker->getParentOp() == loop)
        startsBehind[maker].push_back(op);
}

void StageCode::emitStarts(Operation *op) {
  auto found = startsBehind.find(op);
  if (found == startsBehind.end())
    return;
  int64_t last = cast<ptl::AccumulateOp>(op->getParentOp()).getPieces() - 1;
  llvm::LLVMContext &context = module.getContext();
  llvm::BasicBlock *start = llvm::BasicBlock::Create(context, "last", function),
                   *after = llvm::BasicBlock::Create(context, "after", function);
  b.CreateCondBr(b.CreateICmpEQ(micro, b.getInt64(last)), start, after);
  b.SetInsertPoint(start);
  for (Operation *collective : found->second) {
    setPlace(collective);
    emitCollective("ptlrt_collective_start", collective);
    ++onTheirWay;
  }
  b.CreateBr(after);
  b.SetInsertPoint(after);
}
