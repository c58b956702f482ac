//===- FormatExpr.cpp - Expressions and types as documents ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Format/Formatter.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::format;
using namespace ptlc;

DocRef Formatter::list(llvm::StringRef open, size_t size,
                       llvm::function_ref<uint32_t(size_t)> beginOf,
                       llvm::function_ref<DocRef(size_t)> build, llvm::StringRef close,
                       uint32_t end) {
  if (size == 0)
    return docs.concat({docs.text(open), strayComments(end), docs.text(close)});
  DocList inner;
  for (size_t i = 0; i < size; ++i) {
    inner.push_back(trailingComments(beginOf(i)));
    inner.push_back(i ? docs.line() : docs.softLine());
    inner.push_back(ownComments(beginOf(i)));
    inner.push_back(build(i));
    // A comma may follow the last item, too, but makes no tuple of `(x)`.
    inner.push_back(i + 1 < size ? docs.text(",") : docs.ifBroken(size > 1 ? "," : ""));
  }
  inner.push_back(trailingComments(end));
  while (nextOwnsLineBefore(end)) {
    inner.push_back(docs.hardLine());
    inner.push_back(docs.text(comments.front().text));
    comments = comments.drop_front();
  }
  inner.push_back(strayComments(end));
  return docs.group(
      {docs.text(open), docs.nest(2, std::move(inner)), docs.softLine(), docs.text(close)});
}

DocRef Formatter::fill(size_t size, llvm::function_ref<uint32_t(size_t)> beginOf,
                       llvm::function_ref<DocRef(size_t)> build) {
  DocList parts;
  for (size_t i = 0; i < size; ++i) {
    DocList item;
    if (i) {
      parts.push_back(trailingComments(beginOf(i)));
      // After a comment the line ends in any case.
      bool afterComment = parts.back()->breaks;
      item.push_back(afterComment ? docs.hardLine() : docs.line());
      item.push_back(ownComments(beginOf(i)));
    }
    item.push_back(build(i));
    if (i + 1 < size)
      item.push_back(docs.text(","));
    parts.push_back(docs.group(std::move(item)));
  }
  return docs.concat(std::move(parts));
}

DocRef Formatter::assigned(llvm::StringRef sign, const ast::Expr &value) {
  uint32_t begin = value.range.begin.offset;
  std::string spaced = sign.empty() ? "" : " " + sign.str();
  DocRef trailing = trailingComments(begin);
  if (nextOwnsLineBefore(begin)) {
    DocRef own = ownComments(begin);
    return docs.concat(
        {docs.text(spaced), trailing, docs.nest(4, {docs.hardLine(), own, expr(value)})});
  }
  DocRef body = expr(value);
  // Better a line of its own for the value than a value in pieces.
  bool fitsBelow = !body->breaks && 2 * depth + 4 + body->width <= kLineWidth;
  if (fitsBelow)
    return docs.concat(
        {docs.text(spaced), trailing, docs.group({docs.nest(4, {docs.line(), body})})});
  return docs.concat({docs.text(spaced + " "), trailing, body});
}

/// How tight an operator binds; operators of one level form one chain.
static unsigned level(ast::BinaryOp op) {
  switch (op) {
  case ast::BinaryOp::Mul:
  case ast::BinaryOp::Div:
  case ast::BinaryOp::Rem:
  case ast::BinaryOp::MatMul:
    return 4;
  case ast::BinaryOp::Add:
  case ast::BinaryOp::Sub:
    return 3;
  case ast::BinaryOp::And:
    return 1;
  case ast::BinaryOp::Or:
    return 0;
  default:
    return 2;
  }
}

DocRef Formatter::binary(const ast::BinaryExpr &last) {
  // The chain a + b - c nests to the left; collect it from its end.
  std::vector<const ast::BinaryExpr *> chain;
  const ast::Expr *first = &last;
  while (auto *link = llvm::dyn_cast<ast::BinaryExpr>(first)) {
    if (level(link->op) != level(last.op))
      break;
    chain.push_back(link);
    first = link->lhs.get();
  }
  DocRef head = expr(*first);
  DocList rest;
  for (const ast::BinaryExpr *link : llvm::reverse(chain)) {
    uint32_t begin = link->rhs->range.begin.offset;
    rest.push_back(trailingComments(begin));
    rest.push_back(docs.line());
    rest.push_back(ownComments(begin));
    rest.push_back(docs.text(spelling(link->op).str() + " "));
    rest.push_back(expr(*link->rhs));
  }
  return docs.group({head, docs.nest(4, std::move(rest))});
}

