//===- Builtins.cpp - The functions of the language -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Look-up of built-in functions, and the questions about arguments that they
// share.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

namespace ptlc::sema {

namespace {
/// All functions by name. Made once, on first use.
struct BuiltinTable {
  BuiltinTable() {
    for (llvm::ArrayRef<Builtin> family :
         {elementwiseBuiltins(), reductionBuiltins(), rowBuiltins(), shapeBuiltins(),
          lossBuiltins(), attentionBuiltins(), randomBuiltins()})
      for (const Builtin &builtin : family) {
        byName.try_emplace(builtin.name, &builtin);
        names.push_back(builtin.name);
      }
  }
  llvm::DenseMap<llvm::StringRef, const Builtin *> byName;
  std::vector<llvm::StringRef> names;
};
} // namespace

static const BuiltinTable &table() {
  static const BuiltinTable instance;
  return instance;
}

const Builtin *findBuiltin(llvm::StringRef name) { return table().byName.lookup(name); }

llvm::ArrayRef<llvm::StringRef> builtinNames() { return table().names; }

const Argument *BuiltinCall::find(llvm::StringRef label) const {
  for (const Argument *argument : named)
    if (argument->label == label)
      return argument;
  return nullptr;
}

bool BuiltinCall::takes(size_t least, size_t most) const {
  if (positional.size() >= least && positional.size() <= most)
    return true;
  std::string count = std::to_string(least);
  if (most != least)
    count += (most == least + 1 ? " or " : " to ") + std::to_string(most);
  error("'" + name + "' takes " + count + " argument" + (most == 1 ? "" : "s") + ", got " +
        llvm::Twine(positional.size()));
  return false;
}

std::optional<Tensor> BuiltinCall::tensor(const Argument &argument) const {
  Entity value = argument.arrow ? Entity() : ctx.number(argument.value);
  if (const auto *tensor = value.as<Tensor>())
    return *tensor;
  if (value.is<int64_t>() || value.is<double>())
    return Tensor{ctx.emitConstant(value, kindOf(value), argument.range)};
  if (argument.arrow)
    error("'" + name + "' needs a tensor, not '->'");
  else if (!value.isPoison())
    error("'" + name + "' needs a tensor, not " + ctx.describe(value));
  return std::nullopt;
}

std::optional<Tensor> BuiltinCall::floats(const Argument &argument) const {
  std::optional<Tensor> result = tensor(argument);
  if (!result || ctx.type(*result).kind == Kind::Float)
    return result;
  // An int written where a float stands is a float; a tensor of ints is a slip.
  if (!argument.value.is<Tensor>())
    return Tensor{ctx.emitConstant(ctx.number(argument.value), Kind::Float, argument.range)};
  error("'" + name + "' needs a float tensor, not " + ctx.typeName(ctx.type(*result)));
  return std::nullopt;
}

std::optional<DimList> BuiltinCall::dims(const Argument &argument) const {
  if (argument.arrow) {
    error("expected a dimension, found '->'");
    return std::nullopt;
  }
  std::optional<DimList> result = evaluator.dims(argument.value, expr.range);
  for (size_t i = 0; result && i < result->size(); ++i)
    if (llvm::is_contained(llvm::ArrayRef(*result).take_front(i), (*result)[i])) {
      error("'" + ctx.dimName((*result)[i]) + "' is listed twice");
      return std::nullopt;
    }
  return result;
}

Report BuiltinCall::lacks(const Type &type, DimId dim, llvm::StringRef purpose) const {
  llvm::SmallVector<llvm::StringRef> candidates;
  for (DimId other : type.dims)
    candidates.push_back(ctx.dimName(other));
  return error(ctx.typeName(type) + " has no '" + ctx.dimName(dim) + "'" + purpose +
               lang::didYouMean(ctx.dimName(dim), candidates));
}

std::optional<DimList> BuiltinCall::over(const Type &type) const {
  const Argument *argument = find("over");
  if (!argument) {
    error("'" + name + "' needs 'over:'");
    return std::nullopt;
  }
  std::optional<DimList> result = dims(*argument);
  if (!result)
    return std::nullopt;
  for (DimId dim : *result)
    if (!type.has(dim)) {
      lacks(type, dim, " to run over");
      return std::nullopt;
    }
  return result;
}

std::optional<DimId> BuiltinCall::oneOf(llvm::StringRef label, const Type &type) const {
  const Argument *argument = find(label);
  if (!argument) {
    error("'" + name + "' needs '" + label + ":'");
    return std::nullopt;
  }
  std::optional<DimList> result = dims(*argument);
  if (!result)
    return std::nullopt;
  if (result->size() != 1) {
    error("'" + name + "' runs over one dimension");
    return std::nullopt;
  }
  if (type.has(result->front()))
    return result->front();
  lacks(type, result->front(), label == "along" ? " to run along" : " to run over");
  return std::nullopt;
}

std::optional<double> BuiltinCall::real(llvm::StringRef label, double fallback) const {
  const Argument *argument = find(label);
  if (!argument)
    return fallback;
  Entity value = ctx.number(argument->value);
  if (value.is<int64_t>() || value.is<double>())
    return value.asDouble();
  ctx.error(argument->range, "'" + label +
                                 "' is a number known when the program is compiled, "
                                 "not " +
                                 ctx.describe(value));
  return std::nullopt;
}

std::optional<int64_t> BuiltinCall::integer(llvm::StringRef label, int64_t fallback) const {
  const Argument *argument = find(label);
  if (!argument)
    return fallback;
  Entity value = ctx.number(argument->value);
  if (const auto *integer = value.as<int64_t>())
    return *integer;
  std::string found = value.isNumber() ? numberText(value) : ctx.describe(value);
  ctx.error(argument->range, "'" + label +
                                 "' is a whole number known when the program is "
                                 "compiled, not " +
                                 found);
  return std::nullopt;
}

std::optional<bool> BuiltinCall::flag(llvm::StringRef label, bool fallback) const {
  const Argument *argument = find(label);
  if (!argument)
    return fallback;
  if (const auto *truth = argument->value.as<bool>())
    return *truth;
  ctx.error(argument->range,
            "'" + label + "' is true or false, not " + ctx.describe(argument->value));
  return std::nullopt;
}

std::optional<std::pair<DimId, DimId>> BuiltinCall::arrow(const Argument &argument) const {
  if (argument.arrow && argument.arrow->from.size() == 1 && argument.arrow->to.size() == 1)
    return std::pair(argument.arrow->from.front(), argument.arrow->to.front());
  ctx.error(argument.range, "expected an arrow between two dimensions, such as 'a -> b'");
  return std::nullopt;
}

} // namespace ptlc::sema
