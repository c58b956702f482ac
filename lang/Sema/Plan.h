//===- Plan.h - Checks plans and clusters -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_SEMA_PLAN_H
#define PTLC_LANG_SEMA_PLAN_H

#include "lang/Sema/Entry.h"
#include "lang/Sema/Paths.h"

namespace ptlc::sema {

/// Reads the clusters of the main file and of the files that it imports into Program::clusters.
void checkClusters(Context &ctx, FileScope &main);

/// Reads the plans of the main file into Program::plans.
void checkPlans(Context &ctx, FileScope &main, PartInstance &model);

/// Reports rules of one plan that contradict each other.
void checkConflicts(Context &ctx, const PlanSpec &plan);

/// Reads the entries of one plan.
class PlanReader {
public:
  PlanReader(Context &ctx, FileScope &main, PartInstance &model, PlanSpec &plan);

  void mesh(const ast::PlanDecl &decl);
  void cluster(const ast::PlanDecl &decl);
  void entry(const ast::CallDirective &directive);
  void promise(const ast::AssertDirective &directive);
  /// What needs several entries together.
  void finish();

private:
  // Plan.cpp
  bool once(const ast::CallDirective &directive);
  std::optional<AxisList> axes(const ast::Expr &expr, bool mayBeNone);
  std::vector<PathRef> restriction(EntryReader &reader);
  void microbatches(EntryReader &reader);
  void place(EntryReader &reader);
  void overlap(EntryReader &reader);
  void bucket(EntryReader &reader);
  void reproducible(EntryReader &reader);
  // PlanRules.cpp
  void shard(EntryReader &reader);
  std::optional<DimList> shardedDims(EntryReader &reader, const ast::Arg &arg);
  bool checkHasDim(const PathRef &path, const DimList &dims, llvm::StringRef name);
  void zero(EntryReader &reader);
  void precision(EntryReader &reader);
  void remat(EntryReader &reader);
  void pipeline(EntryReader &reader);
  void pipelineSchedule(EntryReader &reader, PipelineRule &rule);

  Context &ctx;
  FileScope &main;
  PartInstance &model;
  PlanSpec &plan;
  Frame frame; ///< of the main file
  PathResolver paths;
  std::vector<const ast::CallDirective *> seen;
};

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_PLAN_H
