//===- Paths.cpp - blocks.attn.wq, blocks[0..6] ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A path is walked from the model over sets: a stack without an index is all
// its parts, so every step maps each part reached so far. A path ends at parts,
// at weights, or at a named value of the parts' functions.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Paths.h"

#include "lang/Sema/NameCheck.h"

#include "llvm/ADT/BitVector.h"

namespace ptlc::sema {

/// One name or index of a path.
struct PathResolver::Step {
  std::string text;
  std::optional<RangeEntity> places; ///< of an index; one place is a range of length 1
};

bool isInside(const Program &program, PartId part, llvm::ArrayRef<PartId> parts) {
  for (; part != kNone; part = program.parts[part].parent)
    if (llvm::is_contained(parts, part))
      return true;
  return false;
}

llvm::SmallVector<uint32_t, 4> weightsInside(const Program &program, llvm::ArrayRef<PartId> parts) {
  // Parents come before their parts, so one pass marks everything inside.
  llvm::BitVector inside(program.parts.size());
  for (PartId part : parts)
    inside.set(part);
  for (PartId part = 0; part < program.parts.size(); ++part)
    if (PartId parent = program.parts[part].parent; parent != kNone && inside[parent])
      inside.set(part);
  llvm::SmallVector<uint32_t, 4> weights;
  for (auto [index, weight] : llvm::enumerate(program.weights))
    if (inside[weight.part])
      weights.push_back(index);
  return weights;
}

bool PathResolver::flatten(const ast::Expr &expr, std::vector<Step> &steps) {
  if (const auto *ref = llvm::dyn_cast<ast::RefExpr>(&expr)) {
    steps.push_back({ref->name.str(), std::nullopt});
    return true;
  }
  if (const auto *access = llvm::dyn_cast<ast::AccessExpr>(&expr)) {
    if (!flatten(*access->base, steps))
      return false;
    int64_t place = 0;
    if (!access->isIndex)
      steps.push_back({access->member.str(), std::nullopt});
    else if (!access->member.text.getAsInteger(10, place))
      steps.push_back({access->member.str(), RangeEntity{place, place + 1}});
    return true;
  }
  const auto *index = llvm::dyn_cast<ast::IndexExpr>(&expr);
  if (!index || index->args.size() != 1 || !index->args.front().isPositional()) {
    ctx.error(expr.range,
              "expected a path such as blocks.0.attn, found '" + ctx.sourceText(expr) + "'");
    return false;
  }
  if (!flatten(*index->base, steps))
    return false;
  const ast::Expr &inner = *index->args.front().value;
  Entity value = ctx.number(Evaluator(ctx, frame).evaluate(inner));
  std::optional<RangeEntity> places;
  if (const auto *place = value.as<int64_t>())
    places = RangeEntity{*place, *place + 1};
  else if (const auto *range = value.as<RangeEntity>())
    places = *range;
  else if (!value.isPoison())
    ctx.error(inner.range,
              "a stack is indexed by a number or a range, this is " + ctx.describe(value));
  if (!places)
    return false;
  steps.push_back({ctx.sourceText(inner), places});
  return true;
}

bool PathResolver::stepIndex(const Step &step, std::vector<Entity> &nodes,
                             const std::string &before, lang::SourceRange range) {
  std::vector<Entity> next;
  for (const Entity &node : nodes) {
    const auto *stack = node.as<StackEntity>();
    if (!stack) {
      ctx.error(range, "'" + before + "' is no stack");
      return false;
    }
    int64_t count = stack->parts->size();
    bool empty = step.places->first >= step.places->last;
    bool fits = step.places->first >= 0 && step.places->last <= count && !empty;
    if (!fits) {
      int64_t wrong = step.places->first < 0 || empty ? step.places->first : step.places->last - 1;
      ctx.error(range, "the stack '" + before + "' has parts 0 to " + llvm::Twine(count - 1) +
                           ", not " + (empty ? step.text : std::to_string(wrong)));
      return false;
    }
    next.push_back(Entity::stack(
        {stack->parts->begin() + step.places->first, stack->parts->begin() + step.places->last}));
  }
  nodes = std::move(next);
  return true;
}

/// Replaces stacks by their parts.
static std::vector<PartInstance *> partsOf(llvm::ArrayRef<Entity> nodes) {
  std::vector<PartInstance *> parts;
  for (const Entity &node : nodes) {
    if (const auto *part = node.as<PartEntity>())
      parts.push_back(part->part);
    else if (const auto *stack = node.as<StackEntity>())
      parts.insert(parts.end(), stack->parts->begin(), stack->parts->end());
  }
  return parts;
}

/// The names that a path can go on with in `part`.
static llvm::SmallVector<llvm::StringRef> namesIn(const PartInstance &part) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Symbol &symbol : part.scope.symbols()) {
    if (symbol.value.is<Tensor>() || symbol.value.is<PartEntity>() ||
        symbol.value.is<StackEntity>())
      names.push_back(symbol.name);
    else if (const auto *function = symbol.value.as<FunctionEntity>())
      names.append(valueNames(*function->decl));
  }
  return names;
}

