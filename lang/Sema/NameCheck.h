//===- NameCheck.h - Names without types ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_SEMA_NAMECHECK_H
#define PTLC_LANG_SEMA_NAMECHECK_H

#include "lang/Sema/Context.h"

namespace ptlc::sema {

/// Reports names that are unknown, declared twice or assigned without being a `var`, in all
/// modules, functions and sizes of `file`, used or not, each once. What depends on the meaning of a
/// name is left to the expansion, which is silent about unknown names.
void checkNames(Context &ctx, const FileScope &file);

/// The names of all values that a plan's path can reach in `function`: parameters, `let`, `var`.
llvm::SmallVector<llvm::StringRef, 8> valueNames(const ast::FunctionDecl &function);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_NAMECHECK_H
