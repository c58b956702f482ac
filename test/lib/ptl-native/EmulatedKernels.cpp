//===- EmulatedKernels.cpp - GPU kernels as functions of the CPU ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-native/EmulatedKernels.h"

#include "compiler/Codegen/CUDA/Passes.h"
#include "compiler/Conversion/KernelToGpu/KernelToGpu.h"
#include "compiler/Conversion/KernelToLoops/KernelToLoops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ptlc;

namespace {
/// Turns the functions of one gpu.module into functions of the CPU.
class Emulation {
public:
  Emulation(ModuleOp module, const kernel::Binding &binding) : module(module), binding(binding) {}

  /// The function `name` that launches `kernels` in order.
  void build(StringRef name, ArrayRef<gpu::GPUFuncOp> kernels);

private:
  func::FuncOp buildThread(gpu::GPUFuncOp kernel);
  void replace(Operation &op, func::FuncOp thread);
  Value call(OpBuilder &b, Location loc, StringRef name, ValueRange operands, TypeRange results);
  Value elementOf(OpBuilder &b, Location loc, Value memory, Value index);

  ModuleOp module;
  const kernel::Binding &binding;
  DenseMap<Value, Value> sharedMemory; ///< pointers by block argument
};
} // namespace

static Type pointerType(OpBuilder &b, unsigned space = 0) {
  return LLVM::LLVMPointerType::get(b.getContext(), space);
}

static Value number(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

/// Calls a function of the emulator, which is declared at its first call.
Value Emulation::call(OpBuilder &b, Location loc, StringRef name, ValueRange operands,
                      TypeRange results) {
  if (!module.lookupSymbol(name)) {
    OpBuilder outer = OpBuilder::atBlockBegin(module.getBody());
    auto type = outer.getFunctionType(operands.getTypes(), results);
    func::FuncOp::create(outer, loc, name, type).setPrivate();
  }
  auto call = func::CallOp::create(b, loc, name, results, operands);
  return results.empty() ? Value() : call.getResult(0);
}

Value Emulation::elementOf(OpBuilder &b, Location loc, Value memory, Value index) {
  Value place = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  return LLVM::GEPOp::create(b, loc, pointerType(b), b.getI64Type(), sharedMemory.lookup(memory),
                             ArrayRef<LLVM::GEPArg>{place});
}

void Emulation::replace(Operation &op, func::FuncOp thread) {
  OpBuilder b(&op);
  Location loc = op.getLoc();
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto become = [&](Value value) {
    op.getResult(0).replaceAllUsesWith(value);
    op.erase();
  };
  auto index = [&](StringRef name) {
    become(arith::IndexCastOp::create(b, loc, b.getIndexType(), call(b, loc, name, {}, i64)));
  };
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](gpu::ThreadIdOp) { index("emulator_thread"); })
      .Case([&](gpu::BlockIdOp) { index("emulator_block"); })
      .Case([&](gpu::BarrierOp) {
        call(b, loc, "emulator_barrier", {}, {});
        op.erase();
      })
      .Case([&](gpu::ShuffleOp shuffle) {
        Type type = shuffle.getValue().getType();
        Value bits = shuffle.getValue();
        if (type != i32)
          bits = arith::BitcastOp::create(b, loc, i32, bits);
        bits = call(b, loc, "emulator_shuffle", {bits, shuffle.getOffset()}, i32);
        become(type == i32 ? bits : Value(arith::BitcastOp::create(b, loc, type, bits)));
      })
      .Case([&](memref::LoadOp load) {
        Value place = elementOf(b, loc, load.getMemRef(), load.getIndices()[0]);
        become(LLVM::LoadOp::create(b, loc, i64, place));
      })
      .Case([&](memref::StoreOp store) {
        Value place = elementOf(b, loc, store.getMemRef(), store.getIndices()[0]);
        LLVM::StoreOp::create(b, loc, store.getValueToStore(), place);
        op.erase();
      })
      .Case([&](LLVM::CallIntrinsicOp intrinsic) {
        std::string name = ("emulator_" + intrinsic.getIntrin()).str();
        become(call(b, loc, name, intrinsic.getArgs(), op.getResult(0).getType()));
      })
      .Case([&](gpu::ReturnOp) {
        func::ReturnOp::create(b, loc);
        op.erase();
      });
}

