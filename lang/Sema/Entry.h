//===- Entry.h - Arguments of train, plan and cluster entries ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every line of `train`, `plan` and `cluster` is a call without parentheses.
// An EntryReader asks for its arguments one by one; every question reports what
// doesn't fit and then gives nullopt.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_ENTRY_H
#define PTLC_LANG_SEMA_ENTRY_H

#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

/// What a unit measures.
enum class Quantity : uint8_t { Bytes, BytesPerSecond, Flops, FlopsPerSecond, Seconds };

class EntryReader {
public:
  EntryReader(Context &ctx, Frame &frame, const ast::Directive &directive)
      : ctx(ctx), evaluator(ctx, frame), name(directive.name.text), args(directive.args),
        range(directive.range) {}
  /// A call inside an entry: `adamw(lr: 1e-3)`.
  EntryReader(Context &ctx, Frame &frame, llvm::StringRef name, const ast::CallExpr &call)
      : ctx(ctx), evaluator(ctx, frame), name(name), args(call.args), range(call.range) {}

  Context &ctx;
  Evaluator evaluator;
  llvm::StringRef name;
  llvm::ArrayRef<ast::Arg> args;
  lang::SourceRange range;

  /// The text before ':' ("" without).
  llvm::StringRef label(const ast::Arg &arg) const;
  const ast::Arg *named(llvm::StringRef label) const;
  llvm::SmallVector<const ast::Arg *> positional() const;

  /// Reports labels that aren't among `labels`, labels given twice and more than `most` arguments
  /// by place; returns whether there were none.
  bool accept(llvm::ArrayRef<llvm::StringRef> labels, size_t most);
  /// The only argument by place; reports its absence.
  const ast::Arg *single();
  /// A named argument; reports its absence.
  const ast::Arg *required(llvm::StringRef label);

  std::optional<int64_t> integer(const ast::Arg &arg, int64_t least);
  std::optional<double> real(const ast::Arg &arg);
  /// A real that is at least, or above, 0.
  std::optional<double> notNegative(const ast::Arg &arg);
  std::optional<double> positive(const ast::Arg &arg);
  std::optional<bool> flag(const ast::Arg &arg);
  std::optional<std::string> text(const ast::Arg &arg);
  /// One of a list of words, by its place in it.
  std::optional<unsigned> word(const ast::Arg &arg, llvm::ArrayRef<llvm::StringRef> words);
  /// A number with a unit of `quantity`, in its base unit.
  std::optional<double> measure(const ast::Expr &expr, Quantity quantity);

  /// Sets `target` to the named argument, if it is given and good.
  template <typename T>
  void assign(llvm::StringRef label, T &target,
              std::optional<double> (EntryReader::*question)(const ast::Arg &)) {
    if (const ast::Arg *arg = named(label))
      if (std::optional<double> value = (this->*question)(*arg))
        target = *value;
  }

  /// "'lr'" or "'batch'": how a message calls the argument.
  std::string what(const ast::Arg &arg) const;

private:
  /// Evaluates an argument that is an expression; poison after an error.
  Entity value(const ast::Arg &arg);
};

/// The name of a call or a lone word: `tokens(...)`, `constant`; empty for anything else.
llvm::StringRef headWord(const ast::Expr &expr);

/// Checks a unit by itself, for measures where no quantity is expected. Reports and returns
/// nullopt.
std::optional<double> unitFactor(Context &ctx, const ast::MeasureExpr &measure, Quantity &quantity);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_ENTRY_H
