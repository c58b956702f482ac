//===- TreeBuilder.cpp - Declarations, statements, directives -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Parse/TreeBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::parse;
using namespace ptlc;

void TreeBuilder::error(ast::SourceRange range, std::string text) {
  errors.push_back({range, std::move(text), {}, {}});
}

/// Walks the parse tree with a stack of its own: it is as deep as the longest sum.
bool TreeBuilder::isSound(antlr4::ParserRuleContext *context) {
  struct Entry {
    antlr4::tree::ParseTree *tree;
    unsigned operators;
  };
  std::vector<Entry> stack = {{context, 0}};
  while (!stack.empty()) {
    auto [tree, operators] = stack.back();
    stack.pop_back();
    if (dynamic_cast<antlr4::tree::ErrorNode *>(tree))
      return false;
    auto *node = dynamic_cast<antlr4::ParserRuleContext *>(tree);
    if (!node)
      continue;
    if (node->exception)
      return false;
    if (node->getRuleIndex() == P::RuleBody && node != context)
      continue;
    operators += node->getRuleIndex() == P::RuleExpr;
    if (operators > kMaxOperators) {
      error(places.of(node->getStart()), "this expression is nested more than " +
                                             std::to_string(kMaxOperators) +
                                             " levels deep; name parts of it with 'let'");
      return false;
    }
    for (antlr4::tree::ParseTree *child : llvm::reverse(node->children))
      stack.push_back({child, operators});
  }
  return true;
}

std::string TreeBuilder::docAbove(ast::SourceRange range) const {
  // Comments are in order: find the last one above, then walk up while the lines touch.
  auto above = llvm::partition_point(comments, [&](const ast::Comment &comment) {
    return comment.range.begin.offset < range.begin.offset;
  });
  std::vector<llvm::StringRef> lines;
  uint32_t line = range.begin.line;
  while (above != comments.begin()) {
    const ast::Comment &comment = *--above;
    bool touches = comment.isDoc && comment.ownsLine && comment.range.begin.line + 1 == line;
    // A declaration that shares its line with an earlier one has no doc of its own.
    if (!touches || (lines.empty() && !places.blankBetween(comment.range, range)))
      break;
    llvm::StringRef text = comment.text.drop_front(3);
    text.consume_front(" ");
    lines.push_back(text);
    line = comment.range.begin.line;
  }
  std::string doc;
  for (llvm::StringRef text : llvm::reverse(lines))
    doc += (doc.empty() ? "" : "\n") + text.str();
  return doc;
}

std::vector<ast::DeclPtr> TreeBuilder::file(P::FileContext *context) {
  std::vector<ast::DeclPtr> items;
  for (P::ItemLineContext *line : context->itemLine())
    if (ast::DeclPtr decl = line->item() ? item(line) : nullptr)
      items.push_back(std::move(decl));
  return items;
}

ast::DeclPtr TreeBuilder::item(P::ItemLineContext *line) {
  P::ItemContext *context = line->item();
  if (context->module())
    return module(context->module());
  if (!isSound(line))
    return nullptr;
  if (context->importDecl())
    return importDecl(context->importDecl());
  if (context->sizes())
    return sizes(context->sizes());
  if (context->check())
    return check(context->check());
  if (context->function())
    return function(context->function());
  if (context->train())
    return train(context->train());
  if (context->plan())
    return plan(context->plan());
  return cluster(context->cluster());
}

ast::DeclPtr TreeBuilder::importDecl(P::ImportDeclContext *context) {
  auto node = declare<ast::ImportDecl>(context);
  if (context->path())
    node->path = path(context->path());
  else
    node->file = text(context->STRING());
  if (context->AS())
    node->alias = name(context->name());
  return node;
}

ast::Bind TreeBuilder::bind(P::BindContext *context) {
  ast::Bind result;
  result.range = places.of(context);
  result.name = name(context->name());
  result.value = expr(context->expr());
  result.doc = docAbove(result.range);
  return result;
}

ast::DeclPtr TreeBuilder::sizes(P::SizesContext *context) {
  auto node = declare<ast::SizesDecl>(context);
  node->isDim = context->DIM() != nullptr;
  for (P::BindContext *each : context->bind())
    node->binds.push_back(bind(each));
  node->binds.front().doc = node->doc;
  return node;
}

