//===- Messages.h - The compiler's messages in the language's manner -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_MESSAGES_H
#define PTLC_COMPILER_DRIVER_MESSAGES_H

#include "lang/Diag/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"

namespace ptlc {

/// While it lives, diagnostics of passes print like those of the front end: at the .ptl line, with
/// the source and a caret, and the part of the model that the operation belongs to as a note, on
/// `os`.
class MessageHandler : public mlir::ScopedDiagnosticHandler {
public:
  MessageHandler(mlir::MLIRContext &context, const lang::SourceManager &sources,
                 llvm::raw_ostream &os);
};

/// Returns the location of "file:line:column"; an unknown one if `text` is none.
mlir::Location placeAt(mlir::MLIRContext *context, llvm::StringRef text);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_MESSAGES_H
