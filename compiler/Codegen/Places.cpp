//===- Places.cpp - Addresses of values in a rank's arena -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Places.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::codegen;

Arena::Arena(ModuleOp module) {
  auto memory = module->getAttrOfType<DictionaryAttr>("rt.memory");
  auto entry = [&](StringRef name) {
    auto value = memory ? memory.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? value.getInt() : 0;
  };
  persistent = entry("persistent");
  slots = entry("slots");
  micro = entry("micro");
  scratch = entry("scratch");
  least = entry("least");
}

int64_t Arena::begin(rt::MemoryLevel level) const {
  switch (level) {
  case rt::MemoryLevel::Persistent:
    return 0;
  case rt::MemoryLevel::Slots:
    return persistent;
  case rt::MemoryLevel::Micro:
    return persistent + slots;
  case rt::MemoryLevel::Scratch:
    return persistent + slots + micro;
  }
  return 0;
}

Place Places::at(rt::BufferAttr buffer, Value value) const {
  return {arena.begin(buffer.getLevel()) + buffer.getOffset(),
          0,
          buffer.getStep(),
          buffer.getPoolStep(),
          buffer.getPool(),
          buffer.getPart(),
          ptl::elementType(value).isBF16(),
          buffer.getAxes(),
          {buffer.getRows(), buffer.getCols(), buffer.getStride()}};
}

Place Places::of(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto buffers = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "rt.buffers");
    return at(cast<rt::BufferAttr>(buffers[0]), value);
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  auto buffers = op->getAttrOfType<ArrayAttr>("rt.buffers");
  Place place = at(cast<rt::BufferAttr>(buffers[result.getResultNumber()]), value);
  if (isa<ptl::ReshapeOp, ptl::StopGradientOp>(op)) {
    Place source = of(op->getOperand(0));
    place.microStride = source.microStride;
    place.chunkStride = source.chunkStride;
    place.slotStride = source.slotStride;
    place.pool = source.pool;
  } else if (auto piece = dyn_cast<ptl::MicrobatchOp>(op)) {
    int64_t bytes = kernel::byteSize(kernel::elementOf(value.getType()));
    Place field = of(piece.getX());
    place.microStride = field.microStride;
    place.chunkStride = field.chunkStride;
    place.slotStride = field.slotStride;
    place.pool = field.pool;
    bool isChunk = isa<rt::ChunksOp>(piece.getPiece().getParentRegion()->getParentOp());
    (isChunk ? place.chunkStride : place.microStride) =
        kernel::pieceElements(field.layout, place.layout) * bytes;
  }
  return place;
}

SmallVector<Place> Places::inBucket(const Place &part, ArrayAttr members) {
  SmallVector<Place> tensors;
  for (auto member : members.getAsRange<rt::BufferAttr>())
    tensors.push_back({.offset = part.offset + member.getOffset(),
                       .part = member.getPart(),
                       .bf16 = part.bf16,
                       .axes = member.getAxes(),
                       .layout = {member.getRows(), member.getCols(), member.getStride()}});
  return tensors;
}
