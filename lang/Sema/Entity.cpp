//===- Entity.cpp - What a name or an expression means --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Constructors of composite entities, and how numbers are printed.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Entity.h"

#include <charconv>

namespace ptlc::sema {

Entity Entity::tuple(std::vector<Entity> elements) {
  return TupleEntity{std::make_shared<const std::vector<Entity>>(std::move(elements))};
}

Entity Entity::stack(std::vector<PartInstance *> parts) {
  return StackEntity{std::make_shared<const std::vector<PartInstance *>>(std::move(parts))};
}

double Entity::asDouble() const {
  if (const auto *integer = as<int64_t>())
    return static_cast<double>(*integer);
  if (const auto *real = as<double>())
    return *real;
  if (const auto *truth = as<bool>())
    return *truth ? 1.0 : 0.0;
  return 0.0;
}

Kind kindOf(const Entity &number) {
  if (number.is<bool>())
    return Kind::Bool;
  return number.is<int64_t>() ? Kind::Int : Kind::Float;
}

llvm::StringRef kindName(Kind kind) {
  switch (kind) {
  case Kind::Float:
    return "float";
  case Kind::Int:
    return "int";
  case Kind::Bool:
    return "bool";
  }
  return "";
}

std::string numberText(const Entity &number) {
  if (const auto *truth = number.as<bool>())
    return *truth ? "true" : "false";
  if (const auto *integer = number.as<int64_t>())
    return std::to_string(*integer);
  // The shortest text that reads back as the same value, with a point so that it reads as a float.
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), number.asDouble()).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".en") == std::string::npos)
    text += ".0";
  return text;
}

} // namespace ptlc::sema
