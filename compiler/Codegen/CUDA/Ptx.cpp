//===- Ptx.cpp - From the NVVM dialect to PTX -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Architectures.h"
#include "compiler/Codegen/CUDA/Passes.h"
#include "compiler/Codegen/Target.h"
#include "compiler/Support/Location.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Target/TargetMachine.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace mlir;
using namespace ptlc;

/// Instruction sets that a version of PTX must know; LLVM's default is too old for these chips.
static constexpr struct {
  StringRef name, features;
} kArchitectures[] = {
    {"sm_80", "+ptx80"}, {"sm_90", "+ptx80"}, {"sm_100", "+ptx86"}, {"sm_120", "+ptx87"}};

SmallVector<StringRef> cuda::architectures() {
  SmallVector<StringRef> names;
  for (const auto &entry : kArchitectures)
    names.push_back(entry.name);
  return names;
}

static std::unique_ptr<llvm::TargetMachine> createMachine(StringRef architecture,
                                                          std::string &error) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  StringRef features;
  for (const auto &entry : kArchitectures)
    if (entry.name == architecture)
      features = entry.features;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, architecture, features, options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

/// What a reader, or a launcher, needs to know about the kernels.
static void printHeader(gpu::GPUModuleOp module, llvm::raw_ostream &os) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto grid = function->getAttrOfType<IntegerAttr>("rt.grid");
    auto threads = function->getAttrOfType<DenseI32ArrayAttr>("nvvm.maxntid");
    if (!grid || !threads)
      continue;
    os << llvm::formatv("// {0}: {1} blocks of {2} threads", function.getName(), grid.getInt(),
                        threads[0]);
    if (auto workspace = function->getAttrOfType<IntegerAttr>("rt.workspace"))
      os << llvm::formatv(", {0} bytes of workspace", workspace.getInt());
    if (std::string line = lineOf(function.getLoc()); !line.empty())
      os << ", " << line;
    os << "\n";
  }
  if (auto list = module->getAttrOfType<ArrayAttr>("rt.left_out"))
    for (auto entry : list.getAsRange<StringAttr>())
      os << "// left out: " << entry.getValue() << "\n";
}

static LogicalResult fail(Operation *op, StringRef why) {
  return op->emitError("LLVM can't make PTX: ") << why;
}

/// The PTX of one gpu.module.
static LogicalResult assemble(gpu::GPUModuleOp kernels, llvm::TargetMachine &machine,
                              SmallVectorImpl<char> &assembly) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!code)
    return failure();
  llvm::raw_svector_ostream stream(assembly);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return fail(kernels, "the target has no assembly");
  code->setDataLayout(machine.createDataLayout());
  code->setTargetTriple(machine.getTargetTriple());
  optimize(*code, machine);
  passes.run(*code);
  return success();
}

LogicalResult codegen::emitPtx(ModuleOp module, StringRef architecture, std::string &text) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  module->getContext()->appendDialectRegistry(registry);
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(architecture, error);
  if (!machine)
    return fail(module, error);
  for (auto kernels : module.getOps<gpu::GPUModuleOp>()) {
    llvm::SmallString<0> assembly;
    if (failed(assemble(kernels, *machine, assembly)))
      return failure();
    llvm::raw_string_ostream os(text);
    printHeader(kernels, os);
    os << assembly;
  }
  return success();
}
