//===- Messages.cpp - The compiler's messages in the language's manner ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Messages.h"

#include "compiler/Support/Location.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Process.h"

using namespace ptlc;
using namespace mlir;

static lang::Severity toSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return lang::Severity::Error;
  case DiagnosticSeverity::Warning:
    return lang::Severity::Warning;
  case DiagnosticSeverity::Remark:
    return lang::Severity::Remark;
  case DiagnosticSeverity::Note:
    return lang::Severity::Note;
  }
  return lang::Severity::Error;
}

/// Returns the range of one character at the location's place, or none.
static lang::SourceRange toRange(Location location, const lang::SourceManager &sources) {
  FileLineColLoc place = userPlace(location);
  if (!place)
    return {};
  for (uint32_t index = 0; index < sources.size(); index++) {
    lang::FileId file{index};
    if (sources.name(file) != place.getFilename().getValue())
      continue;
    lang::SourcePos position;
    llvm::StringRef text = sources.line(file, place.getLine());
    position.line = place.getLine();
    position.column = place.getColumn();
    position.offset = text.data() - sources.text(file).data() + place.getColumn() - 1;
    return {file, position, position};
  }
  return {};
}

static lang::Diagnostic convert(Diagnostic &from, const lang::SourceManager &sources) {
  lang::Diagnostic to;
  to.severity = toSeverity(from.getSeverity());
  to.range = toRange(from.getLocation(), sources);
  to.text = from.str();
  llvm::StringRef part = partOf(from.getLocation());
  for (Diagnostic &note : from.getNotes())
    if (note.getSeverity() == DiagnosticSeverity::Note)
      to.notes.push_back(convert(note, sources));
  if (!part.empty() && to.severity == lang::Severity::Error)
    to.notes.push_back({lang::Severity::Note, to.range, "in part '" + part.str() + "'", {}, {}});
  return to;
}

MessageHandler::MessageHandler(MLIRContext &context, const lang::SourceManager &sources,
                               llvm::raw_ostream &os)
    : ScopedDiagnosticHandler(&context) {
  setHandler([&sources, &os](Diagnostic &diagnostic) {
    lang::PrintOptions print;
    print.color = llvm::sys::Process::StandardErrHasColors();
    lang::print(os, sources, {convert(diagnostic, sources)}, print);
    return success();
  });
}

Location ptlc::placeAt(MLIRContext *context, StringRef text) {
  auto [rest, column] = text.rsplit(':');
  auto [file, line] = rest.rsplit(':');
  unsigned lineNumber = 0, columnNumber = 0;
  if (line.getAsInteger(10, lineNumber) || column.getAsInteger(10, columnNumber))
    return UnknownLoc::get(context);
  return FileLineColLoc::get(context, file, lineNumber, columnNumber);
}
