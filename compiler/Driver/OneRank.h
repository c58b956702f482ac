//===- OneRank.h - What ./model --check compares with -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// An executable for several ranks holds its program for one rank, too: the same
// plan with every axis of size 1, without its promises. It is compiled on a
// thread of its own, beside the program itself.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_ONERANK_H
#define PTLC_COMPILER_DRIVER_ONERANK_H

#include "compiler/Codegen/Target.h"
#include "compiler/Driver/Frontend.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"
#include <thread>

namespace ptlc {

class OneRank {
public:
  /// Begins to compile the input of `options`, which compiled for its own mesh up to the import.
  /// The object is for `target`, but for its symbol.
  OneRank(const CompileOptions &options, const codegen::TargetOptions &target,
          const mlir::DialectRegistry &registry);
  ~OneRank();
  OneRank(const OneRank &) = delete;
  OneRank &operator=(const OneRank &) = delete;

  /// Waits for the object file, which exports `ptlrt_one_rank`. Returns false after messages on
  /// `errors` if it couldn't be compiled.
  bool finish(llvm::raw_ostream &errors);
  llvm::StringRef object() const { return {bytes.data(), bytes.size()}; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> import();
  bool compile(llvm::raw_ostream &errors);

  CompileOptions options;
  codegen::TargetOptions target;
  Frontend frontend;
  mlir::MLIRContext context;
  llvm::SmallVector<char, 0> bytes;
  std::string messages;
  bool isCompiled = false;
  std::thread thread; ///< the last member: it uses the others
};

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_ONERANK_H
