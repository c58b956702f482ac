//===- Entity.h - What a name or an expression means ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Expressions don't only denote tensors: dimensions, numbers, parts, stacks,
// modules and functions are used in the same positions and are all known when
// the program is compiled. `Poison` is the meaning of an expression that an
// error was reported for; whatever uses it is silently poisoned, too.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_ENTITY_H
#define PTLC_LANG_SEMA_ENTITY_H

#include "lang/AST/AST.h"
#include "lang/Sema/Graph.h"

#include <memory>

namespace ptlc::sema {

class FileScope;
class PartInstance;
class Entity;

struct Poison {};
struct Tensor {
  ValueId value = kNone;
};
struct DimEntity {
  DimId id = 0;
};
struct Text {
  std::string value;
};
struct PartEntity {
  PartInstance *part = nullptr;
};
/// A stack, or a range of its parts.
struct StackEntity {
  std::shared_ptr<const std::vector<PartInstance *>> parts;
};
struct TupleEntity {
  std::shared_ptr<const std::vector<Entity>> elements;
};
/// first, first + 1, ..., last - 1.
struct RangeEntity {
  int64_t first = 0, last = 0;
};
/// `part` is null for a function of a file.
struct FunctionEntity {
  const ast::FunctionDecl *decl = nullptr;
  FileScope *file = nullptr;
  PartInstance *part = nullptr;
};
struct ModuleEntity {
  const ast::ModuleDecl *decl = nullptr;
  FileScope *file = nullptr;
};
struct FileEntity {
  FileScope *file = nullptr;
};
struct ClusterEntity {
  const ast::ClusterDecl *decl = nullptr;
};

class Entity {
public:
  using Storage = std::variant<Poison, int64_t, double, bool, DimEntity, Tensor, Text, PartEntity,
                               StackEntity, TupleEntity, RangeEntity, FunctionEntity, ModuleEntity,
                               FileEntity, ClusterEntity>;

  Entity() = default;
  template <typename T>
    requires std::is_constructible_v<Storage, T>
  Entity(T value) : storage(std::move(value)) {}
  static Entity tuple(std::vector<Entity> elements);
  static Entity stack(std::vector<PartInstance *> parts);

  template <typename T> const T *as() const { return std::get_if<T>(&storage); }
  template <typename T> bool is() const { return std::holds_alternative<T>(storage); }
  bool isPoison() const { return is<Poison>(); }
  /// An int, a float or a bool; a dimension isn't one (see Context::number).
  bool isNumber() const { return is<int64_t>() || is<double>() || is<bool>(); }
  /// The value of a number as a float.
  double asDouble() const;

private:
  Storage storage;
};

/// The element kind that a number has as a tensor.
Kind kindOf(const Entity &number);
/// "float", "int", "bool".
llvm::StringRef kindName(Kind kind);
/// A number as messages print it: "6", "15.0", "true".
std::string numberText(const Entity &number);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_ENTITY_H
