//===- Target.cpp - The machine that a program is compiled for ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Target.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <mutex>

using namespace ptlc;
using namespace ptlc::cpu;

codegen::TargetOptions cpu::resolveNative(codegen::TargetOptions options) {
  if (!options.cpu.empty() && options.cpu != "native")
    return options;
  options.cpu = llvm::sys::getHostCPUName().str();
  llvm::SubtargetFeatures features;
  // Sorted, so that equal machines give equal objects.
  std::map<std::string, bool> host;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    host[feature.getKey().str()] = feature.getValue();
  for (const auto &[name, enabled] : host)
    features.AddFeature(name, enabled);
  options.features = features.getString();
  return options;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
cpu::createTargetMachine(const codegen::TargetOptions &options) {
  static std::once_flag once; // compilations may run on several threads
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError(message);
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  if (!options.cpu.empty() && !info->isCPUStringValid(options.cpu))
    return llvm::createStringError("'" + options.cpu + "' is not a processor that LLVM knows");
  llvm::TargetOptions flags;
  flags.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, options.cpu, options.features, flags, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

void cpu::optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned level) {
  // LLVM prefers 256-bit vectors on processors that have wider ones; kernels here are long enough
  // for those.
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  llvm::ModulePassManager passes = level == 0 ? builder.buildO0DefaultPipeline(chosen)
                                              : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(module, modules);
}

llvm::Error cpu::emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                            llvm::SmallVectorImpl<char> &object) {
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("LLVM can't write object files for this target");
  passes.run(module);
  return llvm::Error::success();
}
