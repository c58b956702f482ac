//===- InitialValues.h - zeros, normal(0.02), ... ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_SEMA_INITIALVALUES_H
#define PTLC_LANG_SEMA_INITIALVALUES_H

#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

/// Whether `name` is an initial value: "normal".
bool isInitialValue(llvm::StringRef name);

/// The initial value of a weight; reports and returns nullopt if it isn't one.
std::optional<InitialValue> evaluateInitialValue(Evaluator &evaluator, const ast::Expr &expr);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_INITIALVALUES_H
