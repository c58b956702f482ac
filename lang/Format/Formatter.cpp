//===- Formatter.cpp - Declarations and statements as documents -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Format/Formatter.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::format;
using namespace ptlc;
using lang::SourceRange;

DocRef Formatter::lines(size_t size, llvm::function_ref<SourceRange(size_t)> rangeOf,
                        llvm::function_ref<DocRef(size_t)> build, uint32_t end,
                        uint32_t lineBefore) {
  DocList parts;
  uint32_t last = lineBefore; // where the text before ended; 0 forbids a blank line
  auto startLine = [&](uint32_t line) {
    if (last && line > last + 1)
      parts.push_back(docs.hardLine());
    parts.push_back(docs.hardLine());
  };
  auto takeComments = [&](uint32_t offset) {
    while (hasCommentsBefore(offset)) {
      startLine(comments.front().range.begin.line);
      last = comments.front().range.end.line;
      parts.push_back(docs.text(comments.front().text));
      comments = comments.drop_front();
    }
  };
  for (size_t i = 0; i < size; ++i) {
    SourceRange range = rangeOf(i);
    parts.push_back(trailingComments(range.begin.offset));
    takeComments(range.begin.offset);
    startLine(range.begin.line);
    last = range.end.line;
    parts.push_back(build(i));
  }
  parts.push_back(trailingComments(end));
  takeComments(end);
  return docs.concat(std::move(parts));
}

DocRef Formatter::block(DocRef head, size_t size, llvm::function_ref<SourceRange(size_t)> rangeOf,
                        llvm::function_ref<DocRef(size_t, bool)> build, SourceRange body) {
  uint32_t end = body.end.offset;
  head = docs.concat({head, strayComments(body.begin.offset)});
  if (size == 0 && !hasCommentsBefore(end))
    return docs.concat({head, docs.text(" {}")});
  if (body.begin.line == body.end.line) {
    // No comment can stand inside, so building twice loses none.
    DocList parts = {head, docs.text(" { ")};
    for (size_t i = 0; i < size; ++i) {
      if (i)
        parts.push_back(docs.text("; "));
      parts.push_back(build(i, /*oneLine=*/true));
    }
    parts.push_back(docs.text(" }"));
    DocRef oneLine = docs.group(std::move(parts));
    if (!oneLine->breaks && 2 * depth + oneLine->width <= kLineWidth)
      return oneLine;
  }
  ++depth;
  DocRef inner =
      lines(size, rangeOf, [&](size_t i) { return build(i, /*oneLine=*/false); }, end, 0);
  --depth;
  return docs.concat(
      {head, docs.text(" {"), docs.nest(2, {inner}), docs.hardLine(), docs.text("}")});
}

/// Returns true for items that take a blank line above and below if they are in several lines.
static bool isBlock(const ast::Decl &decl) {
  switch (decl.kind()) {
  case ast::Kind::ModuleDecl:
  case ast::Kind::TrainDecl:
  case ast::Kind::PlanDecl:
  case ast::Kind::ClusterDecl:
    return true;
  case ast::Kind::FunctionDecl:
    return !llvm::cast<ast::FunctionDecl>(decl).value;
  default:
    return false;
  }
}

/// Returns how many of the comments touch the line below them, one on each line.
static size_t countTouching(llvm::ArrayRef<ast::Comment> above, uint32_t line) {
  size_t count = 0;
  for (const ast::Comment &comment : llvm::reverse(above)) {
    if (comment.range.begin.line + 1 != line)
      break;
    line = comment.range.begin.line;
    ++count;
  }
  return count;
}

