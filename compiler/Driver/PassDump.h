//===- PassDump.h - The IR after every pass, as files -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_PASSDUMP_H
#define PTLC_COMPILER_DRIVER_PASSDUMP_H

#include "compiler/Pipelines/Phases.h"
#include "mlir/Pass/PassInstrumentation.h"
#include <string>

namespace ptlc {

/// Writes the module after each pass that changed it as `DIR/NN-pass-name.mlir`. 00 is the program
/// as it is written, 01 what the first pass gets. Each file begins with its stage and with why the
/// pass stands there. Locations are printed, so that every operation names its line.
class PassDump {
public:
  explicit PassDump(std::string folder) : folder(std::move(folder)) {}

  /// Creates the folder, empties it of earlier dumps and writes stages `model` and `flat`.
  bool begin(mlir::Operation *asWritten, mlir::Operation *module);
  void after(mlir::Pass *pass, mlir::Operation *op);
  /// What tells a pass manager to call after(); the dump must outlive it.
  std::unique_ptr<mlir::PassInstrumentation> instrumentation();

  /// Whether a file could not be written; its message went to standard error.
  bool failed() const { return hasFailed; }

private:
  void write(mlir::Operation *op, llvm::StringRef name, Phase stage, llvm::StringRef reason);

  std::string folder, last;
  unsigned number = 0, row = 0;
  mlir::Operation *program = nullptr; ///< the module, or that of a rank of a pipeline
  bool hasFailed = false;
};

/// Prints `op` as dumps and `--emit` show it: large constants cut, with locations when asked.
std::string printModule(mlir::Operation *op, bool locations);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_PASSDUMP_H
