//===- NameCheck.cpp - Names without types --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks the tree of a file once with the lexical scopes: file, module,
// function, block. One name has one meaning, so a declaration may not hide any
// name that is visible; only built-in functions may be hidden.
//===----------------------------------------------------------------------===//
#include "lang/Sema/NameCheck.h"

#include "lang/Sema/Builtins.h"
#include "lang/Sema/InitialValues.h"
#include "lang/Sema/Load.h"

namespace ptlc::sema {

namespace {
/// A name of a module or a function with its declaration.
struct Declared {
  llvm::StringRef name;
  lang::SourceRange range;
  bool isVar = false;
  bool isFunctionLevel = false;
};

class NameChecker {
public:
  NameChecker(Context &ctx, const FileScope &file) : ctx(ctx), file(file) {}

  void checkFile();

private:
  void module(const ast::ModuleDecl &decl);
  void member(const ast::Decl &decl);
  void function(const ast::FunctionDecl &decl);
  void parameters(llvm::ArrayRef<ast::Param> params, bool ofFunction);
  void block(const ast::Block &block);
  void statement(const ast::Stmt &stmt);
  void loop(const ast::ForStmt &stmt);
  void assignment(const ast::AssignStmt &stmt);
  void expression(const ast::Expr *expr);
  void partValue(const ast::Expr &expr);
  void call(const ast::CallExpr &expr);
  void access(const ast::AccessExpr &expr);
  void arguments(llvm::ArrayRef<ast::Arg> args);
  void type(const ast::TypeExpr *type);
  void path(const ast::Path &path);
  void reference(const ast::Name &name);

  void declare(llvm::StringRef name, lang::SourceRange range, bool isVar = false,
               llvm::StringRef hint = "", bool mayHideFile = false);
  void declareMembers(const ast::ModuleDecl &decl);
  const Declared *findDeclared(llvm::StringRef name) const;
  bool isVisible(llvm::StringRef name) const;
  void unknown(const ast::Name &name);

