//===- Explain.h - Why ranks communicate, and values lie as they do -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_EXPLAIN_H
#define PTLC_COMPILER_DRIVER_EXPLAIN_H

#include "lang/Sema/Program.h"
#include "mlir/IR/BuiltinOps.h"

namespace ptlc {

/// The source text of the expressions of a program, by their places.
class Expressions {
public:
  Expressions(const sema::Program &program, const lang::SourceManager &sources);

  /// Returns the text, on one line, of the expression at "file:line:column": the one whose
  /// operation `reason` names, else the shortest. Empty where none begins.
  std::string at(llvm::StringRef place, llvm::StringRef reason) const;

private:
  struct Entry {
    std::string operation; ///< "ptl.dot"
    std::string text;
  };
  llvm::StringMap<llvm::SmallVector<Entry, 2>> entries;
};

/// Prints every collective of a step in program order: what, over which axes, the bytes that a rank
/// sends, how often, the line, the expression and the reason. `module` is at stage `memory`.
void explainCollectives(mlir::ModuleOp module, const Expressions &expressions,
                        llvm::raw_ostream &os);

/// Prints for each dimension of the weight, field or named value `name` ("blocks.0.attn.wq") which
/// axes cut it, by which rule, and what brought the rule there. `module` is at stage `sharded`.
/// Returns false after a message on `errors` if there is no such name.
bool explainName(mlir::ModuleOp module, llvm::StringRef name, llvm::raw_ostream &os,
                 llvm::raw_ostream &errors);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_EXPLAIN_H
