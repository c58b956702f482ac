//===- Verify.cpp - Messages against the comments that expect them --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tests say in a comment what the front end must say about a line. Messages and
// notes are one flat list here: each must be taken by one expectation, and each
// expectation must take as many as it asks for.
//===----------------------------------------------------------------------===//
#include "lang/Diag/Diagnostics.h"

#include "llvm/ADT/StringExtras.h"

using namespace ptlc::lang;
using llvm::raw_ostream;
using llvm::StringRef;

namespace {

struct Expectation {
  Severity severity = Severity::Error;
  FileId file; // not valid: a message without a place
  uint32_t line = 0;
  std::string text;
  unsigned count = 1;
  FileId writtenIn;
  uint32_t writtenOn = 0;
};

struct Seen {
  Severity severity;
  SourceRange range;
  StringRef text;
  bool taken = false;
};

/// Reads the expectations of all files.
class ExpectationReader {
public:
  ExpectationReader(raw_ostream &os, const SourceManager &sources) : os(os), sources(sources) {}

  bool ok = true;
  std::vector<Expectation> expectations;

  void readFile(FileId file) {
    StringRef rest = sources.text(file);
    for (uint32_t line = 1; !rest.empty(); ++line) {
      auto [text, after] = rest.split('\n');
      rest = after;
      size_t comment = text.find("//");
      if (comment != StringRef::npos)
        readLine(file, line, text.substr(comment));
    }
  }

private:
  void readLine(FileId file, uint32_t line, StringRef text) {
    for (size_t at; (at = text.find("expected-")) != StringRef::npos;) {
      text = text.substr(at + strlen("expected-"));
      Expectation expectation;
      expectation.file = expectation.writtenIn = file;
      expectation.line = expectation.writtenOn = line;
      if (!takeSeverity(text, expectation.severity))
        continue; // ordinary prose
      if (!takeRest(text, expectation)) {
        os << sources.name(file) << ':' << line
           << ": error: can't read this expectation; write 'expected-error@+1 {{text}}'\n";
        ok = false;
        return;
      }
      expectations.push_back(std::move(expectation));
    }
  }

  static bool takeSeverity(StringRef &text, Severity &severity) {
    for (Severity each : {Severity::Error, Severity::Warning, Severity::Remark, Severity::Note})
      if (text.consume_front(spelling(each))) {
        severity = each;
        return true;
      }
    return false;
  }

  /// Reads `@+1 2 {{text}}`.
  static bool takeRest(StringRef &text, Expectation &expectation) {
    if (text.consume_front("@")) {
      bool below = text.consume_front("+"), above = !below && text.consume_front("-");
      uint32_t number = 0;
      if (text.consume_front("unknown"))
        expectation.file = FileId();
      else if (text.consumeInteger(10, number))
        return false;
      else
        expectation.line = below   ? expectation.line + number
                           : above ? expectation.line - number
                                   : number;
    }
    text = text.ltrim();
    if (!text.starts_with("{{") && text.consumeInteger(10, expectation.count))
      return false;
    text = text.ltrim();
    size_t end = text.find("}}");
    if (!text.consume_front("{{") || end == StringRef::npos)
      return false;
    expectation.text = text.take_front(end - 2).str();
    text = text.substr(end);
    return true;
  }

  raw_ostream &os;
  const SourceManager &sources;
};

} // namespace

static std::vector<Seen> flatten(llvm::ArrayRef<Diagnostic> diagnostics) {
  std::vector<Seen> seen;
  for (const Diagnostic &diagnostic : diagnostics) {
    seen.push_back({diagnostic.severity, diagnostic.range, diagnostic.text});
    for (const Diagnostic &note : diagnostic.notes)
      seen.push_back(
          {note.severity, note.range.isValid() ? note.range : diagnostic.range, note.text});
  }
  return seen;
}

static bool matches(const Expectation &expectation, const Seen &seen) {
  if (seen.taken || seen.severity != expectation.severity)
    return false;
  bool placed = seen.range.isValid();
  if (placed != expectation.file.isValid())
    return false;
  if (placed && (seen.range.file != expectation.file || seen.range.begin.line != expectation.line))
    return false;
  return seen.text.contains(expectation.text);
}

bool ptlc::lang::verifyDiagnostics(raw_ostream &os, const SourceManager &sources,
                                   llvm::ArrayRef<Diagnostic> diagnostics) {
  ExpectationReader reader(os, sources);
  for (uint32_t i = 0; i < sources.size(); ++i)
    reader.readFile(FileId{i});
  std::vector<Seen> seen = flatten(diagnostics);
  bool ok = reader.ok;
  for (const Expectation &expectation : reader.expectations) {
    unsigned found = 0;
    for (Seen &each : seen)
      if (found < expectation.count && matches(expectation, each)) {
        each.taken = true;
        ++found;
      }
    if (found == expectation.count)
      continue;
    ok = false;
    os << sources.name(expectation.writtenIn) << ':' << expectation.writtenOn
       << ": error: expected " << spelling(expectation.severity) << " '" << expectation.text
       << "' on line " << expectation.line << " was not reported\n";
  }
  for (const Seen &each : seen) {
    if (each.taken)
      continue;
    ok = false;
    if (each.range.isValid())
      os << sources.name(each.range.file) << ':' << each.range.begin.line << ':'
         << each.range.begin.column << ": ";
    os << "error: unexpected " << spelling(each.severity) << ": " << each.text << '\n';
  }
  return ok;
}