  Context &ctx;
  const FileScope &file;
  std::vector<Declared> names; ///< of the module, then of the function, innermost last
  const ast::FunctionDecl *currentFunction = nullptr;
  bool redeclared = false; ///< in this module or function of the file
};
} // namespace

/// The range from the begin of a declaration to its name, for messages about the name.
static lang::SourceRange head(lang::SourceRange whole, const ast::Name &name) {
  return lang::SourceRange{whole.file, whole.begin, name.range.end};
}

void NameChecker::checkFile() {
  for (const ast::DeclPtr &item : file.tree->items) {
    redeclared = false;
    if (const auto *decl = llvm::dyn_cast<ast::ModuleDecl>(item.get()))
      module(*decl);
    else if (!llvm::isa<ast::TrainDecl, ast::PlanDecl, ast::ClusterDecl>(item.get()))
      member(*item);
  }
}

void NameChecker::declareMembers(const ast::ModuleDecl &decl) {
  for (const ast::DeclPtr &member : decl.members) {
    if (const auto *sizes = llvm::dyn_cast<ast::SizesDecl>(member.get())) {
      for (const ast::Bind &bind : sizes->binds)
        declare(bind.name.text, bind.range);
      continue;
    }
    if (const auto *weight = llvm::dyn_cast<ast::WeightDecl>(member.get()))
      declare(weight->name.text, head(weight->range, weight->name));
    else if (const auto *part = llvm::dyn_cast<ast::PartDecl>(member.get()))
      declare(part->name.text, head(part->range, part->name));
    else if (const auto *fn = llvm::dyn_cast<ast::FunctionDecl>(member.get()))
      declare(fn->name.text, head(fn->range, fn->name));
  }
}

void NameChecker::module(const ast::ModuleDecl &decl) {
  if (decl.isModel && !decl.params.empty())
    ctx.error(decl.params.front().range, "a model has no parameters; use 'const' and 'dim'");
  parameters(decl.params, /*ofFunction=*/false);
  declareMembers(decl);
  for (const ast::DeclPtr &inner : decl.members)
    member(*inner);
  names.clear();
}

void NameChecker::member(const ast::Decl &decl) {
  if (const auto *sizes = llvm::dyn_cast<ast::SizesDecl>(&decl)) {
    for (const ast::Bind &bind : sizes->binds)
      expression(bind.value.get());
  } else if (const auto *check = llvm::dyn_cast<ast::AssertDecl>(&decl)) {
    expression(check->condition.get());
  } else if (const auto *weight = llvm::dyn_cast<ast::WeightDecl>(&decl)) {
    type(weight->type.get());
    // The initial value's own name isn't looked up: it comes from a list of its own.
    if (const auto *init = llvm::dyn_cast_or_null<ast::CallExpr>(weight->init.get()))
      arguments(init->args);
  } else if (const auto *part = llvm::dyn_cast<ast::PartDecl>(&decl)) {
    size_t count = names.size();
    if (part->repeat) {
      expression(part->repeat->count.get());
      if (!part->repeat->variable.empty())
        declare(part->repeat->variable.text, part->repeat->variable.range);
    }
    partValue(*part->value);
    names.resize(count);
  } else if (const auto *fn = llvm::dyn_cast<ast::FunctionDecl>(&decl)) {
    function(*fn);
  }
}

void NameChecker::parameters(llvm::ArrayRef<ast::Param> params, bool ofFunction) {
  for (const ast::Param &param : params) {
    type(param.type.get());
    expression(param.defaultValue.get());
    // A module's parameter stands for what its users give it, whatever the file calls so.
    declare(param.name.text, param.range, false, "", /*mayHideFile=*/!ofFunction);
    names.back().isFunctionLevel = ofFunction;
  }
}

/// Whether a `return` occurs anywhere in the block.
static bool returns(const ast::Block &block) {
  for (const ast::StmtPtr &stmt : block.statements) {
    if (llvm::isa<ast::ReturnStmt>(stmt.get()))
      return true;
    if (const auto *loop = llvm::dyn_cast<ast::ForStmt>(stmt.get()))
      if (returns(loop->body))
        return true;
  }
  return false;
}

void NameChecker::function(const ast::FunctionDecl &decl) {
  size_t count = names.size();
  currentFunction = &decl;
  parameters(decl.params, /*ofFunction=*/true);
  for (const ast::TypePtr &result : decl.results)
    type(result.get());
  if (decl.value) {
    expression(decl.value.get());
  } else {
    block(decl.body);
    if (!returns(decl.body)) {
      uint32_t end = decl.body.range.end.offset;
      ctx.error(ctx.sources.range(file.id, end - 1, end),
                "function '" + decl.name.text + "' ends without 'return'");
    }
  }
  currentFunction = nullptr;
  names.resize(count);
}

void NameChecker::block(const ast::Block &block) {
  size_t count = names.size();
  for (const ast::StmtPtr &stmt : block.statements)
    statement(*stmt);
  names.resize(count);
}

void NameChecker::statement(const ast::Stmt &stmt) {
  constexpr llvm::StringRef kUseVar = "; declare it with 'var' to change it";
  if (const auto *let = llvm::dyn_cast<ast::LetStmt>(&stmt)) {
    type(let->type.get());
    expression(let->value.get());
    for (const ast::Name &name : let->names) {
      const Declared *other = findDeclared(name.text);
      bool isLet = other && other->isFunctionLevel && !other->isVar;
      declare(name.text, let->range, /*isVar=*/false, isLet ? kUseVar : "");
      names.back().isFunctionLevel = true;
    }
  } else if (const auto *var = llvm::dyn_cast<ast::VarStmt>(&stmt)) {
    type(var->type.get());
    expression(var->value.get());
    declare(var->name.text, var->range, /*isVar=*/true);
    names.back().isFunctionLevel = true;
  } else if (const auto *assign = llvm::dyn_cast<ast::AssignStmt>(&stmt)) {
    assignment(*assign);
  } else if (const auto *repeat = llvm::dyn_cast<ast::ForStmt>(&stmt)) {
    loop(*repeat);
  } else if (const auto *metric = llvm::dyn_cast<ast::MetricStmt>(&stmt)) {
    if (currentFunction->name.text != "loss")
      ctx.error(metric->range, "'metric' belongs in 'fn loss'");
    expression(metric->value.get());
  } else if (const auto *result = llvm::dyn_cast<ast::ReturnStmt>(&stmt)) {
    expression(result->value.get());
  } else if (const auto *check = llvm::dyn_cast<ast::AssertStmt>(&stmt)) {
    expression(check->condition.get());
  }
}

void NameChecker::loop(const ast::ForStmt &stmt) {
  expression(stmt.iterable.get());
  size_t count = names.size();
  declare(stmt.variable.text, stmt.variable.range);
  names.back().isFunctionLevel = true;
  block(stmt.body);
  names.resize(count);
}

void NameChecker::assignment(const ast::AssignStmt &stmt) {
  expression(stmt.value.get());
  llvm::StringRef name = stmt.name.text;
  const Declared *target = findDeclared(name);
  if (target && target->isVar)
    return;
  if (target && target->isFunctionLevel)
    ctx.error(stmt.range, "'" + name + "' can't change; declare it with 'var'")
        .note(target->range, "declared " + ctx.lineOf(target->range, stmt.range));
  else if (isVisible(name))
    ctx.error(stmt.range, "'" + name + "' can't change: it is not a 'var' of this function");
  else
    ctx.error(stmt.range, "'" + name + "' is not declared; 'let " + name + " = …' declares it");
}

void NameChecker::expression(const ast::Expr *expr) {
  if (!expr)
    return;
  if (const auto *ref = llvm::dyn_cast<ast::RefExpr>(expr)) {
    reference(ref->name);
  } else if (const auto *callExpr = llvm::dyn_cast<ast::CallExpr>(expr)) {
    call(*callExpr);
  } else if (const auto *index = llvm::dyn_cast<ast::IndexExpr>(expr)) {
    expression(index->base.get());
    for (const ast::Arg &arg : index->args)
      if (!arg.label.empty())
        path(arg.label);
    arguments(index->args);
  } else if (const auto *member = llvm::dyn_cast<ast::AccessExpr>(expr)) {
    access(*member);
  } else if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr)) {
    expression(unary->operand.get());
  } else if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    expression(binary->lhs.get());
    expression(binary->rhs.get());
  } else if (const auto *range = llvm::dyn_cast<ast::RangeExpr>(expr)) {
    expression(range->first.get());
    expression(range->last.get());
  } else if (const auto *group = llvm::dyn_cast<ast::GroupExpr>(expr)) {
    for (const ast::ExprPtr &element : group->elements)
      expression(element.get());
  } else if (const auto *arrow = llvm::dyn_cast<ast::ArrowExpr>(expr)) {
    expression(arrow->from.get());
    expression(arrow->to.get());
  }
}

