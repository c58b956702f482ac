//===- Load.cpp - Files, imports and their declarations -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Files are loaded depth first, each once however often it is imported, and
// declare their top-level names. Sizes get their values later, on demand, so
// files may import each other.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Load.h"

#include "lang/Parse/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

namespace ptlc::sema {

void reportRedeclared(Context &ctx, llvm::StringRef name, lang::SourceRange here,
                      lang::SourceRange there, llvm::StringRef hint) {
  Report report = ctx.error(here, "'" + name + "' is already declared" + hint);
  if (there.isValid())
    report.note(there, "declared " + ctx.lineOf(there, here));
}

bool reportIfBatch(Context &ctx, llvm::StringRef name, lang::SourceRange range) {
  if (name != "batch")
    return false;
  ctx.error(range, "'batch' is the dimension of the data; its size is set in 'train'");
  return true;
}

namespace {
class Loader {
public:
  explicit Loader(Context &ctx) : ctx(ctx) {}

  /// Parses a file and what it imports; null after a syntax error.
  FileScope *load(lang::FileId id, llvm::StringRef name, bool isLibrary);
  bool failed() const { return syntaxErrors; }

private:
  void declare(FileScope &file, Symbol symbol);
  void declareItem(FileScope &file, const ast::Decl &item);
  void declareSizes(FileScope &file, const ast::SizesDecl &sizes);
  void declareImport(FileScope &file, const ast::ImportDecl &import);
  FileScope *importFile(FileScope &file, const ast::ImportDecl &import, llvm::StringRef name);
  FileScope *importLibrary(const ast::ImportDecl &import);

