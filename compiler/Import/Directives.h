//===- Directives.h - What a plan says about single values ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// All `shard` rules that matter for a program in one list: those of the plan, then
// the advice in the model's types. Rules that name a dimension only hold by the
// names of types. The others speak of weights and fields, by their paths, and of
// values, on which the importer puts `spmd.constrain`.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_IMPORT_DIRECTIVES_H
#define PTLC_COMPILER_IMPORT_DIRECTIVES_H

#include "lang/Sema/Program.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace ptlc::import {

/// The rules that speak of one value.
struct Constraint {
  llvm::SmallVector<int64_t, 2> rules; ///< places in Directives::attribute, ascending
  bool held = false;                   ///< one of them names the value itself
};
using Constraints = llvm::DenseMap<sema::ValueId, Constraint>;

class Directives {
public:
  Directives(const sema::Program &program, const sema::PlanSpec &plan)
      : program(program), plan(plan) {
    collect();
  }

  /// Returns the list `shard` of `ptl.plan`; the keys are listed in compiler/doc/Import.md.
  mlir::ArrayAttr attribute(mlir::OpBuilder &builder, const lang::SourceManager &sources) const;

  /// Returns the rules for the parameters and results of `graph`, which belongs to `of`: the
  /// program itself or the same with another batch.
  Constraints constraintsOf(const sema::Program &of, const sema::Graph &graph) const;

private:
  /// One entry of the list.
  struct Entry {
    std::string dim; ///< as written
    sema::DimList dims;
    llvm::SmallVector<unsigned, 2> axes;
    std::string strength; ///< "dimension", "between", "path" or "advice"
    unsigned length = 0;  ///< of the path
    std::string where;    ///< ", in: blocks"
    lang::SourceRange range;
    std::vector<std::string> weights, fields;
  };

  void collect();
  void addRule(const sema::ShardRule &rule);
  void addPath(const sema::ShardRule &rule, const sema::PathRef &path);
  Entry *advised(const sema::Advice &advice);
  void constrain(const sema::Graph &graph, sema::ValueId value, size_t rule, bool held,
                 Constraints &found) const;
  void constrainPart(const sema::Program &of, const sema::Graph &graph, size_t rule,
                     const sema::PathRef &path, Constraints &found) const;
  void constrainStack(const sema::Graph &graph, size_t rule, const sema::StackRef &stack,
                      Constraints &found) const;

  const sema::Program &program;
  const sema::PlanSpec &plan;
  bool isWide = false; ///< some axis has more than one device
  std::vector<Entry> entries;
  llvm::DenseMap<size_t, const sema::PathRef *> paths;
  llvm::DenseMap<size_t, const sema::StackRef *> stacks;
};

} // namespace ptlc::import

#endif // PTLC_COMPILER_IMPORT_DIRECTIVES_H
