//===- Parts.h - Instances of modules ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_SEMA_PARTS_H
#define PTLC_LANG_SEMA_PARTS_H

#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

/// Makes the parts of the program, with their weights, in order of declaration.
class PartBuilder {
public:
  explicit PartBuilder(Context &ctx) : ctx(ctx) {}

  /// Makes the model: part 0. `site` is where it is named.
  PartInstance *buildModel(const ModuleEntity &model, lang::SourceRange site);

private:
  PartInstance *build(const ModuleEntity &module, const Arguments &args, Evaluator &caller,
                      Part record, lang::SourceRange site);
  void declareSizesAndFunctions(PartInstance &part);
  void buildMembers(PartInstance &part, Frame &frame);
  void buildWeight(PartInstance &part, Frame &frame, const ast::WeightDecl &decl);
  void buildPart(PartInstance &part, Frame &frame, const ast::PartDecl &decl);
  PartInstance *buildOne(PartInstance &owner, Frame &frame, const ast::PartDecl &decl,
                         const ast::CallExpr &call, std::string path);

  Context &ctx;
  std::vector<const ast::ModuleDecl *> active; ///< modules being built, outermost first
};

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_PARTS_H
