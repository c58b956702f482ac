//===- Load.h - Files, imports and their declarations -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_SEMA_LOAD_H
#define PTLC_LANG_SEMA_LOAD_H

#include "lang/Sema/Context.h"

namespace ptlc::sema {

/// Parses the main file and all that it imports, and declares their top-level names. Returns the
/// main file's scope, or null if a file has syntax errors.
FileScope *loadProgram(Context &ctx, lang::FileId main);

/// Reports `name` as already declared, here and there.
void reportRedeclared(Context &ctx, llvm::StringRef name, lang::SourceRange here,
                      lang::SourceRange there, llvm::StringRef hint = "");

/// `batch` belongs to the data: reports a declaration of that name and returns true.
bool reportIfBatch(Context &ctx, llvm::StringRef name, lang::SourceRange range);

/// The text of a file of the standard library ("nn"), or nullopt.
std::optional<llvm::StringRef> standardLibrary(llvm::StringRef name);
/// The names of the standard library's files.
std::vector<llvm::StringRef> standardLibraryNames();

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_LOAD_H
