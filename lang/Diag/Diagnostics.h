//===- Diagnostics.h - Messages for people ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The engine collects what the front end has to say and prints it in clang's
// manner, sorted by file and position, so that parts of the front end may work
// in any order. Texts are lower case, without a period, say what was found and
// what was expected, and put names in '...'.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_DIAG_DIAGNOSTICS_H
#define PTLC_LANG_DIAG_DIAGNOSTICS_H

#include "lang/Diag/Source.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace ptlc::lang {

enum class Severity { Error, Warning, Remark, Note };

/// Returns "error", "warning", "remark" or "note".
llvm::StringRef spelling(Severity severity);

/// One message with the notes that belong to it. A range that isn't valid
/// speaks of the whole program ("ptlc: error: ...").
struct Diagnostic {
  Severity severity = Severity::Error;
  SourceRange range;
  std::string text;
  std::vector<Diagnostic> notes;
  /// Underlined besides `range`, on the same line.
  std::vector<SourceRange> highlights;
};

/// Collects messages of a run.
class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceManager &sources) : sources(sources) {}

  /// Hands out the message just reported, so that notes can be attached. Use it at once.
  class Builder {
  public:
    /// Attaches a note at another place; without a place it prints at the message's own.
    Builder &note(SourceRange range, const llvm::Twine &text);
    Builder &note(const llvm::Twine &text) { return note(SourceRange(), text); }
    /// Underlines one more range on the line of the message.
    Builder &highlight(SourceRange range);

  private:
    friend class DiagnosticEngine;
    Builder(DiagnosticEngine &engine, size_t index) : engine(engine), index(index) {}
    DiagnosticEngine &engine;
    size_t index;
  };

  Builder report(Severity severity, SourceRange range, const llvm::Twine &text);
  Builder error(SourceRange range, const llvm::Twine &text) {
    return report(Severity::Error, range, text);
  }
  Builder warning(SourceRange range, const llvm::Twine &text) {
    return report(Severity::Warning, range, text);
  }
  Builder remark(SourceRange range, const llvm::Twine &text) {
    return report(Severity::Remark, range, text);
  }

  bool hasErrors() const { return errors != 0; }
  size_t errorCount() const { return errors; }
  size_t size() const { return diagnostics.size(); }
  const SourceManager &sourceManager() const { return sources; }

  /// Returns the messages sorted by file and position; equal ones (same place, same text) once.
  std::vector<Diagnostic> sorted() const;

  /// Drops what was reported after the first `count` messages.
  void truncate(size_t count);

private:
  const SourceManager &sources;
  std::vector<Diagnostic> diagnostics;
  size_t errors = 0;
};

/// How messages are printed.
struct PrintOptions {
  bool color = false;      ///< ANSI colours; set it only for a terminal
  bool showRemarks = true; ///< print remarks, too
  unsigned maxErrors = 0;  ///< stop after so many errors; 0 prints all
};

/// Prints messages in clang's manner:
///   file:line:col: error: text
///   source line
///       ^~~~~
/// and their notes below, indented in the same way.
void print(llvm::raw_ostream &os, const SourceManager &sources,
           llvm::ArrayRef<Diagnostic> diagnostics, const PrintOptions &options = {});

/// Returns the candidate nearest to `name` by edit distance, or an empty text
/// when none is near enough to be a slip of the pen (at most a third of its
/// letters; the first candidate wins a tie, so the order should be that of the text).
llvm::StringRef nearest(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// Returns "; did you mean 'x'?" for the nearest candidate, or an empty text.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// Compares the messages with the comments of the files that ask for them:
///   // expected-error@+1 {{part of the text}}     (also -warning -remark -note)
/// `@+n`, `@-n` count lines from the comment's, `@n` is a line; `2` before `{{`
/// asks for two of them. Text between `{{` and `}}` must occur in the message.
/// Prints what was expected but not seen and the reverse, and returns whether
/// all agree.
bool verifyDiagnostics(llvm::raw_ostream &os, const SourceManager &sources,
                       llvm::ArrayRef<Diagnostic> diagnostics);

} // namespace ptlc::lang

#endif // PTLC_LANG_DIAG_DIAGNOSTICS_H
