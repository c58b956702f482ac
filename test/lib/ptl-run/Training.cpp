//===- Training.cpp - Runs a program once or for several steps ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Training.h"

#include <cmath>

namespace ptlc::run {

void printTensor(llvm::raw_ostream &out, llvm::StringRef key, const Tensor &tensor) {
  out << key << ":";
  if (tensor.type().rank())
    out << " " << tensor.type().str();
  Element element = tensor.type().element;
  bool real = isFloat(element);
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (real || std::isnan(tensor[i]))
      out << " " << number(tensor[i]);
    else
      out << " " << static_cast<int64_t>(tensor[i]);
  out << "\n";
}

llvm::LogicalResult runOnce(mlir::func::FuncOp function, Inputs &inputs, const RunOptions &options,
                            bool all, GlobalOutcome &outcome) {
  llvm::FailureOr<Signature> signature = readSignature(function);
  if (failed(signature))
    return llvm::failure();
  Tensors values;
  if (llvm::Error error = inputs.fill(*signature, 0, values))
    return function.emitError(llvm::toString(std::move(error)));
  llvm::FailureOr<GlobalOutcome> result = runGlobal(*signature, values, options);
  if (failed(result))
    return llvm::failure();
  for (const Port &port : valuesOf(signature->results))
    if (all || port.global.rank() == 0)
      printTensor(llvm::outs(), port.key(), result->results[port.key()]);
  for (const auto &[path, gradient] : result->gradients)
    if (all)
      printTensor(llvm::outs(), "gradient " + path, gradient);
  outcome = std::move(*result);
  return llvm::success();
}

/// Runs one step with the weights and states in `kept`.
static llvm::FailureOr<GlobalOutcome> runStep(const Signature &signature, Inputs &inputs,
                                              const RunOptions &options, int64_t step,
                                              const Tensors &kept) {
  Tensors values = kept;
  mlir::func::FuncOp function = signature.function;
  if (llvm::Error error = inputs.fill(signature, step, values))
    return function.emitError(llvm::toString(std::move(error)));
  return runGlobal(signature, values, options);
}

llvm::LogicalResult runSteps(mlir::func::FuncOp function, Inputs &inputs, const RunOptions &options,
                             int64_t steps, GlobalOutcome &outcome) {
  llvm::FailureOr<Signature> signature = readSignature(function);
  if (failed(signature))
    return llvm::failure();
  Tensors kept, firstGradients;
  for (int64_t step = 0; step < steps; ++step) {
    llvm::FailureOr<GlobalOutcome> result = runStep(*signature, inputs, options, step, kept);
    if (failed(result))
      return llvm::failure();
    llvm::outs() << "step " << step;
    for (const Port &port : valuesOf(signature->results)) {
      const Tensor &value = result->results[port.key()];
      if (port.role == "weight" || port.role == "state")
        kept[port.key()] = value;
      else if (port.global.rank() == 0)
        llvm::outs() << " " << (port.path.empty() ? port.role : port.path) << " "
                     << number(value.scalar());
    }
    llvm::outs() << "\n";
    llvm::outs().flush();
    if (step == 0)
      firstGradients = result->gradients;
    outcome = std::move(*result);
  }
  outcome.gradients = firstGradients;
  return llvm::success();
}

} // namespace ptlc::run
