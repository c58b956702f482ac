//===- Statements.cpp - The bodies of functions ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Statements run in order; loops are expanded. A name whose value is in error
// is declared all the same, with poison, so that the statements after it don't
// repeat the complaint.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Evaluator.h"

#include "llvm/ADT/StringExtras.h"

namespace ptlc::sema {

std::optional<Entity> Evaluator::run(const ast::Block &block) {
  size_t count = frame.locals.size();
  std::optional<Entity> result;
  for (const ast::StmtPtr &stmt : block.statements) {
    if (const auto *declaration = llvm::dyn_cast<ast::LetStmt>(stmt.get()))
      let(*declaration);
    else if (const auto *declaration = llvm::dyn_cast<ast::VarStmt>(stmt.get()))
      var(*declaration);
    else if (const auto *assignment = llvm::dyn_cast<ast::AssignStmt>(stmt.get()))
      assign(*assignment);
    else if (const auto *report = llvm::dyn_cast<ast::MetricStmt>(stmt.get()))
      metric(*report);
    else if (const auto *check = llvm::dyn_cast<ast::AssertStmt>(stmt.get()))
      checkAssertion(*check->condition, check->message.get(), check->range);
    else if (const auto *repeat = llvm::dyn_cast<ast::ForStmt>(stmt.get()))
      result = loop(*repeat);
    else if (const auto *last = llvm::dyn_cast<ast::ReturnStmt>(stmt.get()))
      result = evaluate(*last->value);
    if (result)
      break;
  }
  frame.locals.resize(count);
  return result;
}

Entity Evaluator::declaredValue(const ast::Expr &value, const ast::TypeExpr *type,
                                llvm::StringRef name, std::vector<Advice> &advice) {
  Entity entity = evaluate(value);
  if (!type)
    return entity;
  std::optional<DeclaredType> declared = resolve(*type);
  if (!declared)
    return Poison{};
  advice = declared->advice;
  return conform(entity, *declared, value.range, "'" + name + "'");
}

void Evaluator::let(const ast::LetStmt &stmt) {
  std::vector<Advice> advice;
  llvm::StringRef first = stmt.names.empty() ? "" : stmt.names.front().text;
  Entity value = declaredValue(*stmt.value, stmt.type.get(), first, advice);
  if (!stmt.isTuple) {
    recordName(first, value, std::move(advice), stmt.range);
    frame.locals.push_back({first, std::move(value), stmt.range, false});
    return;
  }
  const auto *tuple = value.as<TupleEntity>();
  size_t count = tuple ? tuple->elements->size() : 1;
  bool fits = tuple && count == stmt.names.size();
  if (!fits && !value.isPoison())
    ctx.error(stmt.range, llvm::Twine(stmt.names.size()) + " name" +
                              (stmt.names.size() == 1 ? "" : "s") + " for " + llvm::Twine(count) +
                              " value" + (count == 1 ? "" : "s"));
  for (size_t i = 0; i < stmt.names.size(); ++i) {
    Entity element = fits ? (*tuple->elements)[i] : Entity();
    recordName(stmt.names[i].text, element, {}, stmt.range);
    frame.locals.push_back({stmt.names[i].text, std::move(element), stmt.range, false});
  }
}

void Evaluator::var(const ast::VarStmt &stmt) {
  std::vector<Advice> advice;
  Entity value = declaredValue(*stmt.value, stmt.type.get(), stmt.name.text, advice);
  value = variableValue(value, stmt.name.text, stmt.value->range, nullptr);
  recordName(stmt.name.text, value, std::move(advice), stmt.range);
  frame.locals.push_back({stmt.name.text, std::move(value), stmt.range, true});
}

Entity Evaluator::variableValue(const Entity &given, llvm::StringRef name, lang::SourceRange range,
                                const Type *old) {
  Entity value = ctx.number(given);
  if (value.isPoison() || value.is<Tensor>())
    return value;
  if (!value.isNumber())
    return ctx.error(range, "a 'var' is a tensor or a number; '" + name + "' would be " +
                                ctx.describe(value));
  bool isBool = value.is<bool>();
  Kind kind = isBool ? Kind::Bool : Kind::Float;
  if (old && old->kind == Kind::Int && value.is<int64_t>())
    kind = Kind::Int;
  return Tensor{ctx.emitConstant(value, kind, range)};
}

void Evaluator::assign(const ast::AssignStmt &stmt) {
  Entity given = evaluate(*stmt.value);
  Local *local = frame.findLocal(stmt.name.text);
  if (!local || !local->isVar)
    return; // reported by the static check
  const auto *old = local->value.as<Tensor>();
  if (!old) {
    // The declaration was in error: the first good value decides.
    local->value = variableValue(given, stmt.name.text, stmt.value->range, nullptr);
    return;
  }
  Type type = ctx.type(*old);
  Entity value = variableValue(given, stmt.name.text, stmt.value->range, &type);
  const auto *tensor = value.as<Tensor>();
  if (!tensor) {
    local->value = Poison{};
    return;
  }
  const Type &found = ctx.type(*tensor);
  bool same = found.kind == type.kind && found.dims.size() == type.dims.size() &&
              llvm::all_of(found.dims, [&](DimId dim) { return type.has(dim); });
  if (!same) {
    ctx.error(stmt.value->range, "'" + stmt.name.text + "' is " + ctx.typeName(type) +
                                     "; it can't become " + ctx.typeName(found));
    return;
  }
  local->value = reorder(*tensor, type.dims, stmt.range);
  recordName(stmt.name.text, local->value, {}, stmt.range);
}

std::optional<Entity> Evaluator::loop(const ast::ForStmt &stmt) {
  Entity value = evaluate(*stmt.iterable);
  if (value.isPoison())
    return poisonAssigned(stmt.body), std::nullopt;
  std::vector<Entity> items;
  if (const auto *stack = value.as<StackEntity>()) {
    for (PartInstance *part : *stack->parts)
      items.push_back(PartEntity{part});
  } else {
    std::optional<RangeEntity> range = walked(value, stmt.iterable->range, "for");
    if (!range)
      return poisonAssigned(stmt.body), std::nullopt;
    for (int64_t i = range->first; i < range->last; ++i)
      items.push_back(i);
  }
  for (Entity &item : items) {
    if (!ctx.spend(stmt.range))
      return Entity();
    frame.locals.push_back({stmt.variable.text, std::move(item), stmt.variable.range, false});
    std::optional<Entity> result = run(stmt.body);
    frame.locals.pop_back();
    if (result)
      return result;
  }
  return std::nullopt;
}

void Evaluator::poisonAssigned(const ast::Block &block) {
  for (const ast::StmtPtr &stmt : block.statements) {
    if (const auto *assignment = llvm::dyn_cast<ast::AssignStmt>(stmt.get())) {
      if (Local *local = frame.findLocal(assignment->name.text))
        local->value = Poison{};
    } else if (const auto *loop = llvm::dyn_cast<ast::ForStmt>(stmt.get())) {
      poisonAssigned(loop->body);
    }
  }
}

void Evaluator::metric(const ast::MetricStmt &stmt) {
  // Only the model that is trained reports; a loss called as a part of it doesn't.
  if (!ctx.graph || frame.call != 0)
    return;
  Entity value = ctx.number(evaluate(*stmt.value));
  if (value.isPoison())
    return;
  if (value.isNumber())
    value = Tensor{ctx.emitConstant(value, Kind::Float, stmt.value->range)};
  const auto *tensor = value.as<Tensor>();
  if (!tensor || !ctx.type(*tensor).dims.empty()) {
    ctx.error(stmt.value->range,
              "a metric is one number, this is " +
                  (tensor ? ctx.typeName(ctx.type(*tensor)) : ctx.describe(value)) +
                  "; use mean(…)");
    return;
  }
  for (const Metric &other : ctx.graph->metrics)
    if (other.name == stmt.name.text) {
      ctx.error(stmt.range, "metric '" + stmt.name.text + "' is given twice")
          .note(other.range, "given " + ctx.lineOf(other.range, stmt.range));
      return;
    }
  ValueId real = operand(*tensor, Kind::Float, stmt.value->range);
  ctx.graph->metrics.push_back({stmt.name.str(), real, stmt.range});
}

void Evaluator::recordName(llvm::StringRef name, const Entity &value, std::vector<Advice> advice,
                           lang::SourceRange range) {
  const auto *tensor = value.as<Tensor>();
  if (!tensor || !ctx.graph || (!frame.part && advice.empty()))
    return;
  NamedValue named;
  named.part = frame.partId;
  named.name = frame.part ? name.str() : ""; // functions of a file have no path
  named.value = tensor->value;
  named.call = frame.call;
  named.advice = std::move(advice);
  named.range = range;
  ctx.graph->names.push_back(std::move(named));
}

/// Collects "name = value" for the numbers that an expression mentions.
static void collectValues(Evaluator &evaluator, const ast::Expr &expr,
                          llvm::SmallVectorImpl<std::string> &values) {
  if (llvm::isa<ast::RefExpr, ast::AccessExpr>(&expr)) {
    Context &ctx = evaluator.context();
    Entity value = ctx.number(evaluator.evaluate(expr));
    std::string text = ctx.sourceText(expr) + " = " + numberText(value);
    if (value.isNumber() && !llvm::is_contained(values, text))
      values.push_back(text);
  } else if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(&expr)) {
    collectValues(evaluator, *unary->operand, values);
  } else if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr)) {
    collectValues(evaluator, *binary->lhs, values);
    collectValues(evaluator, *binary->rhs, values);
  } else if (const auto *group = llvm::dyn_cast<ast::GroupExpr>(&expr)) {
    for (const ast::ExprPtr &element : group->elements)
      collectValues(evaluator, *element, values);
  } else if (const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr)) {
    for (const ast::Arg &arg : call->args)
      collectValues(evaluator, *arg.value, values);
  }
}

void Evaluator::checkAssertion(const ast::Expr &condition, const ast::StringExpr *message,
                               lang::SourceRange range) {
  Entity value = evaluate(condition);
  if (value.isPoison())
    return;
  const auto *holds = value.as<bool>();
  if (!holds) {
    ctx.error(condition.range,
              "an assertion is a bool known when the program is compiled, this is " +
                  ctx.describe(value));
    return;
  }
  if (*holds)
    return;
  std::string text = "assertion failed: " + ctx.sourceText(condition);
  if (message)
    text += " (" + message->value + ")";
  llvm::SmallVector<std::string> values;
  collectValues(*this, condition, values);
  Report report = ctx.error(range, text);
  if (!values.empty())
    report.note({}, llvm::join(values, ", "));
}

} // namespace ptlc::sema