void NameChecker::partValue(const ast::Expr &expr) {
  const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr);
  const auto *ref = llvm::dyn_cast_or_null<ast::RefExpr>(call ? call->callee.get() : nullptr);
  // The word for an initial value where a module stands: `weight` was forgotten.
  if (ref && isInitialValue(ref->name.text) && !isVisible(ref->name.text))
    ctx.error(expr.range,
              "'" + ref->name.text + "' is not a module; a weight begins with 'weight'");
  else
    expression(&expr);
}

void NameChecker::call(const ast::CallExpr &expr) {
  const auto *callee = llvm::dyn_cast<ast::RefExpr>(expr.callee.get());
  if (!callee)
    expression(expr.callee.get());
  else if (!isVisible(callee->name.text) && !findBuiltin(callee->name.text))
    unknown(callee->name);
  arguments(expr.args);
}

void NameChecker::access(const ast::AccessExpr &expr) {
  expression(expr.base.get());
  const auto *base = llvm::dyn_cast<ast::RefExpr>(expr.base.get());
  if (!base || findDeclared(base->name.text))
    return;
  const Symbol *symbol = file.scope.find(base->name.text);
  const auto *imported = symbol ? symbol->value.as<FileEntity>() : nullptr;
  if (!imported)
    return;
  const Symbol *member = imported->file->scope.find(expr.member.text);
  if (member && !member->isImport)
    return;
  llvm::SmallVector<llvm::StringRef> candidates;
  imported->file->scope.collect(candidates);
  ctx.error(expr.range, "'" + base->name.text + "' has no '" + expr.member.text + "'" +
                            lang::didYouMean(expr.member.text, candidates));
}

