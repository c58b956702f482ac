//===- DiagnosticsTest.cpp - Messages, printing, verification -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Diag/Diagnostics.h"

#include "gtest/gtest.h"

using namespace ptlc::lang;

namespace {

class DiagnosticsTest : public testing::Test {
protected:
  FileId add(llvm::StringRef text) { return sources.add("a.ptl", text.str()); }

  std::string printed(const PrintOptions &options = {}) {
    std::string text;
    llvm::raw_string_ostream os(text);
    print(os, sources, engine.sorted(), options);
    return text;
  }

  bool verified(std::string *output = nullptr) {
    std::string text;
    llvm::raw_string_ostream os(text);
    bool ok = verifyDiagnostics(os, sources, engine.sorted());
    if (output)
      *output = text;
    return ok;
  }

  SourceManager sources;
  DiagnosticEngine engine{sources};
};

TEST_F(DiagnosticsTest, PositionsCountCharactersFromOne) {
  FileId file = add("a\nαβγ = 1\n");
  SourcePos equals = sources.position(file, 2 + 6 + 1);
  EXPECT_EQ(equals.line, 2u);
  EXPECT_EQ(equals.column, 5u);
  EXPECT_EQ(sources.position(file, 1000).line, 3u);
  EXPECT_EQ(sources.line(file, 2), "αβγ = 1");
}

TEST_F(DiagnosticsTest, PrintsTheLineWithACaret) {
  FileId file = add("dim a = 4\n\tlet β = a + b // c\n");
  uint32_t at = sources.text(file).find("a + b");
  engine.error(sources.range(file, at, at + 5), "wrong").note(sources.range(file, 4, 5), "here");
  EXPECT_EQ(printed(), "a.ptl:2:10: error: wrong\n"
                       "    2 | \tlet β = a + b // c\n"
                       "      | \t        ^~~~~\n"
                       "a.ptl:1:5: note: here\n"
                       "    1 | dim a = 4\n"
                       "      |     ^\n");
}

TEST_F(DiagnosticsTest, ARangeOfSeveralLinesIsUnderlinedOnItsFirst) {
  FileId file = add("ab(\n  c)\n");
  engine.warning(sources.range(file, 1, 8), "long");
  EXPECT_EQ(printed(), "a.ptl:1:2: warning: long\n    1 | ab(\n      |  ^~\n");
}

TEST_F(DiagnosticsTest, SortsAndDropsRepetitions) {
  FileId file = add("abc\ndef\n");
  engine.error(sources.range(file, 4, 5), "second");
  engine.error(SourceRange(), "nowhere");
  engine.error(sources.range(file, 0, 1), "first");
  engine.error(sources.range(file, 4, 5), "second");
  std::vector<Diagnostic> sorted = engine.sorted();
  ASSERT_EQ(sorted.size(), 3u);
  EXPECT_EQ(sorted[0].text, "first");
  EXPECT_EQ(sorted[1].text, "second");
  EXPECT_EQ(sorted[2].text, "nowhere");
  EXPECT_EQ(engine.errorCount(), 4u);
}

TEST_F(DiagnosticsTest, StopsAfterSoManyErrors) {
  FileId file = add("abc\n");
  for (uint32_t i = 0; i < 3; ++i)
    engine.error(sources.range(file, i, i + 1), "e");
  PrintOptions options;
  options.maxErrors = 1;
  EXPECT_NE(printed(options).find("ptlc: note: 2 more errors"), std::string::npos);
}

TEST_F(DiagnosticsTest, ColoursOnlyWhenAsked) {
  FileId file = add("abc\n");
  engine.error(sources.range(file, 0, 1), "e");
  EXPECT_EQ(printed().find('\033'), std::string::npos);
  PrintOptions options;
  options.color = true;
  EXPECT_NE(printed(options).find('\033'), std::string::npos);
}

TEST_F(DiagnosticsTest, NearestForgivesSlipsOnly) {
  EXPECT_EQ(nearest("embd", {"ffn", "embed"}), "embed");
  EXPECT_EQ(nearest("w11", {"w2", "w1"}), "w1");
  EXPECT_EQ(nearest("glu", {"relu", "gelu"}), "gelu");
  EXPECT_EQ(nearest("MPL", {"MLP"}), "MLP"); // a swap is one slip
  EXPECT_EQ(nearest("memroy", {"time", "memory"}), "memory");
  EXPECT_EQ(nearest("epsilon", {"over", "eps"}), "eps");
  EXPECT_EQ(nearest("ddp", {"dp", "tp"}), "dp");
  EXPECT_EQ(nearest("N", {"M"}), ""); // one letter is no evidence
  EXPECT_EQ(nearest("w1", {"w2"}), "");
  EXPECT_EQ(nearest("big", {"cluster", "dp"}), "");
  EXPECT_EQ(didYouMean("stops", {"batch", "steps"}), "; did you mean 'steps'?");
  EXPECT_EQ(didYouMean("zzz", {"batch"}), "");
}

TEST_F(DiagnosticsTest, VerifyAcceptsWhatIsExpected) {
  FileId file = add("// expected-error@+1 {{unknown name}}\nlet x = y\n"
                    "dim a // expected-warning {{odd}} expected-note@1 {{there}}\n");
  engine.error(sources.range(file, 46, 47), "unknown name 'y'");
  engine.warning(sources.range(file, 48, 49), "this is odd")
      .note(sources.range(file, 0, 1), "there");
  std::string output;
  EXPECT_TRUE(verified(&output)) << output;
}

TEST_F(DiagnosticsTest, VerifyRefusesTheRest) {
  FileId file = add("let x = y // expected-error {{something else}}\n");
  engine.error(sources.range(file, 8, 9), "unknown name 'y'");
  std::string output;
  EXPECT_FALSE(verified(&output));
  EXPECT_NE(output.find("expected error 'something else' on line 1 was not reported"),
            std::string::npos);
  EXPECT_NE(output.find("unexpected error: unknown name 'y'"), std::string::npos);
}

TEST_F(DiagnosticsTest, VerifyCountsAndReadsPlaceless) {
  add("// expected-error@unknown 2 {{no file}}\n");
  engine.error(SourceRange(), "no file a");
  EXPECT_FALSE(verified());
  engine.error(SourceRange(), "no file b");
  EXPECT_TRUE(verified());
}

TEST_F(DiagnosticsTest, VerifyRefusesAnExpectationItCannotRead) {
  add("// expected-error {unknown}\n");
  EXPECT_FALSE(verified());
}

} // namespace