  Context &ctx;
  bool syntaxErrors = false;
};
} // namespace

/// `Symbol` of a name whose meaning is known.
static Symbol known(llvm::StringRef name, lang::SourceRange range, Entity value) {
  Symbol symbol;
  symbol.name = name;
  symbol.range = range;
  symbol.value = std::move(value);
  return symbol;
}

FileScope *Loader::load(lang::FileId id, llvm::StringRef name, bool isLibrary) {
  for (FileScope &file : ctx.files)
    if (file.id == id)
      return &file;
  FileScope &file = ctx.files.emplace_back();
  file.id = id;
  file.name = name.str();
  file.isMain = ctx.files.size() == 1;
  file.isLibrary = isLibrary;
  if (isLibrary)
    ctx.program.libraryFiles.push_back(id);
  file.tree = parse::parseFile(ctx.sources, id, ctx.diags);
  if (!file.tree || file.tree->hasSyntaxErrors) {
    syntaxErrors = true;
    return nullptr;
  }
  for (const ast::DeclPtr &item : file.tree->items)
    declareItem(file, *item);
  return &file;
}

void Loader::declare(FileScope &file, Symbol symbol) {
  if (reportIfBatch(ctx, symbol.name, symbol.range))
    return;
  if (const Symbol *other = file.scope.find(symbol.name))
    reportRedeclared(ctx, symbol.name, symbol.range, other->range);
  file.scope.add(std::move(symbol));
}

void Loader::declareItem(FileScope &file, const ast::Decl &item) {
  if (const auto *import = llvm::dyn_cast<ast::ImportDecl>(&item))
    return declareImport(file, *import);
  if (const auto *sizes = llvm::dyn_cast<ast::SizesDecl>(&item))
    return declareSizes(file, *sizes);
  if (const auto *module = llvm::dyn_cast<ast::ModuleDecl>(&item))
    return declare(file, known(module->name.text, module->range, ModuleEntity{module, &file}));
  if (const auto *function = llvm::dyn_cast<ast::FunctionDecl>(&item))
    return declare(file, known(function->name.text, function->range,
                               FunctionEntity{function, &file, nullptr}));
  if (const auto *cluster = llvm::dyn_cast<ast::ClusterDecl>(&item)) {
    file.clusters.push_back(cluster);
    return declare(file, known(cluster->name.text, cluster->range, ClusterEntity{cluster}));
  }
  if (const auto *plan = llvm::dyn_cast<ast::PlanDecl>(&item)) {
    file.plans.push_back(plan);
    return;
  }
  const auto *train = llvm::dyn_cast<ast::TrainDecl>(&item);
  if (!train)
    return;
  if (file.train)
    ctx.error(train->range, "a program has one 'train' block")
        .note(file.train->range, "the other is " + ctx.lineOf(file.train->range, train->range));
  else
    file.train = train;
}

void Loader::declareSizes(FileScope &file, const ast::SizesDecl &sizes) {
  for (const ast::Bind &bind : sizes.binds) {
    Symbol symbol = known(bind.name.text, bind.range, Poison{});
    symbol.state = Symbol::State::Pending;
    symbol.isDim = sizes.isDim;
    symbol.bind = &bind;
    declare(file, std::move(symbol));
  }
}

/// The name by which a file is known without `as`: that of the file, without folder and ending.
static std::optional<llvm::StringRef> importName(Context &ctx, const ast::ImportDecl &import) {
  if (!import.alias.empty())
    return import.alias.text;
  if (!import.file)
    return import.path.last().text;
  llvm::StringRef name = llvm::sys::path::stem(import.file->value);
  bool isName = !name.empty() && !llvm::isDigit(name.front()) &&
                llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (isName)
    return name;
  ctx.error(import.range, "'" + name + "' is not a name; add 'as name'");
  return std::nullopt;
}

void Loader::declareImport(FileScope &file, const ast::ImportDecl &import) {
  std::optional<llvm::StringRef> name = importName(ctx, import);
  if (!name)
    return;
  FileScope *imported = import.file ? importFile(file, import, *name) : importLibrary(import);
  // Names of the main file are what `-D` and qualified dimensions use, whoever loaded first.
  if (imported && file.isMain)
    imported->name = name->str();
  Symbol symbol = known(*name, import.range, imported ? Entity(FileEntity{imported}) : Poison{});
  symbol.isImport = true;
  declare(file, std::move(symbol));
}

FileScope *Loader::importFile(FileScope &file, const ast::ImportDecl &import,
                              llvm::StringRef name) {
  llvm::SmallString<128> path = llvm::sys::path::parent_path(ctx.sources.name(file.id));
  if (llvm::sys::path::is_absolute(import.file->value))
    path.clear();
  llvm::sys::path::append(path, import.file->value);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  std::string reason;
  std::optional<lang::FileId> id = ctx.sources.load(path, reason);
  if (id)
    return load(*id, name, /*isLibrary=*/false);
  ctx.error(import.range, "can't find '" + import.file->value + "'");
  return nullptr;
}

FileScope *Loader::importLibrary(const ast::ImportDecl &import) {
  llvm::StringRef library = import.path.parts.front().text;
  if (library != "std") {
    ctx.error(import.range,
              "unknown library '" + library + "'; a file is imported by its name in quotes");
    return nullptr;
  }
  std::string name = import.path.str().substr(library.size());
  name.erase(0, name.find_first_not_of('.'));
  std::optional<llvm::StringRef> text = standardLibrary(name);
  if (!text) {
    ctx.error(import.range, "the standard library has no '" + name + "'" +
                                lang::didYouMean(name, standardLibraryNames()));
    return nullptr;
  }
  std::string file = "std/" + name + ".ptl";
  for (FileScope &loaded : ctx.files)
    if (loaded.isLibrary && ctx.sources.name(loaded.id) == file)
      return &loaded;
  return load(ctx.sources.add(file, text->str()), name, /*isLibrary=*/true);
}

FileScope *loadProgram(Context &ctx, lang::FileId main) {
  Loader loader(ctx);
  FileScope *file = loader.load(main, "", /*isLibrary=*/false);
  return loader.failed() ? nullptr : file;
}

} // namespace ptlc::sema
