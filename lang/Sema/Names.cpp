//===- Names.cpp - Look-up, and values found on demand --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A size or constant is evaluated when it is first used, in the scope that it
// stands in, so declarations may come in any order; one that needs itself is
// found by its state.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Evaluator.h"

#include "llvm/Support/SaveAndRestore.h"

namespace ptlc::sema {

/// Beyond this no tensor fits any machine, and products of a few sizes still fit 64 bits.
static constexpr int64_t kLargestSize = int64_t{1} << 40;

/// Makes the dimension `symbol` of a size.
static Entity makeDim(Context &ctx, const Symbol &symbol, const Entity &size, FileScope &file,
                      PartInstance *part) {
  lang::SourceRange at = symbol.bind->value->range;
  auto complain = [&](const llvm::Twine &text) {
    return ctx.error(at, "the size of '" + symbol.name + "' must be " + text);
  };
  if (!size.is<int64_t>()) {
    std::string found = size.isNumber() ? numberText(size) : ctx.describe(size);
    return complain("a whole number, is " + found);
  }
  int64_t value = *size.as<int64_t>();
  if (value < 1)
    return complain("at least 1, is " + llvm::Twine(value));
  if (value > kLargestSize)
    return complain("at most " + llvm::Twine(kLargestSize) + ", is " + llvm::Twine(value));
  std::string qualified = file.qualify(symbol.name);
  if (part) {
    const std::string &path = ctx.program.parts[part->id].path;
    qualified = path.empty() ? symbol.name.str() : path + "." + symbol.name.str();
  }
  return DimEntity{ctx.addDim(symbol.name, qualified, value, symbol.range)};
}

/// Checks that a constant is a number or a tuple of numbers.
static Entity makeConst(Context &ctx, const Symbol &symbol, const Entity &value) {
  Entity number = ctx.number(value);
  if (number.isPoison() || number.isNumber())
    return number;
  if (const auto *tuple = number.as<TupleEntity>()) {
    std::vector<Entity> elements;
    for (const Entity &element : *tuple->elements)
      elements.push_back(ctx.number(element));
    if (llvm::all_of(elements, [](const Entity &element) { return element.isNumber(); }))
      return Entity::tuple(std::move(elements));
  }
  return ctx.error(symbol.bind->value->range,
                   "'" + symbol.name + "' must be a number, is " + ctx.describe(number));
}

Entity force(Context &ctx, Symbol &symbol, FileScope &file, PartInstance *part) {
  if (symbol.state == Symbol::State::Done)
    return symbol.value;
  if (symbol.state == Symbol::State::Running)
    return ctx.error(symbol.range, "'" + symbol.name + "' is defined by itself");
  symbol.state = Symbol::State::Running;
  Entity value;
  const Entity *define = part ? nullptr : ctx.takeDefine(file.qualify(symbol.name));
  if (define) {
    value = *define;
  } else {
    // Not a place of the function that asked: its graph takes no operations from here.
    llvm::SaveAndRestore<Graph *> outside(ctx.graph, nullptr);
    Frame frame;
    frame.file = &file;
    frame.part = part;
    frame.partId = part ? part->id : 0;
    value = Evaluator(ctx, frame).evaluate(*symbol.bind->value);
  }
  if (symbol.isDim && !value.isPoison()) {
    // A second dimension of a known size; a size that only `train` knows stays unknown.
    Entity size = ctx.number(value);
    value = size.isPoison() ? size : makeDim(ctx, symbol, size, file, part);
  } else if (!value.isPoison()) {
    value = makeConst(ctx, symbol, value);
  }
  symbol.value = value;
  symbol.state = Symbol::State::Done;
  return value;
}

Entity Evaluator::lookup(llvm::StringRef name) {
  if (const Local *local = frame.findLocal(name))
    return local->value;
  if (frame.part)
    if (Symbol *symbol = frame.part->scope.find(name))
      return force(ctx, *symbol, *frame.file, frame.part);
  if (name == "batch")
    return DimEntity{kBatchDim};
  if (Symbol *symbol = frame.file->scope.find(name))
    return force(ctx, *symbol, *frame.file, nullptr);
  return Poison{};
}

Entity Evaluator::lookup(const ast::Path &path) {
  Entity entity = lookup(path.parts.front().text);
  std::string text = path.parts.front().str();
  for (const ast::Name &name : llvm::drop_begin(path.parts)) {
    entity = member(entity, text, name, path.range);
    text += "." + name.str();
  }
  return entity;
}

/// A name of an imported file, as its importers see it.
static Entity fileMember(Context &ctx, FileScope &file, llvm::StringRef baseText,
                         const ast::Name &name, lang::SourceRange range) {
  Symbol *symbol = file.scope.find(name.text);
  if (symbol && !symbol->isImport)
    return force(ctx, *symbol, file, nullptr);
  llvm::SmallVector<llvm::StringRef> candidates;
  file.scope.collect(candidates);
  return ctx.error(range, "'" + baseText + "' has no '" + name.text + "'" +
                              lang::didYouMean(name.text, candidates));
}

static Entity partMember(Context &ctx, PartInstance &part, const ast::Name &name,
                         lang::SourceRange range) {
  if (Symbol *symbol = part.scope.find(name.text))
    return force(ctx, *symbol, *part.file, &part);
  llvm::SmallVector<llvm::StringRef> candidates;
  part.scope.collect(candidates);
  return ctx.error(range, "module '" + part.decl->name.text + "' has no '" + name.text + "'" +
                              lang::didYouMean(name.text, candidates));
}

Entity Evaluator::member(const Entity &base, llvm::StringRef baseText, const ast::Name &name,
                         lang::SourceRange range) {
  if (base.isPoison())
    return Poison{};
  if (const auto *file = base.as<FileEntity>())
    return fileMember(ctx, *file->file, baseText, name, range);
  if (const auto *part = base.as<PartEntity>())
    return partMember(ctx, *part->part, name, range);
  int64_t place = 0;
  bool isPlace = !name.text.getAsInteger(10, place);
  if (const auto *stack = base.as<StackEntity>(); stack && isPlace) {
    int64_t count = stack->parts->size();
    if (place < count)
      return PartEntity{(*stack->parts)[place]};
    return ctx.error(range,
                     "the stack has parts 0 to " + llvm::Twine(count - 1) + ", not " + name.text);
  }
  if (const auto *tuple = base.as<TupleEntity>(); tuple && isPlace) {
    int64_t count = tuple->elements->size();
    if (place < count)
      return (*tuple->elements)[place];
    return ctx.error(range,
                     "the tuple has values 0 to " + llvm::Twine(count - 1) + ", not " + name.text);
  }
  return ctx.error(range, ctx.describe(base) + " has no '" + name.text + "'");
}

} // namespace ptlc::sema
