//===- TreeBuilder.h - From parse tree to syntax tree ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One function per rule of the grammar. Those that build a list of lines leave
// out lines that aren't sound; all others are called on sound contexts only, so
// that no child that the rule demands is missing.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_PARSE_TREEBUILDER_H
#define PTLC_LANG_PARSE_TREEBUILDER_H

#include "lang/AST/AST.h"
#include "lang/Parse/Places.h"

#include "PtlParser.h"

namespace ptlc::parse {

/// How deep operators, calls and accesses may nest in the tree: whoever walks it recurses.
inline constexpr unsigned kMaxOperators = 500;

class TreeBuilder {
public:
  TreeBuilder(const Places &places, SyntaxErrors &errors, const std::vector<ast::Comment> &comments)
      : places(places), errors(errors), comments(comments) {}

  /// Builds the items of a file; those with errors are left out.
  std::vector<ast::DeclPtr> file(ptlgrammar::PtlParser::FileContext *context);

private:
  using P = ptlgrammar::PtlParser;

  // Declarations and statements (TreeBuilder.cpp).
  ast::DeclPtr item(P::ItemLineContext *line);
  ast::DeclPtr importDecl(P::ImportDeclContext *context);
  ast::DeclPtr sizes(P::SizesContext *context);
  ast::DeclPtr check(P::CheckContext *context);
  ast::DeclPtr module(P::ModuleContext *context);
  ast::DeclPtr member(P::MemberContext *context);
  ast::DeclPtr weight(P::WeightContext *context);
  ast::DeclPtr part(P::PartContext *context);
  ast::DeclPtr function(P::FunctionContext *context);
  ast::DeclPtr train(P::TrainContext *context);
  ast::DeclPtr plan(P::PlanContext *context);
  ast::DeclPtr cluster(P::ClusterContext *context);
  std::vector<ast::DirectivePtr> directives(const std::vector<P::DirectiveLineContext *> &lines);
  ast::DirectivePtr directive(P::DirectiveContext *context);
  std::vector<ast::Param> params(P::ParamsContext *context);
  ast::Bind bind(P::BindContext *context);
  ast::Block body(P::BodyContext *context);
  ast::StmtPtr statement(P::StatementContext *context);
  ast::StmtPtr foreign(P::ForeignContext *context);

  // Expressions, names and types (ExprBuilder.cpp).
  ast::ExprPtr expr(P::ExprContext *context);
  ast::ExprPtr postfix(P::ExprContext *context);
  ast::ExprPtr operation(P::ExprContext *context);
  ast::ExprPtr literal(P::ExprContext *context);
  std::vector<ast::Arg> args(P::ArgsContext *context);
  ast::Arg arg(P::ArgContext *context);
  ast::Arg entry(P::EntryContext *context);
  ast::ExprPtr measure(P::MeasureContext *context);
  ast::Path label(P::LabelContext *context);
  ast::TypePtr type(P::TypeContext *context);
  ast::Dimension dimension(P::DimensionContext *context);
  ast::Path path(P::PathContext *context);
  ast::Name name(P::NameContext *context);
  ast::Name name(antlr4::tree::TerminalNode *node);
  std::vector<ast::Name> names(P::NamesContext *context);
  std::unique_ptr<ast::StringExpr> text(antlr4::tree::TerminalNode *node);

  /// Returns whether the tree below has no error and isn't too deep; reports the
  /// latter. What stands inside a body isn't looked at: its lines are checked one by one.
  bool isSound(antlr4::ParserRuleContext *context);

  template <typename T> std::unique_ptr<T> make(antlr4::ParserRuleContext *context) {
    auto node = std::make_unique<T>();
    node->range = places.of(context);
    return node;
  }
  /// As make, with the doc comment above.
  template <typename T> std::unique_ptr<T> declare(antlr4::ParserRuleContext *context) {
    auto node = make<T>(context);
    node->doc = docAbove(node->range);
    return node;
  }
  /// Returns the text of the `///` lines right above a place that begins its line.
  std::string docAbove(ast::SourceRange range) const;
  void error(ast::SourceRange range, std::string text);

  const Places &places;
  SyntaxErrors &errors;
  const std::vector<ast::Comment> &comments;
};

} // namespace ptlc::parse

#endif // PTLC_LANG_PARSE_TREEBUILDER_H
