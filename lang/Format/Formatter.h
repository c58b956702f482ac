//===- Formatter.h - From the tree to a document ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Nodes are turned into documents in the order of the text, and comments are
// taken from their list as the text passes them: a comment that follows code on
// its line becomes a suffix of what was printed last, one with a line of its own
// is printed before the next item of the list that it stands in. In the middle
// of an expression, where there is no list, it becomes a suffix, too.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_FORMAT_FORMATTER_H
#define PTLC_LANG_FORMAT_FORMATTER_H

#include "lang/AST/AST.h"
#include "lang/Format/Doc.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ptlc::format {

inline constexpr unsigned kLineWidth = 100;

class Formatter {
public:
  explicit Formatter(const ast::File &file) : comments(file.comments) {}

  DocRef file(const ast::File &file);

private:
  // Declarations and statements (Formatter.cpp).
  DocRef decl(const ast::Decl &decl);
  DocRef importDecl(const ast::ImportDecl &decl);
  DocRef sizes(const ast::SizesDecl &decl);
  DocRef check(const ast::Expr &condition, const ast::StringExpr *message);
  DocRef weight(const ast::WeightDecl &decl);
  DocRef part(const ast::PartDecl &decl);
  DocRef function(const ast::FunctionDecl &decl);
  DocRef module(const ast::ModuleDecl &decl);
  DocRef plan(const ast::PlanDecl &decl);
  DocRef statement(const ast::Stmt &statement);
  DocRef params(const std::vector<ast::Param> &params, lang::SourceRange around);
  DocRef directives(DocRef head, const std::vector<ast::DirectivePtr> &list,
                    lang::SourceRange body);
  DocRef directive(const ast::Directive &directive, unsigned nameWidth);

  /// `head { a; b }` or a block of lines. `size` entries; `rangeOf` and `build` give each.
  DocRef block(DocRef head, size_t size, llvm::function_ref<lang::SourceRange(size_t)> rangeOf,
               llvm::function_ref<DocRef(size_t, bool oneLine)> build, lang::SourceRange body);
  /// Entries on lines of their own, with the comments before `end`; begins with a HardLine each.
  DocRef lines(size_t size, llvm::function_ref<lang::SourceRange(size_t)> rangeOf,
               llvm::function_ref<DocRef(size_t)> build, uint32_t end, uint32_t lineBefore);

  // Expressions and types (FormatExpr.cpp).
  DocRef expr(const ast::Expr &expr);
  DocRef binary(const ast::BinaryExpr &expr);
  DocRef arg(const ast::Arg &arg);
  DocRef args(llvm::StringRef open, const std::vector<ast::Arg> &args, llvm::StringRef close,
              lang::SourceRange around);
  DocRef type(const ast::TypeExpr &type);
  DocRef dimension(const ast::Dimension &dimension);
  DocRef path(const ast::Path &path);
  /// ` = value`, on the next line if it is whole there.
  DocRef assigned(llvm::StringRef sign, const ast::Expr &value);
  /// `open a, b close`; breaks into one item a line.
  DocRef list(llvm::StringRef open, size_t size, llvm::function_ref<uint32_t(size_t)> beginOf,
              llvm::function_ref<DocRef(size_t)> build, llvm::StringRef close, uint32_t end);
  /// `a, b, c` with as many items on a line as fit.
  DocRef fill(size_t size, llvm::function_ref<uint32_t(size_t)> beginOf,
              llvm::function_ref<DocRef(size_t)> build);

  // Comments (Format.cpp).
  /// Takes the comments before `offset` that follow code on their line.
  DocRef trailingComments(uint32_t offset);
  /// Takes the comments before `offset` that own their line: each and a HardLine.
  DocRef ownComments(uint32_t offset);
  /// Takes all comments before `offset` as suffixes.
  DocRef strayComments(uint32_t offset);
  bool hasCommentsBefore(uint32_t offset) const;
  bool nextOwnsLineBefore(uint32_t offset) const;
  /// A word of the text, with the comments before it.
  DocRef word(llvm::StringRef text, lang::SourceRange range);
  DocRef word(const ast::Name &name) { return word(name.text, name.range); }

  Docs docs;
  llvm::ArrayRef<ast::Comment> comments; // those not printed yet
  unsigned depth = 0;                    // blocks around
};

} // namespace ptlc::format

#endif // PTLC_LANG_FORMAT_FORMATTER_H
