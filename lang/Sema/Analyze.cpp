//===- Analyze.cpp - The order of semantic analysis -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Names first, without types; then the batch, the parts, the functions, and
// last what speaks of them: the rest of `train`, plans and clusters. Every step
// runs whatever the others found; values in error are poison and stay silent.
//===----------------------------------------------------------------------===//
#include "lang/Sema/BatchLinearity.h"
#include "lang/Sema/Load.h"
#include "lang/Sema/NameCheck.h"
#include "lang/Sema/Plan.h"
#include "lang/Sema/Train.h"

namespace ptlc::sema {

std::optional<Define> parseDefine(llvm::StringRef text) {
  auto [name, value] = text.split('=');
  name = name.trim();
  value = value.trim();
  if (name.empty() || value.empty() || text.find('=') == llvm::StringRef::npos)
    return std::nullopt;
  return Define{name.str(), value.str()};
}

/// Evaluates the sizes and assertions of a file, for their errors.
static void checkFile(Context &ctx, FileScope &file) {
  for (Symbol &symbol : file.scope.symbols())
    force(ctx, symbol, file, nullptr);
  Frame frame;
  frame.file = &file;
  for (const ast::DeclPtr &item : file.tree->items)
    if (const auto *check = llvm::dyn_cast<ast::AssertDecl>(item.get()))
      Evaluator(ctx, frame).checkAssertion(*check->condition, check->message.get(), check->range);
}

/// A main file without `train` is a library, unless it has something to train.
static void checkLibrary(Context &ctx, const FileScope &main) {
  for (const ast::DeclPtr &item : main.tree->items) {
    const auto *module = llvm::dyn_cast<ast::ModuleDecl>(item.get());
    if (module && module->isModel) {
      llvm::StringRef name = module->name.text;
      ctx.error(module->range, "nothing trains model '" + name + "': add 'train " + name +
                                   " { … }' or import this file");
      return;
    }
  }
  for (const ast::PlanDecl *plan : main.plans)
    ctx.error(plan->range, "plan '" + plan->name.text + "' needs a 'train' block in this file");
}

/// Names of imported files have their module's in front, which is easily left out.
static std::string suggestDefine(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates) {
  for (llvm::StringRef candidate : candidates)
    if (candidate.rsplit('.').second == name)
      return "; did you mean '" + candidate.str() + "'?";
  return lang::didYouMean(name, candidates);
}

/// Reports `-D` that replaced nothing.
static void checkDefines(Context &ctx, const FileScope &main) {
  llvm::SmallVector<std::string> known{"batch", "steps"};
  for (const FileScope &file : ctx.files)
    for (const Symbol &symbol : file.scope.symbols())
      if (symbol.bind && !file.isLibrary)
        known.push_back(file.qualify(symbol.name));
  llvm::SmallVector<llvm::StringRef> candidates(known.begin(), known.end());
  for (const ParsedDefine &define : ctx.defines)
    if (!define.used && !(main.train == nullptr && llvm::is_contained(candidates, define.name)))
      ctx.error({}, "-D " + define.name + ": the program has no 'dim' or 'const' of that name" +
                        suggestDefine(define.name, candidates));
}

static void analyzeProgram(Context &ctx, FileScope &main) {
  TrainAnalyzer train(ctx, main);
  train.begin();
  PartInstance *model = train.buildModel();
  if (model) {
    FunctionExpander functions(ctx, *model);
    functions.expandLoss();
    functions.expandLogits();
  }
  for (FileScope &file : ctx.files)
    checkFile(ctx, file);
  train.finish(model);
  checkShortTail(ctx.program, ctx.diags);
  checkClusters(ctx, main);
  if (model)
    checkPlans(ctx, main, *model);
  ctx.program.trains = true;
}

std::optional<Program> analyze(lang::SourceManager &sources, lang::FileId file,
                               const AnalyzeOptions &options, lang::DiagnosticEngine &diags) {
  size_t before = diags.errorCount();
  Context ctx(sources, options, diags);
  FileScope *main = loadProgram(ctx, file);
  if (!main)
    return std::nullopt;
  for (const FileScope &loaded : ctx.files)
    checkNames(ctx, loaded);
  if (main->train) {
    analyzeProgram(ctx, *main);
  } else {
    for (FileScope &loaded : ctx.files)
      checkFile(ctx, loaded);
    checkClusters(ctx, *main);
    checkLibrary(ctx, *main);
  }
  checkDefines(ctx, *main);
  if (diags.errorCount() != before)
    return std::nullopt;
  return std::move(ctx.program);
}

} // namespace ptlc::sema