ast::DeclPtr TreeBuilder::check(P::CheckContext *context) {
  auto node = declare<ast::AssertDecl>(context);
  node->condition = expr(context->expr());
  if (context->STRING())
    node->message = text(context->STRING());
  return node;
}

ast::DeclPtr TreeBuilder::module(P::ModuleContext *context) {
  // A module with an error in its head is left out, one in a member costs that member only.
  bool hasHead = !context->exception && context->name() && context->LBRACE() && context->RBRACE() &&
                 isSound(context->name()) && (!context->params() || isSound(context->params()));
  if (!hasHead)
    return nullptr;
  auto node = declare<ast::ModuleDecl>(context);
  node->isModel = context->MODEL() != nullptr;
  node->name = name(context->name());
  node->bodyRange = places.of(context->LBRACE()->getSymbol(), context->RBRACE()->getSymbol());
  node->hasParams = context->params() != nullptr;
  if (node->hasParams) {
    node->params = params(context->params());
    node->paramsRange = places.of(context->params());
  }
  for (P::MemberLineContext *line : context->memberLine())
    if (isSound(line))
      node->members.push_back(member(line->member()));
  return node;
}

std::vector<ast::Param> TreeBuilder::params(P::ParamsContext *context) {
  std::vector<ast::Param> list;
  for (P::ParamContext *each : context->param()) {
    ast::Param param;
    param.range = places.of(each);
    param.name = name(each->name());
    if (each->type())
      param.type = type(each->type());
    if (each->expr())
      param.defaultValue = expr(each->expr());
    list.push_back(std::move(param));
  }
  return list;
}

ast::DeclPtr TreeBuilder::member(P::MemberContext *context) {
  if (context->sizes())
    return sizes(context->sizes());
  if (context->check())
    return check(context->check());
  if (context->weight())
    return weight(context->weight());
  if (context->part())
    return part(context->part());
  return function(context->function());
}

ast::DeclPtr TreeBuilder::weight(P::WeightContext *context) {
  auto node = declare<ast::WeightDecl>(context);
  node->isFrozen = context->FROZEN() != nullptr;
  node->name = name(context->name());
  node->type = type(context->type());
  if (context->expr())
    node->init = expr(context->expr());
  return node;
}

ast::DeclPtr TreeBuilder::part(P::PartContext *context) {
  auto node = declare<ast::PartDecl>(context);
  node->isFrozen = context->FROZEN() != nullptr;
  node->name = name(context->name());
  node->value = expr(context->expr());
  if (P::RepeatContext *repeat = context->repeat()) {
    node->repeat = std::make_unique<ast::Repeat>();
    node->repeat->range = places.of(repeat);
    node->repeat->count = expr(repeat->expr());
    if (repeat->name())
      node->repeat->variable = name(repeat->name());
  }
  return node;
}

ast::DeclPtr TreeBuilder::function(P::FunctionContext *context) {
  auto node = declare<ast::FunctionDecl>(context);
  if (context->wrong) {
    std::string word = places.text(context->wrong->getStart()).str();
    error(places.of(context->wrong), "a function begins with 'fn', not '" + word + "'");
  }
  node->name = name(context->name().back());
  node->params = params(context->params());
  node->paramsRange = places.of(context->params());
  if (P::ResultContext *result = context->result()) {
    node->resultsGrouped = result->LPAREN() != nullptr;
    for (P::TypeContext *each : result->type())
      node->results.push_back(type(each));
  }
  if (context->expr())
    node->value = expr(context->expr());
  else
    node->body = body(context->body());
  return node;
}

ast::Block TreeBuilder::body(P::BodyContext *context) {
  ast::Block result;
  result.range = places.of(context);
  for (P::LineContext *line : context->line()) {
    if (!isSound(line))
      continue;
    if (ast::StmtPtr node = statement(line->statement()))
      result.statements.push_back(std::move(node));
  }
  return result;
}