bool PathResolver::unknown(PartInstance &part, const Step &step, const std::string &before,
                           lang::SourceRange range) {
  std::string owner = before.empty() ? part.decl->name.str() : before;
  ctx.error(range, "'" + owner + "' has no '" + step.text + "'" +
                       lang::didYouMean(step.text, namesIn(part)));
  return false;
}

bool PathResolver::stepName(const Step &step, std::vector<Entity> &nodes, PathRef &result,
                            const std::string &before, lang::SourceRange range) {
  std::vector<PartInstance *> parts = partsOf(nodes);
  if (parts.empty() || result.target != PathRef::Target::Part) {
    ctx.error(range, "'" + before + "' has no parts");
    return false;
  }
  std::vector<Entity> next;
  for (PartInstance *part : parts) {
    const Symbol *symbol = part->scope.find(step.text);
    if (symbol && symbol->value.isPoison())
      return false;
    if (symbol && (symbol->value.is<PartEntity>() || symbol->value.is<StackEntity>())) {
      next.push_back(symbol->value);
      continue;
    }
    const auto *tensor = symbol ? symbol->value.as<Tensor>() : nullptr;
    bool isValue = !symbol && llvm::is_contained(namesIn(*part), llvm::StringRef(step.text));
    if (!tensor && !isValue)
      return unknown(*part, step, before, range);
    result.target = tensor ? PathRef::Target::Weight : PathRef::Target::Value;
    result.parts.push_back(part->id);
    if (tensor)
      result.weights.push_back(tensor->value);
    else
      result.valueName = step.text;
  }
  nodes = std::move(next);
  return true;
}

bool PathResolver::walk(const ast::Expr &expr, std::vector<Entity> &nodes, PathRef &result) {
  std::vector<Step> steps;
  if (!flatten(*ast::stripGroups(&expr), steps))
    return false;
  nodes = {PartEntity{&model}};
  std::string before;
  for (const Step &step : steps) {
    bool ok = step.places ? stepIndex(step, nodes, before, expr.range)
                          : stepName(step, nodes, result, before, expr.range);
    if (!ok)
      return false;
    before += (before.empty() ? "" : ".") + step.text;
  }
  result.text = ctx.sourceText(expr);
  result.strength = steps.size();
  result.range = expr.range;
  return true;
}

std::optional<PathRef> PathResolver::resolve(const ast::Expr &expr) {
  PathRef result;
  std::vector<Entity> nodes;
  if (!walk(expr, nodes, result))
    return std::nullopt;
  if (result.target == PathRef::Target::Part) {
    for (PartInstance *part : partsOf(nodes))
      result.parts.push_back(part->id);
    result.weights = weightsInside(ctx.program, result.parts);
  }
  llvm::sort(result.weights);
  return result;
}

std::vector<PathRef> PathResolver::resolveAll(const ast::Expr &expr) {
  std::vector<PathRef> paths;
  const auto *group = llvm::dyn_cast<ast::GroupExpr>(&expr);
  if (!group) {
    if (std::optional<PathRef> path = resolve(expr))
      paths.push_back(std::move(*path));
    return paths;
  }
  for (const ast::ExprPtr &element : group->elements)
    if (std::optional<PathRef> path = resolve(*element))
      paths.push_back(std::move(*path));
  return paths;
}

std::optional<StackRef> PathResolver::resolveStack(const ast::Expr &expr) {
  PathRef path;
  std::vector<Entity> nodes;
  if (!walk(expr, nodes, path))
    return std::nullopt;
  bool isStack = path.target == PathRef::Target::Part && !nodes.empty() &&
                 llvm::all_of(nodes, [](const Entity &node) { return node.is<StackEntity>(); });
  if (!isStack) {
    ctx.error(expr.range, "'" + path.text + "' is no stack; stacks are made with 'repeat'");
    return std::nullopt;
  }
  StackRef stack{path.text, {}, expr.range};
  for (PartInstance *part : partsOf(nodes))
    stack.parts.push_back(part->id);
  return stack;
}

} // namespace ptlc::sema
