//===- Types.cpp - Declared types -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Resolves the names in a type, and checks a value against it. Two types are
// the same if element kind and set of names are; a declared type also says the
// order, into which the value is put.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

static std::optional<Kind> kindNamed(llvm::StringRef name) {
  if (name.empty() || name == "float")
    return Kind::Float;
  if (name == "int")
    return Kind::Int;
  if (name == "bool")
    return Kind::Bool;
  return std::nullopt;
}

static std::optional<DeclaredType> resolveScalar(Context &ctx, const ast::ScalarType &scalar) {
  DeclaredType result;
  if (scalar.name.text == "dim") {
    result.form = DeclaredType::Form::Dim;
    return result;
  }
  std::optional<Kind> kind = kindNamed(scalar.name.text);
  if (!kind) {
    ctx.error(scalar.range, "'" + scalar.name.text +
                                "' is not a type; types are dim, int, float, bool and "
                                "lists of dimensions such as [" +
                                scalar.name.text + "]");
    return std::nullopt;
  }
  result.form = DeclaredType::Form::Number;
  result.type.kind = *kind;
  return result;
}

/// The author's advice for a dimension; checks that no axis is named twice.
static Advice resolveAdvice(Context &ctx, DimId dim, const ast::Advice &syntax) {
  Advice advice{dim, {}, syntax.range};
  if (syntax.isNone())
    return advice;
  for (const ast::Name &axis : syntax.axes) {
    if (axis.text == "none")
      ctx.error(axis.range, "'none' stands alone");
    else if (llvm::is_contained(advice.axes, axis.text))
      ctx.error(axis.range, "axis '" + axis.text + "' is given twice");
    advice.axes.push_back(axis.str());
  }
  return advice;
}

std::optional<DeclaredType> Evaluator::resolve(const ast::TypeExpr &type) {
  if (const auto *scalar = llvm::dyn_cast<ast::ScalarType>(&type))
    return resolveScalar(ctx, *scalar);
  const auto &tensor = llvm::cast<ast::TensorType>(type);
  std::optional<Kind> kind = kindNamed(tensor.element.text);
  if (!kind) {
    ctx.error(type.range,
              "'" + tensor.element.text +
                  "' is not an element type; there are float (unwritten), int and bool");
    return std::nullopt;
  }
  DeclaredType result;
  result.type.kind = *kind;
  result.hasRest = tensor.hasRest;
  bool failed = false;
  for (const ast::Dimension &syntax : tensor.dims) {
    Entity entity = lookup(syntax.path);
    const auto *dim = entity.as<DimEntity>();
    failed |= !dim;
    if (!dim) {
      if (!entity.isPoison())
        ctx.error(syntax.path.range,
                  "'" + syntax.path.str() + "' is not a dimension but " + ctx.describe(entity));
      continue;
    }
    if (result.type.has(dim->id)) {
      llvm::StringRef name = ctx.dimName(dim->id);
      ctx.error(syntax.path.range, "'" + name +
                                       "' occurs twice in a type; give one of the two another "
                                       "name: 'dim " +
                                       name + "2 = " + name + "'");
      failed = true;
      continue;
    }
    result.type.dims.push_back(dim->id);
    if (syntax.advice.isPresent())
      result.advice.push_back(resolveAdvice(ctx, dim->id, syntax.advice));
  }
  if (failed)
    return std::nullopt;
  return result;
}

std::string Evaluator::typeName(const DeclaredType &declared) const {
  if (declared.form == DeclaredType::Form::Dim)
    return "dim";
  if (declared.form == DeclaredType::Form::Number)
    return kindName(declared.type.kind).str();
  std::string text = ctx.typeName(declared.type);
  if (declared.hasRest)
    text.insert(text.find('[') + 1, declared.type.dims.empty() ? ".." : ".., ");
  return text;
}

/// A number known at compile time where one is declared; an int may stand for a float.
static Entity conformNumber(Context &ctx, const Entity &value, Kind kind, lang::SourceRange range,
                            const llvm::Twine &who) {
  Entity number = kind == Kind::Bool ? value : ctx.number(value);
  if (number.isPoison())
    return Poison{};
  if (kind == Kind::Float && number.is<int64_t>())
    return number.asDouble();
  if (number.isNumber() && kindOf(number) == kind)
    return number;
  llvm::StringRef article = kind == Kind::Int ? " must be an " : " must be a ";
  std::string found = ctx.describe(number);
  if (number.is<double>())
    found = "the float " + numberText(number);
  return ctx.error(range, who + article + kindName(kind) + ", is " + found);
}

/// ": lacks 'a', has 'b' besides".
static std::string difference(const Context &ctx, llvm::ArrayRef<DimId> missing,
                              llvm::ArrayRef<DimId> extra) {
  std::string text;
  if (!missing.empty())
    text = ": lacks " + ctx.quoted(missing);
  if (!extra.empty())
    text += (missing.empty() ? ": has " : ", has ") + ctx.quoted(extra) + " besides";
  return text;
}

Entity Evaluator::conform(const Entity &given, const DeclaredType &declared,
                          lang::SourceRange range, const llvm::Twine &who) {
  if (given.isPoison())
    return Poison{};
  if (declared.form == DeclaredType::Form::Dim) {
    if (given.is<DimEntity>())
      return given;
    return ctx.error(range, who + " must be a dimension, is " + ctx.describe(given));
  }
  if (declared.form == DeclaredType::Form::Number)
    return conformNumber(ctx, given, declared.type.kind, range, who);

  Entity value = ctx.number(given);
  const Type &want = declared.type;
  if (value.isPoison())
    return Poison{};
  bool becomesScalar =
      want.dims.empty() && !declared.hasRest && value.isNumber() &&
      (kindOf(value) == want.kind || (want.kind == Kind::Float && !value.is<bool>()));
  if (becomesScalar)
    return Tensor{ctx.emitConstant(value, want.kind, range)};
  const auto *tensor = value.as<Tensor>();
  if (!tensor)
    return ctx.error(range, who + " must be a tensor " + typeName(declared) + ", is " +
                                ctx.describe(value));
  const Type &have = ctx.type(*tensor);
  std::string mismatch =
      who.str() + " must be " + typeName(declared) + ", is " + ctx.typeName(have);
  if (have.kind != want.kind)
    return ctx.error(range, mismatch);
  DimList missing, order;
  for (DimId dim : want.dims)
    if (!have.has(dim))
      missing.push_back(dim);
  for (DimId dim : have.dims)
    if (!want.has(dim))
      order.push_back(dim);
  if (!missing.empty() || (!order.empty() && !declared.hasRest)) {
    if (declared.hasRest)
      order.clear(); // more names are what `..` allows
    return ctx.error(range, mismatch + difference(ctx, missing, order));
  }
  order.append(want.dims);
  return reorder(*tensor, order, range);
}

Tensor Evaluator::reorder(Tensor value, llvm::ArrayRef<DimId> order, lang::SourceRange range) {
  const Type &type = ctx.type(value);
  if (llvm::ArrayRef<DimId>(type.dims) == order)
    return value;
  Type result{type.kind, DimList(order)};
  return Tensor{ctx.emit(Op::Reorder, {value.value}, std::move(result), {}, range)};
}

} // namespace ptlc::sema
