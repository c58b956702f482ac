//===- LowerRowKernels.cpp - Row kernels as functions of a gpu.module -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Each distinct kernel once, in the order of the program. A global norm is three
// steps that are row kernels, too: the squares of a tensor are summed over its
// rows, those sums are added up, and the root taken.
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/NormKernels.h"
#include "compiler/Codegen/CUDA/Passes.h"
#include "compiler/Codegen/RowKernels.h"
#include "compiler/Conversion/KernelToGpu/KernelToGpu.h"
#include "compiler/Support/Location.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace ptlc::cuda {
#define GEN_PASS_DEF_LOWERROWKERNELS
#include "compiler/Codegen/CUDA/Passes.h.inc"
} // namespace ptlc::cuda

using namespace mlir;
using namespace ptlc;

namespace {
class Lowering {
public:
  explicit Lowering(ModuleOp module)
      : module(module), places(module),
        kernels([this](StringRef name, const kernel::Graph &graph, const kernel::RowPlan &plan,
                       const kernel::Binding &binding, Location loc) {
          std::string reason = kernel::emitGpuKernel(target, name, graph, plan, binding, loc);
          if (!reason.empty())
            leaveOut(loc, reason);
          return success();
        }) {
    kernels.use(places);
  }
  LogicalResult run();

private:
  LogicalResult lower(Operation *op);
  LogicalResult lower(rt::KernelOp kernel);
  LogicalResult lower(ptl::GlobalNormOp op);
  void leaveOut(Location loc, StringRef what);
  void finish();

  ModuleOp module;
  gpu::GPUModuleOp target;
  codegen::Places places;
  codegen::RowKernels kernels;
  llvm::MapVector<StringRef, SmallVector<Location>> leftOut; ///< places by what
  llvm::StringSet<> names;
};
} // namespace

void Lowering::leaveOut(Location loc, StringRef what) {
  StringRef name = names.insert(what).first->getKey();
  leftOut[name].push_back(loc);
}

LogicalResult Lowering::lower(rt::KernelOp kernel) {
  switch (kernel.getKind()) {
  case rt::KernelKind::Rows:
    return success(succeeded(kernels.call(kernel)));
  case rt::KernelKind::Flat:
    return success(succeeded(kernels.callFlat(kernel)));
  case rt::KernelKind::Matmul:
    leaveOut(kernel.getLoc(), "matrix product");
    return success();
  case rt::KernelKind::Attention:
    leaveOut(kernel.getLoc(), "attention");
    return success();
  case rt::KernelKind::Single:
    break;
  }
  leaveOut(kernel.getLoc(), "kernel of one operation");
  return success();
}

LogicalResult Lowering::lower(ptl::GlobalNormOp op) {
  return success(succeeded(cuda::normKernels(op, places, kernels)));
}

LogicalResult Lowering::lower(Operation *op) {
  if (auto kernel = dyn_cast<rt::KernelOp>(op))
    return lower(kernel);
  if (auto norm = dyn_cast<ptl::GlobalNormOp>(op))
    return lower(norm);
  if (isa<spmd::SpmdDialect>(op->getDialect()) && !isa<spmd::MeshOp>(op))
    leaveOut(op->getLoc(), "collective");
  return success();
}

/// Says what is missing: all places in the module, a remark for each kind.
void Lowering::finish() {
  OpBuilder builder(module.getContext());
  SmallVector<Attribute> list;
  for (auto &[what, locations] : leftOut) {
    llvm::SmallSetVector<StringAttr, 8> lines;
    for (Location loc : locations) {
      std::string line = lineOf(loc);
      lines.insert(builder.getStringAttr(what + (line.empty() ? "" : " at " + line)));
    }
    list.append(lines.begin(), lines.end());
    emitRemark(locations.front()) << what << " isn't supported on GPUs yet: " << locations.size()
                                  << " left out";
  }
  target->setAttr("rt.left_out", builder.getArrayAttr(list));
}

LogicalResult Lowering::run() {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  target = gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
  LogicalResult result = success();
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (succeeded(result))
        result = lower(op);
      return isa<rt::KernelOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
  }
  finish();
  return result;
}

namespace {
struct LowerRowKernels : cuda::impl::LowerRowKernelsBase<LowerRowKernels> {
  void runOnOperation() override {
    if (failed(Lowering(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