void NameChecker::arguments(llvm::ArrayRef<ast::Arg> args) {
  for (const ast::Arg &arg : args)
    expression(arg.value.get());
}

void NameChecker::type(const ast::TypeExpr *type) {
  const auto *tensor = llvm::dyn_cast_or_null<ast::TensorType>(type);
  if (!tensor)
    return;
  for (const ast::Dimension &dim : tensor->dims)
    path(dim.path);
}

void NameChecker::path(const ast::Path &path) { reference(path.parts.front()); }

void NameChecker::reference(const ast::Name &name) {
  if (isVisible(name.text))
    return;
  if (findBuiltin(name.text))
    ctx.error(name.range, "'" + name.text + "' is a function; call it: '" + name.text + "(…)'");
  else
    unknown(name);
}

void NameChecker::unknown(const ast::Name &name) {
  // After a name given twice, an unknown one is most likely what the second should have been.
  if (redeclared)
    return;
  llvm::SmallVector<llvm::StringRef> candidates;
  for (const Declared &declared : llvm::reverse(names))
    candidates.push_back(declared.name);
  file.scope.collect(candidates);
  candidates.push_back("batch");
  candidates.append(builtinNames().begin(), builtinNames().end());
  ctx.error(name.range,
            "unknown name '" + name.text + "'" + lang::didYouMean(name.text, candidates));
}

void NameChecker::declare(llvm::StringRef name, lang::SourceRange range, bool isVar,
                          llvm::StringRef hint, bool mayHideFile) {
  if (!reportIfBatch(ctx, name, range)) {
    const Declared *inner = findDeclared(name);
    const Symbol *outer = mayHideFile ? nullptr : file.scope.find(name);
    if (inner)
      reportRedeclared(ctx, name, range, inner->range, hint);
    else if (outer)
      reportRedeclared(ctx, name, range, outer->range);
    redeclared |= inner || outer;
  }
  names.push_back({name, range, isVar, false});
}

const Declared *NameChecker::findDeclared(llvm::StringRef name) const {
  for (auto it = names.rbegin(); it != names.rend(); ++it)
    if (it->name == name)
      return &*it;
  return nullptr;
}

bool NameChecker::isVisible(llvm::StringRef name) const {
  return name == "batch" || findDeclared(name) || file.scope.find(name);
}

void checkNames(Context &ctx, const FileScope &file) { NameChecker(ctx, file).checkFile(); }

static void collectValues(const ast::Block &block, llvm::SmallVectorImpl<llvm::StringRef> &names) {
  for (const ast::StmtPtr &stmt : block.statements) {
    if (const auto *let = llvm::dyn_cast<ast::LetStmt>(stmt.get()))
      for (const ast::Name &name : let->names)
        names.push_back(name.text);
    else if (const auto *var = llvm::dyn_cast<ast::VarStmt>(stmt.get()))
      names.push_back(var->name.text);
    else if (const auto *loop = llvm::dyn_cast<ast::ForStmt>(stmt.get()))
      collectValues(loop->body, names);
  }
}

llvm::SmallVector<llvm::StringRef, 8> valueNames(const ast::FunctionDecl &function) {
  llvm::SmallVector<llvm::StringRef, 8> names;
  for (const ast::Param &param : function.params)
    names.push_back(param.name.text);
  collectValues(function.body, names);
  return names;
}

} // namespace ptlc::sema
