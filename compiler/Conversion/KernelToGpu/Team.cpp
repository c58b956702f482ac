//===- Team.cpp - A row kernel as threads: folds over a team --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Butterflies: after log2(n) exchanges each thread holds the fold of all, added
// in the same order, hence with the same bits. Warps of a block exchange their
// results through shared memory; two buffers in turn, so that one barrier per
// fold suffices: who writes a buffer again has passed the barrier of the fold
// between, which nobody passes before reading the first.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelScalars/Arithmetic.h"
#include "compiler/Conversion/KernelToGpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

static constexpr unsigned kWarp = Mapping::kWarp;

void GpuEmitter::synchronise() { gpu::BarrierOp::create(b); }

Value GpuEmitter::sharedMemory(Type type, int64_t elements) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto memory = MemRefType::get({elements}, type, MemRefLayoutAttrInterface(), space);
  return function.addWorkgroupAttribution(memory, b.getLoc());
}

Value GpuEmitter::toWord(Value value, Elem elem) {
  if (isFloat(elem))
    value = arith::BitcastOp::create(b, b.getI32Type(), value);
  return elem == Elem::I64 ? value : Value(arith::ExtUIOp::create(b, b.getI64Type(), value));
}

Value GpuEmitter::fromWord(Value word, Elem elem) {
  if (elem == Elem::I64)
    return word;
  if (elem == Elem::I1)
    return arith::TruncIOp::create(b, b.getI1Type(), word);
  Value bits = arith::TruncIOp::create(b, b.getI32Type(), word);
  return isFloat(elem) ? Value(arith::BitcastOp::create(b, b.getF32Type(), bits)) : bits;
}

/// `value` of the thread whose number differs by `distance`, a power of two.
Value GpuEmitter::shuffle(Value value, unsigned distance) {
  auto exchange = [&](Value word) -> Value {
    return gpu::ShuffleOp::create(b, word, distance, kWarp, gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Type type = value.getType(), i32 = b.getI32Type(), i64 = b.getI64Type();
  if (type.isInteger(1))
    return arith::TruncIOp::create(b, type, exchange(arith::ExtUIOp::create(b, i32, value)));
  if (!type.isInteger(64))
    return exchange(value);
  Value shift = integer(b, 32);
  Value low = exchange(arith::TruncIOp::create(b, i32, value));
  Value high = exchange(arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, value, shift)));
  high = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, high), shift);
  return arith::OrIOp::create(b, high, arith::ExtUIOp::create(b, i64, low));
}

/// Folds `values` over groups of `width` threads; all of a group get the result.
void GpuEmitter::reduceOverTeam(ArrayRef<const Node *> nodes, Values &values, unsigned width) {
  if (nodes.empty() || width == 1)
    return;
  auto butterfly = [&](unsigned threads) {
    for (unsigned distance = threads / 2; distance > 0; distance /= 2)
      for (auto [node, value] : llvm::zip_equal(nodes, values))
        value = combineValues(b, node->combine, value, shuffle(value, distance));
  };
  butterfly(std::min(width, kWarp));
  if (width <= kWarp)
    return;
  if (!reductionMemory)
    reductionMemory = sharedMemory(b.getI64Type(), mapping.exchangeWords());
  int64_t buffer = (reductions++ % 2) * mapping.folds * kWarp;
  unsigned warps = width / kWarp;
  Value within = arith::RemUIOp::create(b, thread, integer(b, kWarp));
  Value warp = arith::DivUIOp::create(b, thread, integer(b, kWarp));
  auto place = [&](Value number, size_t value) -> Value {
    number = arith::AddIOp::create(b, number, integer(b, buffer + int64_t(value) * kWarp));
    return arith::IndexCastOp::create(b, b.getIndexType(), number);
  };
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, within, integer(b, 0));
  guarded(first, [&] {
    for (auto [i, value] : llvm::enumerate(values)) {
      Value index = place(warp, i);
      memref::StoreOp::create(b, toWord(value, nodes[i]->elem), reductionMemory, ValueRange{index});
    }
  });
  synchronise();
  // Every lane reads one of the warps' results, so that all take part in the butterfly.
  Value which = arith::RemUIOp::create(b, within, integer(b, warps));
  for (auto [i, value] : llvm::enumerate(values)) {
    Value index = place(which, i);
    value = fromWord(memref::LoadOp::create(b, reductionMemory, ValueRange{index}), nodes[i]->elem);
  }
  butterfly(warps);
}