DocRef Formatter::file(const ast::File &file) {
  DocList parts;
  uint32_t last = 0; // the line where the text before ended, 0 at the start
  bool wasTall = false;
  auto startLine = [&](SourceRange range, bool wantsBlank) {
    if (last)
      parts.push_back(docs.hardLine());
    if (last && (wantsBlank || wasTall || range.begin.line > last + 1))
      parts.push_back(docs.hardLine());
    wasTall = false;
    last = range.end.line;
  };
  for (const ast::DeclPtr &item : file.items) {
    parts.push_back(trailingComments(item->range.begin.offset));
    llvm::ArrayRef<ast::Comment> above = comments.take_while([&](const ast::Comment &comment) {
      return comment.range.begin.offset < item->range.begin.offset;
    });
    comments = comments.drop_front(above.size());
    DocRef doc = decl(*item);
    bool isTall = isBlock(*item) && doc->breaks;
    // The comment that touches a tall item takes the blank line for it.
    size_t touching = countTouching(above, item->range.begin.line);
    for (size_t i = 0; i < above.size(); ++i) {
      startLine(above[i].range, isTall && i + touching == above.size());
      parts.push_back(docs.text(above[i].text));
    }
    startLine(item->range, isTall && touching == 0);
    parts.push_back(doc);
    wasTall = isTall;
  }
  parts.push_back(trailingComments(UINT32_MAX));
  for (const ast::Comment &comment : comments) {
    startLine(comment.range, false);
    parts.push_back(docs.text(comment.text));
  }
  return docs.concat(std::move(parts));
}

DocRef Formatter::decl(const ast::Decl &decl) {
  switch (decl.kind()) {
  case ast::Kind::ImportDecl:
    return importDecl(llvm::cast<ast::ImportDecl>(decl));
  case ast::Kind::SizesDecl:
    return sizes(llvm::cast<ast::SizesDecl>(decl));
  case ast::Kind::AssertDecl: {
    auto &node = llvm::cast<ast::AssertDecl>(decl);
    return check(*node.condition, node.message.get());
  }
  case ast::Kind::WeightDecl:
    return weight(llvm::cast<ast::WeightDecl>(decl));
  case ast::Kind::PartDecl:
    return part(llvm::cast<ast::PartDecl>(decl));
  case ast::Kind::FunctionDecl:
    return function(llvm::cast<ast::FunctionDecl>(decl));
  case ast::Kind::ModuleDecl:
    return module(llvm::cast<ast::ModuleDecl>(decl));
  case ast::Kind::TrainDecl: {
    auto &node = llvm::cast<ast::TrainDecl>(decl);
    DocRef head = docs.concat({docs.text("train "), path(node.model)});
    return directives(head, node.directives, node.bodyRange);
  }
  case ast::Kind::PlanDecl:
    return plan(llvm::cast<ast::PlanDecl>(decl));
  default: {
    auto &node = llvm::cast<ast::ClusterDecl>(decl);
    DocRef head = docs.concat({docs.text("cluster "), word(node.name)});
    return directives(head, node.directives, node.bodyRange);
  }
  }
}

DocRef Formatter::importDecl(const ast::ImportDecl &decl) {
  DocList parts = {docs.text("import "), decl.file ? expr(*decl.file) : path(decl.path)};
  if (!decl.alias.empty()) {
    parts.push_back(docs.text(" as "));
    parts.push_back(word(decl.alias));
  }
  return docs.concat(std::move(parts));
}

DocRef Formatter::sizes(const ast::SizesDecl &decl) {
  auto bind = [&](size_t i) {
    DocRef name = word(decl.binds[i].name);
    return docs.concat({name, docs.text(" = "), expr(*decl.binds[i].value)});
  };
  DocRef binds =
      fill(decl.binds.size(), [&](size_t i) { return decl.binds[i].range.begin.offset; }, bind);
  return docs.concat({docs.text(decl.isDim ? "dim " : "const "), docs.nest(4, {binds})});
}

DocRef Formatter::check(const ast::Expr &condition, const ast::StringExpr *message) {
  DocList parts = {docs.text("assert "), expr(condition)};
  if (message) {
    parts.push_back(docs.text(","));
    parts.push_back(docs.nest(4, {docs.line(), expr(*message)}));
  }
  return docs.group(std::move(parts));
}

