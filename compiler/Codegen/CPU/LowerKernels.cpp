//===- LowerKernels.cpp - Loops to LLVM IR --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Transcendental functions of f32 become polynomials, which the loop vectoriser
// widens; those of f64 (random normal numbers) stay calls of the C library.
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/LowerKernels.h"

#include "compiler/Conversion/KernelToLoops/KernelToLoops.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace ptlc;

namespace {
/// Replaces f32 transcendental functions by polynomials.
struct ApproximateMath : PassWrapper<ApproximateMath, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)

  StringRef getArgument() const override { return "cpu-approximate-math"; }
  StringRef getDescription() const override {
    return "Replaces f32 transcendental functions by polynomials";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<vector::VectorDialect, arith::ArithDialect, math::MathDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, MathPolynomialApproximationOptions());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void cpu::registerTranslations(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

/// Conversions leave what a loop is annotated with on its branch back; the translation reads it in
/// the place that LLVM's dialect has for it.
static void keepLoopAnnotations(ModuleOp module) {
  module.walk([](LLVM::BrOp branch) {
    if (Attribute annotation = branch->removeDiscardableAttr(kernel::kLoopAnnotation))
      branch.setLoopAnnotationAttr(cast<LLVM::LoopAnnotationAttr>(annotation));
  });
}

std::unique_ptr<llvm::Module> cpu::lowerKernels(ModuleOp module, llvm::LLVMContext &context,
                                                bool debugInfo) {
  PassManager manager(module->getContext(), ModuleOp::getOperationName());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(std::make_unique<ApproximateMath>());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  if (debugInfo)
    manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  if (failed(manager.run(module)))
    return nullptr;
  keepLoopAnnotations(module);
  return translateModuleToLLVMIR(module, context, "kernels");
}
