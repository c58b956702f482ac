//===- Trial.cpp - What the verifier and the interpreter say --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-mutate/Trial.h"

#include "compiler/Support/Location.h"
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/Passes.h"
#include "compiler/Transforms/Shard/ShardingVerifier.h"
#include "mlir/Pass/PassManager.h"
#include "test/lib/ptl-run/Compare.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::mutate;

static constexpr double kTolerance = 1e-9;
static constexpr int64_t kStep = 3; ///< past the first, where optimizers have special cases

static run::RunOptions runOptions(uint64_t seed) {
  run::RunOptions options;
  options.f64 = true;
  options.seed = seed;
  return options;
}

/// Notes the first error in `problem` while it lives.
namespace {
class Listener {
public:
  Listener(MLIRContext *context, std::string &problem)
      : handler(context, [&problem](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error && problem.empty())
            problem = lineOf(diagnostic.getLocation()) + ": " + diagnostic.str();
          return success();
        }) {
    problem.clear();
  }

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

bool Trial::partition() {
  Listener listener(global.getContext(), problem);
  local = global.clone();
  PassManager manager(global.getContext(), ModuleOp::getOperationName());
  manager.addPass(shard::createPartition());
  if (failed(manager.run(*local)))
    return false;
  mesh = shard::readMesh(*local);
  return true;
}

/// The global program with nothing in it that speaks of a mesh.
static OwningOpRef<ModuleOp> withoutMesh(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  copy->walk([](spmd::ConstrainOp op) {
    op.replaceAllUsesWith(op.getX());
    op.erase();
  });
  if (spmd::MeshOp mesh = spmd::findMesh(*copy))
    mesh.erase();
  for (auto function : copy->getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, shard::kSharding);
  return copy;
}

bool Trial::runReference() {
  Listener listener(global.getContext(), problem);
  run::InputOptions options;
  options.seed = seed;
  options.disturbed = true;
  OwningOpRef<ModuleOp> plain = withoutMesh(global);
  for (auto function : plain->getOps<func::FuncOp>()) {
    FailureOr<run::Signature> signature = run::readSignature(function);
    if (failed(signature))
      return false;
    run::Inputs inputs(options);
    Reference reference;
    if (llvm::Error error = inputs.load(*plain)) {
      problem = llvm::toString(std::move(error));
      return false;
    }
    if (llvm::Error error = inputs.fill(*signature, kStep, reference.inputs)) {
      problem = llvm::toString(std::move(error));
      return false;
    }
    auto outcome = run::runGlobal(*signature, reference.inputs, runOptions(seed));
    if (failed(outcome))
      return false;
    reference.results = outcome->results;
    references[function.getName().str()] = std::move(reference);
  }
  return true;
}

bool Trial::isSeen(ModuleOp module) {
  Listener listener(module.getContext(), problem);
  shard::ShardingVerifier verifier(mesh);
  for (auto function : global.getOps<func::FuncOp>())
    if (failed(verifier.run(function, module.lookupSymbol<func::FuncOp>(function.getName()))))
      return true;
  return false;
}

bool Trial::isWrong(ModuleOp module) {
  Listener listener(module.getContext(), problem);
  for (auto function : module.getOps<func::FuncOp>()) {
    const Reference &reference = references[function.getName().str()];
    FailureOr<run::Signature> signature = run::readSignature(function);
    if (failed(signature))
      return true;
    auto outcome = run::runGlobal(*signature, reference.inputs, runOptions(seed));
    if (failed(outcome))
      return true;
    for (const auto &[key, tensor] : reference.results) {
      auto found = outcome->results.find(key);
      if (found == outcome->results.end() || found->second.type().sizes != tensor.type().sizes ||
          !run::difference(tensor, found->second).within(kTolerance)) {
        problem = key + " differs";
        return true;
      }
    }
  }
  return false;
}
