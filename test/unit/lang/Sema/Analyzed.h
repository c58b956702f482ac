//===- Analyzed.h - Programs with their messages ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_UNIT_LANG_SEMA_ANALYZED_H
#define PTLC_TEST_UNIT_LANG_SEMA_ANALYZED_H

#include "lang/Sema/Sema.h"
#include "test/unit/lang/TestFiles.h"

namespace ptlc::test {

/// A program, analyzed: from a text, or from a file below test/lang.
struct Analyzed {
  lang::SourceManager sources;
  lang::DiagnosticEngine diagnostics{sources};
  std::optional<sema::Program> program;

  static std::unique_ptr<Analyzed> text(std::string text, std::vector<std::string> defines = {}) {
    auto result = std::make_unique<Analyzed>();
    result->analyze(result->sources.add("a.ptl", std::move(text)), defines);
    return result;
  }
  static std::unique_ptr<Analyzed> file(const std::string &path,
                                        std::vector<std::string> defines = {}) {
    auto result = std::make_unique<Analyzed>();
    std::string error;
    auto id = result->sources.load(path, error);
    EXPECT_TRUE(id) << path << ": " << error;
    if (id)
      result->analyze(*id, defines);
    return result;
  }

  void analyze(lang::FileId file, const std::vector<std::string> &defines) {
    sema::AnalyzeOptions options;
    for (const std::string &define : defines)
      options.defines.push_back(*sema::parseDefine(define));
    program = sema::analyze(sources, file, options, diagnostics);
  }

  /// "line:column: error: text | note: text", one a line; messages without a place begin at the
  /// word.
  std::string messages() const {
    std::string result;
    for (const lang::Diagnostic &diagnostic : diagnostics.sorted()) {
      if (!result.empty())
        result += "\n";
      if (diagnostic.range.isValid())
        result += std::to_string(diagnostic.range.begin.line) + ":" +
                  std::to_string(diagnostic.range.begin.column) + ": ";
      result += lang::spelling(diagnostic.severity).str() + ": " + diagnostic.text;
      for (const lang::Diagnostic &note : diagnostic.notes)
        result += " | note: " + note.text;
    }
    return result;
  }
};

/// A program of one model whose `loss(x: [batch, a], y: [batch, b])` has these statements.
inline std::string withLoss(const std::string &statements, const std::string &more = "",
                            const std::string &plan = "") {
  return "import std.nn\ndim a = 4, b = 6, c = 2, a2 = a\n" + more +
         "model M {\n  weight w: [a, b] = normal(0.1)\n  weight u: [a, a2] = normal(0.1)\n"
         "  fn loss(x: [batch, a], y: [batch, b], n: int[batch]) {\n" +
         statements +
         "\n  }\n}\ntrain M { data npy(x: \"x\", y: \"y\", n: \"n\"); batch 8; steps 2; "
         "optimizer sgd(lr: 0.1) }\n" +
         plan;
}

/// The messages for the statements of such a loss.
inline std::string inLoss(const std::string &statements, const std::string &more = "",
                          const std::string &plan = "") {
  return Analyzed::text(withLoss(statements, more, plan))->messages();
}

} // namespace ptlc::test

#endif // PTLC_TEST_UNIT_LANG_SEMA_ANALYZED_H
