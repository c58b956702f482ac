//===- Entry.cpp - Arguments of train, plan and cluster entries -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Typed access to the arguments of one entry.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Entry.h"

#include <cmath>

namespace ptlc::sema {

llvm::StringRef headWord(const ast::Expr &expr) {
  const ast::Expr *head = &expr;
  if (const auto *call = llvm::dyn_cast<ast::CallExpr>(head))
    head = call->callee.get();
  const auto *ref = llvm::dyn_cast<ast::RefExpr>(head);
  return ref ? ref->name.text : llvm::StringRef();
}

llvm::StringRef EntryReader::label(const ast::Arg &arg) const {
  return arg.label.empty() ? llvm::StringRef() : ctx.sources.text(arg.label.range);
}

const ast::Arg *EntryReader::named(llvm::StringRef wanted) const {
  for (const ast::Arg &arg : args)
    if (!arg.isPositional() && label(arg) == wanted)
      return &arg;
  return nullptr;
}

llvm::SmallVector<const ast::Arg *> EntryReader::positional() const {
  llvm::SmallVector<const ast::Arg *> result;
  for (const ast::Arg &arg : args)
    if (arg.isPositional())
      result.push_back(&arg);
  return result;
}

bool EntryReader::accept(llvm::ArrayRef<llvm::StringRef> labels, size_t most) {
  bool ok = true;
  auto fail = [&](const ast::Arg &arg, const llvm::Twine &text) {
    ctx.error(arg.range, text);
    ok = false;
  };
  for (const ast::Arg &arg : args) {
    if (arg.isPositional())
      continue;
    if (!llvm::is_contained(labels, label(arg)))
      fail(arg,
           "'" + name + "' has no '" + label(arg) + "'" + lang::didYouMean(label(arg), labels));
    else if (named(label(arg)) != &arg)
      fail(arg, "'" + label(arg) + "' is given twice");
  }
  llvm::SmallVector<const ast::Arg *> places = positional();
  if (places.size() > most)
    fail(*places[most], "'" + name + "' takes " + (most == 0 ? "no" : std::to_string(most)) +
                            " argument" + (most == 1 ? "" : "s") + " without a name, got " +
                            std::to_string(places.size()));
  return ok;
}

const ast::Arg *EntryReader::single() {
  llvm::SmallVector<const ast::Arg *> places = positional();
  if (!places.empty())
    return places.front();
  ctx.error(range, "'" + name + "' needs a value");
  return nullptr;
}

const ast::Arg *EntryReader::required(llvm::StringRef label) {
  if (const ast::Arg *arg = named(label))
    return arg;
  ctx.error(range, "'" + name + "' needs '" + label + ":'");
  return nullptr;
}

std::string EntryReader::what(const ast::Arg &arg) const {
  return "'" + (arg.isPositional() ? name : label(arg)).str() + "'";
}

Entity EntryReader::value(const ast::Arg &arg) {
  if (const auto *measure = llvm::dyn_cast<ast::MeasureExpr>(arg.value.get()))
    return ctx.error(measure->range, what(arg) + " has no unit");
  return ctx.number(evaluator.evaluate(*arg.value));
}

std::optional<int64_t> EntryReader::integer(const ast::Arg &arg, int64_t least) {
  Entity entity = value(arg);
  const auto *integer = entity.as<int64_t>();
  if (integer && *integer >= least)
    return *integer;
  if (!entity.isPoison())
    ctx.error(arg.range, what(arg) + " must be a whole number of at least " + llvm::Twine(least) +
                             ", is " +
                             (entity.isNumber() ? numberText(entity) : ctx.describe(entity)));
  return std::nullopt;
}

std::optional<double> EntryReader::real(const ast::Arg &arg) {
  Entity entity = value(arg);
  bool isReal = entity.is<int64_t>() || entity.is<double>();
  if (isReal && std::isfinite(entity.asDouble()))
    return entity.asDouble();
  if (!entity.isPoison())
    ctx.error(arg.range, what(arg) + " must be a number, is " +
                             (isReal ? numberText(entity) : ctx.describe(entity)));
  return std::nullopt;
}

std::optional<double> EntryReader::notNegative(const ast::Arg &arg) {
  std::optional<double> result = real(arg);
  if (!result || *result >= 0)
    return result;
  ctx.error(arg.range, what(arg) + " must not be negative, is " + numberText(*result));
  return std::nullopt;
}

std::optional<double> EntryReader::positive(const ast::Arg &arg) {
  std::optional<double> result = real(arg);
  if (!result || *result > 0)
    return result;
  ctx.error(arg.range, what(arg) + " must be above 0, is " + numberText(*result));
  return std::nullopt;
}

std::optional<bool> EntryReader::flag(const ast::Arg &arg) {
  Entity entity = value(arg);
  if (const auto *truth = entity.as<bool>())
    return *truth;
  if (!entity.isPoison())
    ctx.error(arg.range, what(arg) + " must be true or false, is " + ctx.describe(entity));
  return std::nullopt;
}

std::optional<std::string> EntryReader::text(const ast::Arg &arg) {
  const auto *string = llvm::dyn_cast<ast::StringExpr>(arg.value.get());
  if (string && !string->value.empty())
    return string->value;
  ctx.error(arg.range, what(arg) + (string ? " is empty" : " must be a text in double quotes"));
  return std::nullopt;
}

std::optional<unsigned> EntryReader::word(const ast::Arg &arg,
                                          llvm::ArrayRef<llvm::StringRef> words) {
  llvm::StringRef found = headWord(*arg.value);
  for (auto [index, candidate] : llvm::enumerate(words))
    if (found == candidate)
      return index;
  std::string list;
  for (auto [index, candidate] : llvm::enumerate(words))
    list += (index == 0 ? "" : index + 1 == words.size() ? " or " : ", ") + candidate.str();
  std::string shown = found.empty() ? ctx.sourceText(*arg.value) : found.str();
  ctx.error(arg.value->range,
            what(arg) + " is " + list + ", not '" + shown + "'" + lang::didYouMean(found, words));
  return std::nullopt;
}

} // namespace ptlc::sema
