//===- Inputs.h - Where a run's numbers come from -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In this order: the command line, files, the training specification, and, for
// what is left, numbers made from seed and key. Keys are the same in every form
// of a program, so are the numbers.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_INPUTS_H
#define PTLC_TEST_LIB_PTL_RUN_INPUTS_H

#include "test/lib/ptl-run/Files.h"
#include "test/lib/ptl-run/Signature.h"

namespace ptlc::run {

struct InputOptions {
  uint64_t seed = 0;
  std::string weights;                     ///< a safetensors file
  std::map<std::string, std::string> data; ///< field (or "tokens") to file
  std::map<std::string, double> hypers;    ///< path to value
  bool wrap = false;                       ///< data begins again inside a batch
  /// Weights and states get noise besides their initial values, and the step is not 0: a zero or a
  /// one hides mistakes.
  bool disturbed = false;
};

/// The values of one run; opens each file once.
class Inputs {
public:
  explicit Inputs(const InputOptions &options) : options(options) {}

  /// Opens the files. With a training specification the seed defaults to the program's.
  llvm::Error load(mlir::ModuleOp module);
  /// Values for every argument of `signature` at `step`, but those that `values` has already. An
  /// argument attribute `run.value` (an array of numbers) comes before all.
  llvm::Error fill(const Signature &signature, int64_t step, Tensors &values);

private:
  llvm::Expected<Tensor> make(const Port &port, int64_t step);
  llvm::Expected<Tensor> weight(const Port &port);
  llvm::Expected<Tensor> data(const Port &port, int64_t step);
  llvm::Expected<Tensor> batchOf(const Port &port, const Tensor &file, int64_t samples,
                                 int64_t stride, int64_t shift, int64_t step);
  Tensor randomData(const Port &port, int64_t step);
  llvm::Expected<double> hyper(const Port &port, int64_t step);

  InputOptions options;
  TensorMap weights, files;
  std::optional<Tensor> tokens;
  mlir::DictionaryAttr train;
};

/// The learning rate `base` at `step` under a `schedule` dictionary of the training specification.
double scheduled(mlir::DictionaryAttr schedule, double base, int64_t step);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_INPUTS_H
