//===- Scope.h - Files, parts and the names in them -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Three levels of names: the file's, the part's (its module's members, with
// values of its own), and the locals of a function being expanded. Sizes and
// constants are symbols whose value is found on demand.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_SCOPE_H
#define PTLC_LANG_SEMA_SCOPE_H

#include "lang/Sema/Entity.h"
#include "lang/Sema/Program.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace ptlc::sema {

/// A declared name. A size (`dim`, `const`) has `bind` and gets its value when first asked for.
struct Symbol {
  enum class State : uint8_t { Pending, Running, Done };

  llvm::StringRef name;
  lang::SourceRange range; ///< the declaration
  State state = State::Done;
  bool isDim = false;              ///< `dim`, or else `const`; sizes only
  bool isImport = false;           ///< not visible to importers of its file
  const ast::Bind *bind = nullptr; ///< sizes only
  Entity value;
};

/// Names in order of declaration. Symbols keep their address.
class Scope {
public:
  /// Adds a name; the caller made sure that it is new (the first one stays visible otherwise).
  Symbol &add(Symbol symbol);
  Symbol *find(llvm::StringRef name) const;
  const std::deque<Symbol> &symbols() const { return list; }
  std::deque<Symbol> &symbols() { return list; }
  /// Appends all names, for suggestions.
  void collect(llvm::SmallVectorImpl<llvm::StringRef> &names) const;

private:
  std::deque<Symbol> list;
  llvm::DenseMap<llvm::StringRef, Symbol *> index;
};

/// A file of the program with its top-level names.
class FileScope {
public:
  lang::FileId id;
  std::string name; ///< how importers call it; empty for the main file
  bool isMain = false;
  bool isLibrary = false; ///< of the standard library: messages point at its users
  std::unique_ptr<ast::File> tree;
  Scope scope;
  const ast::TrainDecl *train = nullptr;
  std::vector<const ast::PlanDecl *> plans;
  std::vector<const ast::ClusterDecl *> clusters;

  /// "llama.seq"; plain in the main file.
  std::string qualify(llvm::StringRef member) const;
};

/// A part: an instance of a module with values for its members.
class PartInstance {
public:
  PartId id = 0;
  const ast::ModuleDecl *decl = nullptr;
  FileScope *file = nullptr;
  Scope scope;
};

/// A local name of a function.
struct Local {
  llvm::StringRef name;
  Entity value;
  lang::SourceRange range;
  bool isVar = false;
};

/// Where an expression is evaluated. `part` and `function` are null outside of them.
struct Frame {
  FileScope *file = nullptr;
  PartInstance *part = nullptr;
  const ast::FunctionDecl *function = nullptr;
  PartId partId = 0; ///< the part for paths: that of the caller in a function of a file
  CallId call = 0;
  std::vector<Local> locals;

  Local *findLocal(llvm::StringRef name);
};

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_SCOPE_H