ast::StmtPtr TreeBuilder::statement(P::StatementContext *context) {
  if (P::LetStmtContext *let = context->letStmt()) {
    auto node = make<ast::LetStmt>(context);
    node->isTuple = let->names() != nullptr;
    if (node->isTuple)
      node->names = names(let->names());
    else
      node->names.push_back(name(let->name()));
    if (let->type())
      node->type = type(let->type());
    node->value = expr(let->expr());
    return node;
  }
  if (P::VarStmtContext *var = context->varStmt()) {
    auto node = make<ast::VarStmt>(context);
    node->name = name(var->name());
    if (var->type())
      node->type = type(var->type());
    node->value = expr(var->expr());
    return node;
  }
  if (P::AssignStmtContext *assign = context->assignStmt()) {
    auto node = make<ast::AssignStmt>(context);
    node->name = name(assign->name());
    node->value = expr(assign->expr());
    return node;
  }
  if (P::ForStmtContext *loop = context->forStmt()) {
    auto node = make<ast::ForStmt>(context);
    node->variable = name(loop->name());
    node->iterable = expr(loop->expr());
    node->body = body(loop->body());
    return node;
  }
  if (P::MetricStmtContext *metric = context->metricStmt()) {
    auto node = make<ast::MetricStmt>(context);
    node->name = name(metric->name());
    node->value = expr(metric->expr());
    return node;
  }
  if (P::ReturnStmtContext *returned = context->returnStmt()) {
    auto node = make<ast::ReturnStmt>(context);
    node->value = expr(returned->expr());
    return node;
  }
  if (P::CheckContext *check = context->check()) {
    auto node = make<ast::AssertStmt>(context);
    node->condition = expr(check->expr());
    if (check->STRING())
      node->message = text(check->STRING());
    return node;
  }
  return foreign(context->foreign());
}

ast::StmtPtr TreeBuilder::foreign(P::ForeignContext *context) {
  std::string word = places.text(context->name()->getStart()).str();
  std::string message;
  if (word == "if")
    message = "there is no 'if': a program has one shape; choose a value with "
              "where(condition, a, b)";
  else if (word == "else" || word == "elif")
    message = "there is no 'else': choose a value with where(condition, a, b)";
  else if (word == "while")
    message = "there is no 'while'; 'for i in 0..n' repeats";
  else
    message = "expected a statement, found '" + word + "'";
  error(places.of(context->name()), message);
  return nullptr;
}

std::vector<ast::DirectivePtr>
TreeBuilder::directives(const std::vector<P::DirectiveLineContext *> &lines) {
  std::vector<ast::DirectivePtr> list;
  for (P::DirectiveLineContext *line : lines)
    list.push_back(directive(line->directive()));
  return list;
}

ast::DirectivePtr TreeBuilder::directive(P::DirectiveContext *context) {
  if (!context->ASSERT()) {
    auto node = make<ast::CallDirective>(context);
    node->name = name(context->name());
    for (P::EntryContext *each : context->entry())
      node->args.push_back(entry(each));
    return node;
  }
  auto node = make<ast::AssertDirective>(context);
  node->name = name(context->name());
  node->args = args(context->args());
  P::RelationContext *relation = context->relation();
  node->opRange = places.of(relation);
  node->op = relation->LESS()        ? ast::BinaryOp::Less
             : relation->LESSEQUAL() ? ast::BinaryOp::LessEqual
             : relation->GREATER()   ? ast::BinaryOp::Greater
                                     : ast::BinaryOp::GreaterEqual;
  node->bound = context->measure() ? measure(context->measure()) : expr(context->expr());
  return node;
}

ast::DeclPtr TreeBuilder::train(P::TrainContext *context) {
  auto node = declare<ast::TrainDecl>(context);
  node->model = path(context->path());
  node->bodyRange = places.of(context->LBRACE()->getSymbol(), context->RBRACE()->getSymbol());
  node->directives = directives(context->directiveLine());
  return node;
}

ast::DeclPtr TreeBuilder::plan(P::PlanContext *context) {
  auto node = declare<ast::PlanDecl>(context);
  node->name = name(context->name());
  node->meshRange = places.of(context->MESH()->getSymbol(), context->RPAREN()->getSymbol());
  for (P::BindContext *each : context->bind())
    node->axes.push_back(bind(each));
  if (context->path())
    node->cluster = path(context->path());
  node->bodyRange = places.of(context->LBRACE()->getSymbol(), context->RBRACE()->getSymbol());
  node->directives = directives(context->directiveLine());
  return node;
}

ast::DeclPtr TreeBuilder::cluster(P::ClusterContext *context) {
  auto node = declare<ast::ClusterDecl>(context);
  node->name = name(context->name());
  node->bodyRange = places.of(context->LBRACE()->getSymbol(), context->RBRACE()->getSymbol());
  node->directives = directives(context->directiveLine());
  return node;
}
