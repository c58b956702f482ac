//===- TrainData.cpp - data and eval --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Token and text files have the fields `tokens` and `targets`; npy files have a
// field for each name.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Train.h"

namespace ptlc::sema {

static constexpr llvm::StringRef kKinds[] = {"tokens", "text", "npy"};

/// The files of `tokens(...)`, `text(...)` or `npy(...)`.
static std::vector<DataFile> readFiles(EntryReader &call, bool named) {
  std::vector<DataFile> files;
  for (const ast::Arg &arg : call.args) {
    if (arg.isPositional() == named) {
      call.ctx.error(arg.range, named ? "a file of 'npy' is named by its field: 'npy(x: \"x.npy\")'"
                                      : "the files of '" + call.name + "' have no names");
      continue;
    }
    std::string field = call.label(arg).str();
    for (const DataFile &other : files)
      if (named && other.field == field)
        call.ctx.error(arg.range, "'" + field + "' is given twice");
    if (std::optional<std::string> file = call.text(arg))
      files.push_back({field, *file, arg.range});
  }
  if (call.args.empty())
    call.ctx.error(call.range, "'" + call.name + "' needs a file");
  return files;
}

std::optional<DataSpec> readData(EntryReader &entry, llvm::ArrayRef<llvm::StringRef> moreLabels) {
  llvm::SmallVector<llvm::StringRef> labels{"shuffle", "tail"};
  labels.append(moreLabels.begin(), moreLabels.end());
  entry.accept(labels, 1);
  const ast::Arg *source = entry.single();
  if (!source)
    return std::nullopt;
  const auto *call = llvm::dyn_cast<ast::CallExpr>(source->value.get());
  const auto *kind = llvm::find(kKinds, headWord(*source->value));
  if (!call || kind == std::end(kKinds)) {
    entry.ctx.error(source->range, "data is tokens(…), text(…) or npy(…)");
    return std::nullopt;
  }
  DataSpec data;
  data.range = entry.range;
  data.kind = static_cast<DataKind>(kind - std::begin(kKinds));
  Frame frame;
  EntryReader files(entry.ctx, frame, *kind, *call);
  data.files = readFiles(files, data.kind == DataKind::Npy);
  if (const ast::Arg *shuffle = entry.named("shuffle"))
    data.shuffle = entry.flag(*shuffle).value_or(false);
  if (const ast::Arg *tail = entry.named("tail")) {
    data.tailGiven = true;
    if (std::optional<unsigned> word = entry.word(*tail, {"drop", "short", "wrap"}))
      data.tail = static_cast<Tail>(*word);
  }
  return data;
}

std::vector<std::string> dataFields(const DataSpec &data) {
  std::vector<std::string> names;
  if (data.files.empty())
    return names;
  if (data.kind != DataKind::Npy)
    return {"targets", "tokens"};
  for (const DataFile &file : data.files)
    names.push_back(file.field);
  llvm::sort(names);
  return names;
}

} // namespace ptlc::sema