DocRef Formatter::weight(const ast::WeightDecl &decl) {
  DocList parts = {docs.text(decl.isFrozen ? "frozen weight " : "weight "), word(decl.name),
                   docs.text(": ")};
  parts.push_back(type(*decl.type));
  if (decl.init)
    parts.push_back(assigned("=", *decl.init));
  return docs.concat(std::move(parts));
}

DocRef Formatter::part(const ast::PartDecl &decl) {
  DocList parts = {docs.text(decl.isFrozen ? "frozen " : ""), word(decl.name)};
  if (!decl.repeat) {
    parts.push_back(assigned("=", *decl.value));
    return docs.concat(std::move(parts));
  }
  parts.push_back(docs.text(" = repeat("));
  if (!decl.repeat->variable.empty()) {
    parts.push_back(word(decl.repeat->variable));
    parts.push_back(docs.text(" in "));
  }
  parts.push_back(expr(*decl.repeat->count));
  parts.push_back(docs.text(") "));
  parts.push_back(expr(*decl.value));
  return docs.concat(std::move(parts));
}

DocRef Formatter::params(const std::vector<ast::Param> &params, SourceRange around) {
  auto param = [&](size_t i) {
    const ast::Param &each = params[i];
    DocList parts = {word(each.name)};
    if (each.type) {
      parts.push_back(docs.text(": "));
      parts.push_back(type(*each.type));
    }
    if (each.defaultValue) {
      parts.push_back(docs.text(" = "));
      parts.push_back(expr(*each.defaultValue));
    }
    return docs.concat(std::move(parts));
  };
  return list(
      "(", params.size(), [&](size_t i) { return params[i].range.begin.offset; }, param, ")",
      around.end.offset);
}

DocRef Formatter::function(const ast::FunctionDecl &decl) {
  DocRef name = word(decl.name);
  DocList parts = {docs.text("fn "), name, params(decl.params, decl.paramsRange)};
  if (!decl.results.empty()) {
    parts.push_back(docs.text(" -> "));
    if (decl.resultsGrouped)
      parts.push_back(list(
          "(", decl.results.size(), [&](size_t i) { return decl.results[i]->range.begin.offset; },
          [&](size_t i) { return type(*decl.results[i]); }, ")",
          decl.results.back()->range.end.offset));
    else
      parts.push_back(type(*decl.results.front()));
  }
  if (decl.value) {
    parts.push_back(assigned("=", *decl.value));
    return docs.concat(std::move(parts));
  }
  const std::vector<ast::StmtPtr> &list = decl.body.statements;
  return block(
      docs.concat(std::move(parts)), list.size(), [&](size_t i) { return list[i]->range; },
      [&](size_t i, bool) { return statement(*list[i]); }, decl.body.range);
}

DocRef Formatter::module(const ast::ModuleDecl &decl) {
  DocList parts = {docs.text(decl.isModel ? "model " : "module "), word(decl.name)};
  if (decl.hasParams)
    parts.push_back(params(decl.params, decl.paramsRange));
  return block(
      docs.concat(std::move(parts)), decl.members.size(),
      [&](size_t i) { return decl.members[i]->range; },
      [&](size_t i, bool) { return this->decl(*decl.members[i]); }, decl.bodyRange);
}

DocRef Formatter::plan(const ast::PlanDecl &decl) {
  auto axis = [&](size_t i) {
    DocRef name = word(decl.axes[i].name);
    return docs.concat({name, docs.text(" = "), expr(*decl.axes[i].value)});
  };
  DocList parts = {docs.text("plan "), word(decl.name), docs.text(" on mesh")};
  parts.push_back(list(
      "(", decl.axes.size(), [&](size_t i) { return decl.axes[i].range.begin.offset; }, axis, ")",
      decl.meshRange.end.offset));
  if (!decl.cluster.empty()) {
    parts.push_back(docs.text(" of "));
    parts.push_back(path(decl.cluster));
  }
  return directives(docs.concat(std::move(parts)), decl.directives, decl.bodyRange);
}

