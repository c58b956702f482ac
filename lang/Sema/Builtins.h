//===- Builtins.h - The functions of the language ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Each built-in function has a row in a table: name, the named arguments that
// it takes, and the function that checks types and adds nodes. The tables stand
// in one file per family.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_BUILTINS_H
#define PTLC_LANG_SEMA_BUILTINS_H

#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

/// A call of a built-in function, its arguments evaluated (none of them poison) and sorted.
class BuiltinCall {
public:
  BuiltinCall(Evaluator &evaluator, llvm::StringRef name, const ast::CallExpr &expr)
      : evaluator(evaluator), ctx(evaluator.context()), name(name), expr(expr) {}

  Evaluator &evaluator;
  Context &ctx;
  llvm::StringRef name;
  const ast::CallExpr &expr;
  std::vector<const Argument *> positional;
  std::vector<const Argument *> named;

  lang::SourceRange range() const { return expr.range; }
  Report error(const llvm::Twine &text) const { return ctx.error(expr.range, text); }

  /// The argument called `label`, or null.
  const Argument *find(llvm::StringRef label) const;
  /// Reports a wrong number of positional arguments and returns false.
  bool takes(size_t count) const { return takes(count, count); }
  bool takes(size_t least, size_t most) const;

  /// The operand as a tensor; numbers become scalars. nullopt after an error.
  std::optional<Tensor> tensor(const Argument &argument) const;
  /// The same for a tensor of floats.
  std::optional<Tensor> floats(const Argument &argument) const;
  /// The dimensions of `over:` or a list argument.
  std::optional<DimList> dims(const Argument &argument) const;
  /// `over:` (required), all of whose dimensions `type` has.
  std::optional<DimList> over(const Type &type) const;
  /// A named argument that is one dimension of `type`; required.
  std::optional<DimId> oneOf(llvm::StringRef label, const Type &type) const;
  /// A named number, or `fallback`; reports anything else.
  std::optional<double> real(llvm::StringRef label, double fallback) const;
  std::optional<int64_t> integer(llvm::StringRef label, int64_t fallback) const;
  std::optional<bool> flag(llvm::StringRef label, bool fallback) const;
  /// An argument that is an arrow between single dimensions.
  std::optional<std::pair<DimId, DimId>> arrow(const Argument &argument) const;
  /// Reports that `type` lacks `dim`, with a suggestion.
  Report lacks(const Type &type, DimId dim, llvm::StringRef purpose = "") const;

  /// Adds a node at the call.
  Entity emit(Op op, llvm::ArrayRef<ValueId> operands, Type type, Attrs attrs = {}) const {
    return Tensor{ctx.emit(op, operands, std::move(type), std::move(attrs), expr.range)};
  }
};

/// One built-in function. `labels` are its named arguments.
struct Builtin {
  llvm::StringRef name;
  llvm::SmallVector<llvm::StringRef, 6> labels;
  Entity (*expand)(BuiltinCall &call);
};

/// The function of that name, or null.
const Builtin *findBuiltin(llvm::StringRef name);
/// All names, in the order of the tables.
llvm::ArrayRef<llvm::StringRef> builtinNames();

// The tables of the families.
llvm::ArrayRef<Builtin> elementwiseBuiltins();
llvm::ArrayRef<Builtin> reductionBuiltins();
llvm::ArrayRef<Builtin> rowBuiltins();
llvm::ArrayRef<Builtin> shapeBuiltins();
llvm::ArrayRef<Builtin> lossBuiltins();
llvm::ArrayRef<Builtin> attentionBuiltins();
llvm::ArrayRef<Builtin> randomBuiltins();

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_BUILTINS_H