DocRef Formatter::args(llvm::StringRef open, const std::vector<ast::Arg> &list,
                       llvm::StringRef close, lang::SourceRange around) {
  return this->list(
      open, list.size(), [&](size_t i) { return list[i].range.begin.offset; },
      [&](size_t i) { return arg(list[i]); }, close, around.end.offset);
}

DocRef Formatter::arg(const ast::Arg &arg) {
  if (arg.isPositional())
    return expr(*arg.value);
  DocRef label = path(arg.label);
  return docs.concat({label, docs.text(": "), expr(*arg.value)});
}

DocRef Formatter::expr(const ast::Expr &e) {
  if (auto *node = llvm::dyn_cast<ast::NumberExpr>(&e))
    return word(node->text, node->range);
  if (auto *node = llvm::dyn_cast<ast::BoolExpr>(&e))
    return word(node->value ? "true" : "false", node->range);
  if (auto *node = llvm::dyn_cast<ast::StringExpr>(&e))
    return word(node->text, node->range);
  if (auto *node = llvm::dyn_cast<ast::RefExpr>(&e))
    return word(node->name);
  if (auto *node = llvm::dyn_cast<ast::CallExpr>(&e)) {
    DocRef callee = expr(*node->callee);
    return docs.concat({callee, args("(", node->args, ")", node->range)});
  }
  if (auto *node = llvm::dyn_cast<ast::IndexExpr>(&e)) {
    DocRef base = expr(*node->base);
    return docs.concat({base, args("[", node->args, "]", node->range)});
  }
  if (auto *node = llvm::dyn_cast<ast::AccessExpr>(&e)) {
    DocRef base = expr(*node->base);
    return docs.concat({base, docs.text("."), word(node->member)});
  }
  if (auto *node = llvm::dyn_cast<ast::UnaryExpr>(&e)) {
    DocRef sign = word(node->op == ast::UnaryOp::Not ? "not " : "-", node->opRange);
    return docs.concat({sign, expr(*node->operand)});
  }
  if (auto *node = llvm::dyn_cast<ast::BinaryExpr>(&e))
    return binary(*node);
  if (auto *node = llvm::dyn_cast<ast::RangeExpr>(&e)) {
    DocRef first = expr(*node->first);
    return docs.concat({first, docs.text(".."), expr(*node->last)});
  }
  if (auto *node = llvm::dyn_cast<ast::ArrowExpr>(&e)) {
    DocRef from = expr(*node->from);
    return docs.concat({from, docs.text(" -> "), expr(*node->to)});
  }
  if (auto *node = llvm::dyn_cast<ast::GroupExpr>(&e))
    return list(
        "(", node->elements.size(), [&](size_t i) { return node->elements[i]->range.begin.offset; },
        [&](size_t i) { return expr(*node->elements[i]); }, ")", node->range.end.offset);
  auto &measure = llvm::cast<ast::MeasureExpr>(e);
  std::string text = measure.number->text.str() + " " + measure.unit.str();
  if (!measure.per.empty())
    text += "/" + measure.per.str();
  return word(text, measure.range);
}

DocRef Formatter::path(const ast::Path &path) { return word(path.str(), path.range); }

DocRef Formatter::type(const ast::TypeExpr &type) {
  if (auto *scalar = llvm::dyn_cast<ast::ScalarType>(&type))
    return word(scalar->name);
  auto &tensor = llvm::cast<ast::TensorType>(type);
  DocRef element = tensor.element.empty() ? docs.empty() : word(tensor.element);
  size_t rest = tensor.hasRest;
  auto rangeOf = [&](size_t i) {
    return i < rest ? tensor.restRange : tensor.dims[i - rest].range;
  };
  DocRef dims = list(
      "[", tensor.dims.size() + rest, [&](size_t i) { return rangeOf(i).begin.offset; },
      [&](size_t i) { return i < rest ? docs.text("..") : dimension(tensor.dims[i - rest]); }, "]",
      tensor.range.end.offset);
  return docs.concat({element, dims});
}

DocRef Formatter::dimension(const ast::Dimension &dimension) {
  DocRef name = path(dimension.path);
  if (!dimension.advice.isPresent())
    return name;
  std::string axes;
  for (const ast::Name &axis : dimension.advice.axes)
    axes += (axes.empty() ? "" : ", ") + axis.str();
  if (dimension.advice.grouped)
    axes = "(" + axes + ")";
  return docs.concat({name, word(" @ " + axes, dimension.advice.range)});
}
