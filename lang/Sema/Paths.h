//===- Paths.h - blocks.attn.wq, blocks[0..6] -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_SEMA_PATHS_H
#define PTLC_LANG_SEMA_PATHS_H

#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

/// Resolves paths of `train` and `plan`, which start at the model.
class PathResolver {
public:
  /// `frame` is where numbers in brackets are evaluated.
  PathResolver(Context &ctx, Frame &frame, PartInstance &model)
      : ctx(ctx), frame(frame), model(model) {}

  /// A path, or a list of paths in parentheses. Those in error are left out.
  std::vector<PathRef> resolveAll(const ast::Expr &expr);
  std::optional<PathRef> resolve(const ast::Expr &expr);
  /// A path that must be a stack or a range of one.
  std::optional<StackRef> resolveStack(const ast::Expr &expr);

private:
  struct Step;
  bool flatten(const ast::Expr &expr, std::vector<Step> &steps);
  bool stepName(const Step &step, std::vector<Entity> &nodes, PathRef &result,
                const std::string &before, lang::SourceRange range);
  bool stepIndex(const Step &step, std::vector<Entity> &nodes, const std::string &before,
                 lang::SourceRange range);
  bool walk(const ast::Expr &expr, std::vector<Entity> &nodes, PathRef &result);
  bool unknown(PartInstance &part, const Step &step, const std::string &before,
               lang::SourceRange range);

  Context &ctx;
  Frame &frame;
  PartInstance &model;
};

/// The weights in these parts and in all parts inside them, ascending.
llvm::SmallVector<uint32_t, 4> weightsInside(const Program &program, llvm::ArrayRef<PartId> parts);

/// Whether `part` is one of `parts` or inside of one.
bool isInside(const Program &program, PartId part, llvm::ArrayRef<PartId> parts);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_PATHS_H