/// void thread(void *const *buffers, const int64_t *scalars, void *workspace)
func::FuncOp Emulation::buildThread(gpu::GPUFuncOp kernel) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = kernel.getLoc();
  Type pointer = pointerType(b), space = pointerType(b, 1), i64 = b.getI64Type();
  auto thread = func::FuncOp::create(b, loc, (kernel.getName() + ".thread").str(),
                                     b.getFunctionType({pointer, pointer, pointer}, {}));
  thread.setPrivate();
  Block *entry = thread.addEntryBlock();
  b.setInsertionPointToStart(entry);
  IRMapping map;
  auto load = [&](Value base, Type type, unsigned place) -> Value {
    Value from =
        LLVM::GEPOp::create(b, loc, pointer, type, base, ArrayRef<LLVM::GEPArg>{int32_t(place)});
    return LLVM::LoadOp::create(b, loc, type, from);
  };
  unsigned shared = 0;
  for (BlockArgument argument : kernel.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (auto memory = dyn_cast<MemRefType>(argument.getType())) {
      Value which = ::number(b, loc, shared++);
      Value bytes = ::number(b, loc, memory.getNumElements() * 8);
      sharedMemory[argument] = call(b, loc, "emulator_shared", {which, bytes}, pointer);
    } else if (argument.getType() == i64) {
      map.map(argument, load(entry->getArgument(1), i64, number - binding.slots));
    } else {
      bool isBuffer = number < binding.slots;
      Value address =
          isBuffer ? load(entry->getArgument(0), pointer, number) : entry->getArgument(2);
      map.map(argument, LLVM::AddrSpaceCastOp::create(b, loc, space, address).getResult());
    }
  }
  for (Operation &op : kernel.getBody().front())
    b.clone(op, map);
  SmallVector<Operation *> operations;
  thread.walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations)
    replace(*op, thread);
  return thread;
}

void Emulation::build(StringRef name, ArrayRef<gpu::GPUFuncOp> kernels) {
  SmallVector<func::FuncOp> threads;
  for (gpu::GPUFuncOp kernel : kernels)
    threads.push_back(buildThread(kernel));
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  gpu::GPUFuncOp first = kernels.front();
  Location loc = first.getLoc();
  Type pointer = pointerType(b), i64 = b.getI64Type();
  auto launch =
      func::FuncOp::create(b, loc, name, b.getFunctionType({i64, i64, pointer, pointer}, {}));
  Block *entry = launch.addEntryBlock();
  b.setInsertionPointToStart(entry);
  auto bytes = first->getAttrOfType<IntegerAttr>("rt.workspace");
  Value workspace =
      call(b, loc, "emulator_workspace", {::number(b, loc, bytes ? bytes.getInt() : 0)}, pointer);
  for (auto [kernel, thread] : llvm::zip_equal(kernels, threads)) {
    auto grid = kernel->getAttrOfType<IntegerAttr>("rt.grid");
    auto threads = kernel->getAttrOfType<DenseI32ArrayAttr>("known_block_size");
    Value function = func::ConstantOp::create(b, loc, thread.getFunctionType(),
                                              SymbolRefAttr::get(thread.getNameAttr()));
    call(b, loc, "emulator_launch",
         {function, ::number(b, loc, grid.getInt()), ::number(b, loc, threads[0]),
          entry->getArgument(0), entry->getArgument(1), entry->getArgument(2),
          entry->getArgument(3), workspace},
         {});
  }
  func::ReturnOp::create(b, loc);
}

LogicalResult native::EmulatedKernels::emit(ModuleOp module, StringRef name,
                                            const kernel::Graph &graph, const kernel::RowPlan &plan,
                                            const kernel::Binding &binding, Location loc) {
  OwningOpRef<ModuleOp> holder = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(holder->getBody());
  auto kernels = gpu::GPUModuleOp::create(b, loc, "kernels");
  std::string reason = kernel::emitGpuKernel(kernels, name, graph, plan, binding, loc);
  if (!reason.empty()) {
    others.insert(reason);
    kernel::emitRowKernel(module, name, graph, plan, binding, loc);
    return success();
  }
  ++count;
  PassManager manager(module->getContext(), ModuleOp::getOperationName());
  manager.nest<gpu::GPUModuleOp>().addPass(cuda::createApproximateMath());
  if (failed(manager.run(*holder)))
    return failure();
  Emulation(module, binding).build(name, llvm::to_vector(kernels.getOps<gpu::GPUFuncOp>()));
  return success();
}
