//===- Train.h - The train block and the functions that it runs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_SEMA_TRAIN_H
#define PTLC_LANG_SEMA_TRAIN_H

#include "lang/Sema/Entry.h"

#include "llvm/ADT/MapVector.h"

namespace ptlc::sema {

/// The entries of `train`, and of a plan, for messages about one in the wrong place.
llvm::ArrayRef<llvm::StringRef> trainEntries();
llvm::ArrayRef<llvm::StringRef> planEntries();

/// Expands the model's `loss`, whose parameters are the data's fields, and `logits`.
class FunctionExpander {
public:
  FunctionExpander(Context &ctx, PartInstance &model);
  void expandLoss();
  void expandLogits();

private:
  bool checkField(const ast::Param &param, const DeclaredType &type);
  Arguments fieldArguments(const ast::FunctionDecl &loss, Graph &graph);

  Context &ctx;
  PartInstance &model;
  Frame frame;                     ///< of the model, where the types of parameters are resolved
  std::vector<std::string> fields; ///< of the data; empty when these are in error
};

/// Reads a train block in the order in which the rest of analysis needs it: the batch before any
/// size that depends on it, the model before the paths.
class TrainAnalyzer {
public:
  TrainAnalyzer(Context &ctx, FileScope &main);

  /// Sorts the entries, reads `data`, and gives `batch` its size.
  void begin();
  /// Makes the parts of the model; null after an error.
  PartInstance *buildModel();
  /// Checks all other entries. `model` may be null: then paths aren't looked at.
  void finish(PartInstance *model);

private:
  using Entries = llvm::MapVector<llvm::StringRef, std::vector<const ast::CallDirective *>>;

  const ast::CallDirective *entry(llvm::StringRef name) const;
  void sortEntries();
  void requireEntries();
  std::optional<int64_t> sizeEntry(llvm::StringRef name, lang::SourceRange &place);
  void clipAndSeed();
  void evals();
  void checkEvalFields(const EvalSpec &eval);
  void checkpoint();
  void inits(PartInstance &model);

  Context &ctx;
  FileScope &main;
  const ast::TrainDecl &decl;
  Frame frame;
  Entries entries;
};

/// The names of the data's fields, sorted; none if the data are in error.
std::vector<std::string> dataFields(const DataSpec &data);

// Families of entries. `model` may be null.
std::optional<DataSpec> readData(EntryReader &entry, llvm::ArrayRef<llvm::StringRef> moreLabels);
std::vector<OptimizerSpec> readOptimizers(EntryReader &entry, PartInstance *model);
ScheduleSpec readSchedule(EntryReader &entry, int64_t steps);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_TRAIN_H
