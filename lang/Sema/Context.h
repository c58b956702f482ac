//===- Context.h - State shared by the parts of analysis --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the program being made, the scopes and the current graph, and reports
// errors. Modules and functions are expanded many times, so one mistake would
// be found many times: inside an expansion only the first error at a place is
// reported. An error inside the standard library is the fault of its user: it
// is reported at the innermost place of the user's files on the trail, with the
// library's line as a note.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_CONTEXT_H
#define PTLC_LANG_SEMA_CONTEXT_H

#include "lang/Sema/Scope.h"
#include "lang/Sema/Sema.h"

#include <set>

namespace ptlc::sema {

/// An error just reported, or swallowed as a repetition; notes can be attached at once.
class Report {
public:
  Report() = default;
  explicit Report(lang::DiagnosticEngine::Builder builder) : builder(builder) {}

  /// Attaches a note at `range`, or at the error's own place if that isn't valid.
  Report &note(lang::SourceRange range, const llvm::Twine &text);
  /// An expression in error has no meaning.
  operator Entity() const { return Poison{}; }

private:
  std::optional<lang::DiagnosticEngine::Builder> builder;
};

/// A `-D` with its value, and whether something was replaced.
struct ParsedDefine {
  std::string name;
  Entity value;
  bool used = false;
};

class Context {
public:
  Context(lang::SourceManager &sources, const AnalyzeOptions &options,
          lang::DiagnosticEngine &diags);

  lang::SourceManager &sources;
  lang::DiagnosticEngine &diags;
  Program program;
  std::deque<FileScope> files;
  std::deque<PartInstance> instances; ///< instances[i] is part i of the program
  std::vector<ParsedDefine> defines;

  /// Calls and parts being expanded, outermost first.
  std::vector<lang::SourceRange> trail;
  /// Functions being expanded, outermost first.
  std::vector<FunctionEntity> active;
  /// Where operations go. Null outside of functions; then a scratch graph takes them, so that an
  /// expression of tensors still has a type to speak of.
  Graph *graph = nullptr;

  Report error(lang::SourceRange range, const llvm::Twine &text);
  /// "on line 6", "on line 6 of a.ptl" if that is another file than `from`'s.
  std::string lineOf(lang::SourceRange place, lang::SourceRange from) const;
  /// The source text of a node on one line.
  std::string sourceText(const ast::Node &node) const;
  bool isLibrary(lang::FileId file) const;

  /// The value of `-D name`, marked as used, or null.
  const Entity *takeDefine(llvm::StringRef name);

  DimId addDim(llvm::StringRef name, std::string qualified, int64_t size, lang::SourceRange range);
  llvm::StringRef dimName(DimId dim) const { return program.dims[dim].name; }
  int64_t size(DimId dim) const { return program.dims[dim].size; }
  /// Whether 64 bits can count the bytes of some thousand values of this type.
  bool isCountable(const Type &type) const;
  /// "'a', 'b'".
  std::string quoted(llvm::ArrayRef<DimId> dims) const;

  /// The type of a tensor of the current graph.
  const Type &type(ValueId value) const;
  const Type &type(const Tensor &tensor) const { return type(tensor.value); }
  std::string typeName(const Type &type) const { return program.typeName(type); }
  /// "a tensor [batch, seq]", "a number", "a part", for messages.
  std::string describe(const Entity &entity) const;

  /// The size of a dimension as a number, anything else as it is.
  Entity number(const Entity &entity) const;

  ValueId emit(Op op, llvm::ArrayRef<ValueId> operands, Type type, Attrs attrs,
               lang::SourceRange range);
  /// Adds a node with several results.
  llvm::SmallVector<ValueId, 2> emitMany(Op op, llvm::ArrayRef<ValueId> operands,
                                         llvm::ArrayRef<Type> types, Attrs attrs,
                                         lang::SourceRange range);
  /// A number as a scalar of `kind`.
  ValueId emitConstant(const Entity &number, Kind kind, lang::SourceRange range);
  /// Starts a graph whose first values are the weights.
  void beginGraph(Graph &target, llvm::StringRef name);
  void endGraph() { graph = nullptr; }
  /// The call whose function is being expanded.
  CallId currentCall = 0;
  /// Counts one step of expansion. Returns false, and reports it once, when there are so many that
  /// the program can't be meant; then everything is to end quickly.
  bool spend(lang::SourceRange range);
  /// The next number of a random call of `part` in this graph.
  unsigned nextRandom(PartId part);

private:
  Report report(lang::SourceRange range, const llvm::Twine &text);
  Graph &target();

  std::set<std::pair<uint32_t, uint32_t>> reportedPlaces;
  unsigned steps = 0;                ///< of expansion so far
  std::vector<unsigned> randomCalls; ///< by part
  Graph scratch;
};

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_CONTEXT_H
