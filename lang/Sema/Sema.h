//===- Sema.h - Semantic analysis of a program ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns a file, with the files that it imports, into a checked
// Program: names, values known at compile time, parts, named dimensions,
// directives. Analysis goes on after an error wherever what follows doesn't
// depend on it, so one run reports many.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_SEMA_H
#define PTLC_LANG_SEMA_SEMA_H

#include "lang/Sema/Program.h"

namespace ptlc::sema {

/// `-D embed=1024`: replaces a value before others use it. The name is "embed", "a.layers" for a
/// value of an imported file, or `batch` and `steps` for those of `train`.
struct Define {
  std::string name;
  std::string value; ///< an int, a float, `true` or `false`
};

struct AnalyzeOptions {
  std::vector<Define> defines;
};

/// Parses and analyzes the program whose main file is `file` of `sources`, loading imports relative
/// to it. Returns nullopt if there were errors; syntax errors end the analysis of their file. A
/// file without a train block is a library, whose names and sizes are checked (Program::trains is
/// false).
std::optional<Program> analyze(lang::SourceManager &sources, lang::FileId file,
                               const AnalyzeOptions &options, lang::DiagnosticEngine &diags);

/// Splits "name=value"; returns nullopt if there is no '=' or no name.
std::optional<Define> parseDefine(llvm::StringRef text);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_SEMA_H
