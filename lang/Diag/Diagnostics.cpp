//===- Diagnostics.cpp - Collects messages --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Messages are kept in the order of reporting and sorted once, at the end. The
// sort is stable, so two messages at one place keep their order.
//===----------------------------------------------------------------------===//
#include "lang/Diag/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace ptlc::lang;

llvm::StringRef ptlc::lang::spelling(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  case Severity::Note:
    return "note";
  }
  return "";
}

DiagnosticEngine::Builder &DiagnosticEngine::Builder::note(SourceRange range,
                                                           const llvm::Twine &text) {
  Diagnostic note;
  note.severity = Severity::Note;
  note.range = range;
  note.text = text.str();
  engine.diagnostics[index].notes.push_back(std::move(note));
  return *this;
}

DiagnosticEngine::Builder &DiagnosticEngine::Builder::highlight(SourceRange range) {
  engine.diagnostics[index].highlights.push_back(range);
  return *this;
}

DiagnosticEngine::Builder DiagnosticEngine::report(Severity severity, SourceRange range,
                                                   const llvm::Twine &text) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.range = range;
  diagnostic.text = text.str();
  diagnostics.push_back(std::move(diagnostic));
  errors += severity == Severity::Error;
  return Builder(*this, diagnostics.size() - 1);
}

void DiagnosticEngine::truncate(size_t count) {
  while (diagnostics.size() > count) {
    errors -= diagnostics.back().severity == Severity::Error;
    diagnostics.pop_back();
  }
}

/// Files in the order of their loading, places in the order of the text; what
/// has no place (file index at its greatest) comes last.
static auto place(const Diagnostic &diagnostic) {
  return std::make_tuple(diagnostic.range.file.index, diagnostic.range.begin.offset);
}

std::vector<Diagnostic> DiagnosticEngine::sorted() const {
  std::vector<const Diagnostic *> order;
  for (const Diagnostic &diagnostic : diagnostics)
    order.push_back(&diagnostic);
  // Addresses grow in the order of reporting.
  llvm::sort(order, [](const Diagnostic *a, const Diagnostic *b) {
    return std::make_tuple(place(*a), a) < std::make_tuple(place(*b), b);
  });
  // The same words at the same place say nothing new: a module is checked once per use.
  std::vector<Diagnostic> unique;
  size_t placeStart = 0;
  for (const Diagnostic *diagnostic : order) {
    if (!unique.empty() && place(unique.back()) != place(*diagnostic))
      placeStart = unique.size();
    bool seen = llvm::any_of(llvm::drop_begin(unique, placeStart), [&](const Diagnostic &other) {
      return other.severity == diagnostic->severity && other.text == diagnostic->text;
    });
    if (!seen)
      unique.push_back(*diagnostic);
  }
  return unique;
}
