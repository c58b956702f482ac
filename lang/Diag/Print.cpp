//===- Print.cpp - Prints messages with their source lines ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The line below the source line is built column by column from characters, not
// bytes; tabs are repeated in it, so that carets stand right whatever a tab is.
//===----------------------------------------------------------------------===//
#include "lang/Diag/Diagnostics.h"

#include "llvm/Support/Format.h"

using namespace ptlc::lang;
using llvm::raw_ostream;
using llvm::StringRef;

namespace {

class Printer {
public:
  Printer(raw_ostream &os, const SourceManager &sources, bool color)
      : os(os), sources(sources), color(color) {}

  void print(const Diagnostic &diagnostic) {
    head(diagnostic.severity, diagnostic.range, diagnostic.text);
    snippet(diagnostic.range, diagnostic.highlights);
    for (const Diagnostic &note : diagnostic.notes) {
      bool elsewhere = note.range.isValid();
      head(Severity::Note, elsewhere ? note.range : diagnostic.range, note.text);
      if (elsewhere)
        snippet(note.range, note.highlights);
    }
  }

  void head(Severity severity, SourceRange range, StringRef text) {
    paint("\033[1m");
    if (range.isValid())
      os << sources.name(range.file) << ':' << range.begin.line << ':' << range.begin.column
         << ": ";
    else
      os << "ptlc: ";
    paint(severityColor(severity));
    os << spelling(severity) << ": ";
    paint("\033[0m");
    paint(severity == Severity::Note ? "" : "\033[1m");
    os << text;
    paint("\033[0m");
    os << '\n';
  }

private:
  static StringRef severityColor(Severity severity) {
    switch (severity) {
    case Severity::Error:
      return "\033[31m";
    case Severity::Warning:
      return "\033[35m";
    case Severity::Remark:
      return "\033[34m";
    case Severity::Note:
      return "\033[36m";
    }
    return "";
  }

  void paint(StringRef escape) {
    if (color)
      os << escape;
  }

  /// Returns how many characters of its first line a range spans, at least one.
  static uint32_t widthOnFirstLine(SourceRange range, uint32_t lineWidth) {
    uint32_t end = range.end.line == range.begin.line ? range.end.column : lineWidth + 1;
    return end > range.begin.column ? end - range.begin.column : 1;
  }

  void snippet(SourceRange range, llvm::ArrayRef<SourceRange> highlights) {
    if (!range.isValid())
      return;
    StringRef line = sources.line(range.file, range.begin.line);
    // One entry per character: a tab or a blank.
    std::string marks;
    for (char c : line)
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
        marks += c == '\t' ? '\t' : ' ';
    uint32_t lineWidth = marks.size();
    auto mark = [&](SourceRange part) {
      uint32_t first = part.begin.column - 1;
      uint32_t width = widthOnFirstLine(part, lineWidth);
      if (marks.size() < first + width)
        marks.resize(first + width, ' ');
      for (uint32_t i = first; i < first + width; ++i)
        marks[i] = '~';
    };
    for (SourceRange part : highlights)
      if (part.file == range.file && part.begin.line == range.begin.line)
        mark(part);
    mark(range);
    marks[range.begin.column - 1] = '^';

    std::string number = std::to_string(range.begin.line);
    os << llvm::right_justify(number, 5) << " | ";
    for (char c : line)
      os << (static_cast<unsigned char>(c) < ' ' && c != '\t' ? ' ' : c);
    os << '\n' << std::string(5, ' ') << " | ";
    paint("\033[32m");
    os << StringRef(marks).rtrim();
    paint("\033[0m");
    os << '\n';
  }

  raw_ostream &os;
  const SourceManager &sources;
  bool color;
};

} // namespace

void ptlc::lang::print(raw_ostream &os, const SourceManager &sources,
                       llvm::ArrayRef<Diagnostic> diagnostics, const PrintOptions &options) {
  Printer printer(os, sources, options.color);
  unsigned errors = 0, hidden = 0;
  for (const Diagnostic &diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::Remark && !options.showRemarks)
      continue;
    bool isError = diagnostic.severity == Severity::Error;
    if (options.maxErrors && errors >= options.maxErrors) {
      hidden += isError;
      continue;
    }
    printer.print(diagnostic);
    errors += isError;
  }
  if (hidden)
    printer.head(Severity::Note, SourceRange(),
                 std::to_string(hidden) + (hidden == 1 ? " more error" : " more errors"));
}