DocRef Formatter::directives(DocRef head, const std::vector<ast::DirectivePtr> &list,
                             SourceRange body) {
  unsigned widest = 0;
  for (const ast::DirectivePtr &each : list) {
    bool isPromise = llvm::isa<ast::AssertDirective>(*each);
    widest = std::max<unsigned>(widest, isPromise ? strlen("assert") : each->name.text.size());
  }
  return block(
      head, list.size(), [&](size_t i) { return list[i]->range; },
      [&](size_t i, bool oneLine) { return directive(*list[i], oneLine ? 0 : widest); }, body);
}

DocRef Formatter::directive(const ast::Directive &directive, unsigned nameWidth) {
  auto padded = [&](llvm::StringRef name) {
    unsigned width = std::max<unsigned>(nameWidth, name.size());
    return name.str() + std::string(width + 1 - name.size(), ' ');
  };
  if (auto *promise = llvm::dyn_cast<ast::AssertDirective>(&directive)) {
    DocList parts = {docs.text(padded("assert")), word(promise->name)};
    if (!promise->args.empty())
      parts.push_back(args("(", promise->args, ")", promise->opRange));
    parts.push_back(docs.text(" " + spelling(promise->op).str() + " "));
    parts.push_back(expr(*promise->bound));
    return docs.concat(std::move(parts));
  }
  if (directive.args.empty())
    return word(directive.name);
  DocRef name = word(padded(directive.name.text), directive.name.range);
  DocRef list = fill(
      directive.args.size(), [&](size_t i) { return directive.args[i].range.begin.offset; },
      [&](size_t i) { return arg(directive.args[i]); });
  return docs.concat({name, docs.nest(nameWidth + 1, {list})});
}

DocRef Formatter::statement(const ast::Stmt &statement) {
  switch (statement.kind()) {
  case ast::Kind::LetStmt: {
    auto &node = llvm::cast<ast::LetStmt>(statement);
    DocList parts = {docs.text("let ")};
    if (node.isTuple)
      parts.push_back(list(
          "(", node.names.size(), [&](size_t i) { return node.names[i].range.begin.offset; },
          [&](size_t i) { return word(node.names[i]); }, ")", node.names.back().range.end.offset));
    else
      parts.push_back(word(node.names.front()));
    if (node.type) {
      parts.push_back(docs.text(": "));
      parts.push_back(type(*node.type));
    }
    parts.push_back(assigned("=", *node.value));
    return docs.concat(std::move(parts));
  }
  case ast::Kind::VarStmt: {
    auto &node = llvm::cast<ast::VarStmt>(statement);
    DocList parts = {docs.text("var "), word(node.name)};
    if (node.type) {
      parts.push_back(docs.text(": "));
      parts.push_back(type(*node.type));
    }
    parts.push_back(assigned("=", *node.value));
    return docs.concat(std::move(parts));
  }
  case ast::Kind::AssignStmt: {
    auto &node = llvm::cast<ast::AssignStmt>(statement);
    DocRef name = word(node.name);
    return docs.concat({name, assigned("=", *node.value)});
  }
  case ast::Kind::MetricStmt: {
    auto &node = llvm::cast<ast::MetricStmt>(statement);
    DocRef name = word(node.name);
    return docs.concat({docs.text("metric "), name, assigned("=", *node.value)});
  }
  case ast::Kind::ReturnStmt:
    // 'return' alone on a line would look like a return of nothing: no line end after it.
    return docs.concat({docs.text("return "), expr(*llvm::cast<ast::ReturnStmt>(statement).value)});
  case ast::Kind::ForStmt: {
    auto &node = llvm::cast<ast::ForStmt>(statement);
    DocRef variable = word(node.variable);
    DocRef head =
        docs.concat({docs.text("for "), variable, docs.text(" in "), expr(*node.iterable)});
    const std::vector<ast::StmtPtr> &list = node.body.statements;
    return block(
        head, list.size(), [&](size_t i) { return list[i]->range; },
        [&](size_t i, bool) { return this->statement(*list[i]); }, node.body.range);
  }
  default: {
    auto &node = llvm::cast<ast::AssertStmt>(statement);
    return check(*node.condition, node.message.get());
  }
  }
}
