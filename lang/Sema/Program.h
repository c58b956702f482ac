//===- Program.h - The result of semantic analysis ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A program that type-checks: its dimensions, parts and weights, the expanded
// `loss` (and `logits`), the train block and the plans. This is all that the
// importer reads; it never looks at the AST.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_PROGRAM_H
#define PTLC_LANG_SEMA_PROGRAM_H

#include "lang/Sema/Graph.h"
#include "lang/Sema/PlanSpec.h"
#include "lang/Sema/TrainSpec.h"

namespace ptlc::sema {

/// An instance of a module. Part 0 is the model, with the empty path.
struct Part {
  std::string path;   ///< "blocks.0.attn"
  std::string module; ///< "Attention"
  PartId parent = kNone;
  bool frozen = false;
  lang::SourceRange range; ///< the line that declares it
};
/// `blocks = repeat(n) Block()`.
struct PartStack {
  std::string path; ///< "blocks"
  std::vector<PartId> parts;
  lang::SourceRange range;
};

enum class InitKind : uint8_t { Zeros, Ones, Constant, Normal, TruncNormal, Uniform };
/// a: constant, standard deviation or lower bound; b: upper bound.
struct InitialValue {
  InitKind kind = InitKind::Zeros;
  double a = 0, b = 0;
};

struct Weight {
  std::string
      path;  ///< "blocks.0.attn.wq", also the name in files and the place of its random stream
  Type type; ///< float, in declared order: the order in files
  InitialValue init;
  bool frozen = false;
  PartId part = 0;
  std::vector<Advice> advice;
  lang::SourceRange range;
};

struct Program {
  std::vector<Dim> dims; ///< dims[kBatchDim] is `batch`
  std::vector<Part> parts;
  std::vector<PartStack> stacks;
  std::vector<Weight> weights; ///< in order of declaration, depth first
  /// False for a library: a file without model and train. Then only `dims` may be filled.
  bool trains = false;
  Graph loss;                  ///< parameters: the data's fields; one scalar result
  std::optional<Graph> logits; ///< if the model has `fn logits(tokens)`; one tensor result
  TrainSpec train;
  std::vector<PlanSpec> plans;
  std::vector<ClusterSpec> clusters;

  std::vector<lang::FileId> libraryFiles; ///< files of the standard library

  /// Where the user wrote what became `node`: its own place, or, if that is in the standard
  /// library, the innermost call from a file of the user.
  lang::SourceRange userPlace(const Graph &graph, const Node &node) const;
  int64_t size(DimId dim) const { return dims[dim].size; }
  llvm::SmallVector<int64_t, 4> shape(const Type &type) const;
  int64_t elements(const Type &type) const;
  /// "[batch, seq]", "int[batch]", as messages write types.
  std::string typeName(const Type &type) const;
};

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_PROGRAM_H
