//===- ParserTest.cpp - From text to the tree -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Parse/Parser.h"

#include "test/unit/lang/TestFiles.h"

#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace ptlc;

namespace {

struct Parsed {
  lang::SourceManager sources;
  lang::DiagnosticEngine diagnostics{sources};
  std::unique_ptr<ast::File> file;

  explicit Parsed(std::string text) {
    file = parse::parseFile(sources, sources.add("a.ptl", std::move(text)), diagnostics);
  }

  /// Returns "line:column: severity: text", one a line.
  std::string messages() const {
    std::string result;
    for (const lang::Diagnostic &diagnostic : diagnostics.sorted()) {
      if (!result.empty())
        result += "\n";
      result += std::to_string(diagnostic.range.begin.line) + ":" +
                std::to_string(diagnostic.range.begin.column) + ": " +
                lang::spelling(diagnostic.severity).str() + ": " + diagnostic.text;
      for (const lang::Diagnostic &note : diagnostic.notes)
        result += " | note: " + note.text;
    }
    return result;
  }
};

/// Returns the messages for the statements of a function.
std::string inFunction(const std::string &statements) {
  return Parsed("fn f(h) {\n" + statements + "\n}\n").messages();
}

/// Returns the tree of `dim x = TEXT`.
std::string tree(const std::string &text) {
  Parsed parsed("dim x = " + text);
  EXPECT_EQ(parsed.messages(), "");
  std::string result = ast::dump(*parsed.file);
  llvm::StringRef dump = result;
  dump.consume_front("dim (x = ");
  dump.consume_back(")\n");
  return dump.str();
}

TEST(Parser, EveryProgramParses) {
  std::vector<std::string> files = test::filesIn("Parse/Inputs/programs");
  EXPECT_GE(files.size(), 25u);
  for (const std::string &path : files) {
    Parsed parsed(test::read(path));
    EXPECT_EQ(parsed.messages(), "") << path;
    EXPECT_FALSE(parsed.file->hasSyntaxErrors);
    EXPECT_FALSE(parsed.file->items.empty());
  }
}

// The first line of each file says what must be reported, notes behind '|', several behind '//'.
TEST(Parser, EveryBrokenProgramSaysWhatIsWrong) {
  std::vector<std::string> files = test::filesIn("Parse/Inputs/broken");
  EXPECT_GE(files.size(), 25u);
  for (const std::string &path : files) {
    std::string text = test::read(path);
    llvm::StringRef expected = llvm::StringRef(text).split('\n').first;
    ASSERT_TRUE(expected.consume_front("// expect: ")) << path;
    llvm::SmallVector<llvm::StringRef> lines;
    expected.split(lines, "  //  ");
    Parsed parsed(text);
    EXPECT_EQ(parsed.messages(), llvm::join(lines, "\n")) << path;
    EXPECT_TRUE(parsed.file->hasSyntaxErrors);
  }
}

TEST(Parser, PrecedenceFromTightToLoose) {
  EXPECT_EQ(tree("-a.b * c"), "(* (neg (. a b)) c)");
  EXPECT_EQ(tree("a + b * c - d"), "(- (+ a (* b c)) d)");
  EXPECT_EQ(tree("x @ a @ b"), "(@ (@ x a) b)");
  EXPECT_EQ(tree("0..n - 1"), "(.. 0 (- n 1))");
  EXPECT_EQ(tree("not a < b and c or d"), "(or (and (not (< a b)) c) d)");
  EXPECT_EQ(tree("(a, b,)"), "(group a b)");
  EXPECT_EQ(tree("f(x, over: (a, b), c -> d)[d: i].0.w"),
            "(. (. (index (call f x over: (group a b) (-> c d)) d: i) 0) w)");
}

TEST(Parser, IndicesInARowAreNotANumber) { EXPECT_EQ(tree("p.0.1.w"), "(. (. (. p 0) 1) w)"); }

TEST(Parser, NumbersAndStringsKeepTheirText) {
  EXPECT_EQ(tree("1_000 + 6e-4 + 1.50"), "(+ (+ 1_000 6e-4) 1.50)");
  EXPECT_EQ(tree(R"("a\\b\"\n\tü")"), R"("a\\b\"\n\t\303\274")");
}

TEST(Parser, NumbersBeginAndEndWithDigits) {
  EXPECT_EQ(Parsed("dim a = .5\n").messages(),
            "1:9: error: a number begins with a digit; write '0.5'");
  EXPECT_EQ(Parsed("dim a = f(5.)\n").messages(),
            "1:11: error: a number ends with a digit; write '5.0'");
  EXPECT_EQ(Parsed("dim a = 0 .5\n").messages(),
            "1:11: error: a number has no parts; a fraction is written without blanks");
}

TEST(Parser, AnErrorInAHeadCostsItsBlockOnly) {
  EXPECT_EQ(Parsed("plan p on (dp = 2) {\n  shard batch: dp\n  zero 1\n}\ndim a = +\n").messages(),
            "1:11: error: expected 'mesh' before '('\n"
            "5:9: error: expected an expression after '=', found '+'");
  EXPECT_EQ(Parsed("Block {\n  ln = f(x)\n  weight w: [a] = ones\n}\ndim a = 1\n").messages(),
            "1:1: error: expected a declaration, found 'Block'");
}

TEST(Parser, WordsOfHeadersAreNames) {
  EXPECT_EQ(tree("on + of * mesh - as"), "(- (+ on (* of mesh)) as)");
}

TEST(Parser, ALineGoesOnWhereItMust) {
  const char *text = "dim a = 1,\n  b =\n  2\nconst c = (1 +\n\n 2\n) // c\n * 3\nmodel M\n{\n}\n";
  Parsed parsed(text);
  EXPECT_EQ(parsed.messages(), "");
  EXPECT_EQ(ast::dump(*parsed.file),
            "dim (a = 1) (b = 2)\nconst (c = (* (group (+ 1 2)) 3))\nmodel M\n");
}

TEST(Parser, SemicolonsSeparate) {
  Parsed parsed("train M { batch 4; steps 1;; clip 1.0; }\n;dim a = 1; dim b = 2\n");
  EXPECT_EQ(parsed.messages(), "");
  EXPECT_EQ(ast::dump(*parsed.file),
            "train M\n  batch 4\n  steps 1\n  clip 1.0\ndim (a = 1)\ndim (b = 2)\n");
}

TEST(Parser, MeasuresOnlyInDirectives) {
  Parsed parsed(
      "cluster c { intra 900 GB/s }\nplan p on mesh() { bucket 25 MB; assert memory <= 10 GB; "
      "assert traffic(tp) < 2 * n }\n");
  EXPECT_EQ(parsed.messages(), "");
  EXPECT_EQ(ast::dump(*parsed.file),
            "cluster c\n  intra (measure 900 GB per s)\nplan p\n  bucket (measure 25 MB)\n"
            "  promise memory <= (measure 10 GB)\n  promise traffic tp < (* 2 n)\n");
  EXPECT_EQ(Parsed("dim a = f(2 GB)\n").messages(), "1:13: error: expected ',' or ')' before 'GB'");
}

TEST(Parser, DocCommentsReachTheirDeclaration) {
  Parsed parsed("/// one\n///  two\ndim a = 1,\n    /// of b\n    b = 2\n\n/// lost\n\nmodule M {\n"
                "  /// w's\n  weight w: [] = ones\n}\n");
  ASSERT_EQ(parsed.file->items.size(), 2u);
  auto &sizes = llvm::cast<ast::SizesDecl>(*parsed.file->items[0]);
  EXPECT_EQ(sizes.doc, "one\n two");
  EXPECT_EQ(sizes.binds[1].doc, "of b");
  auto &module = llvm::cast<ast::ModuleDecl>(*parsed.file->items[1]);
  EXPECT_EQ(module.doc, "");
  EXPECT_EQ(module.members[0]->doc, "w's");
  Parsed shared("/// of a\ndim a = 1; dim b = 2\n");
  EXPECT_EQ(shared.file->items[0]->range.begin.column, 1u);
  EXPECT_EQ(llvm::cast<ast::SizesDecl>(*shared.file->items[0]).doc, "of a");
  EXPECT_EQ(llvm::cast<ast::SizesDecl>(*shared.file->items[1]).doc, "");
}

TEST(Parser, RangesPointIntoTheText) {
  Parsed parsed("// é\ndim a = f(bé, c)\n");
  EXPECT_EQ(parsed.messages(), "2:12: error: 'é' can't stand here");
  Parsed good("// é\nfn f(x: [.., d @ (p, q)]) = x * y // é\n");
  auto &function = llvm::cast<ast::FunctionDecl>(*good.file->items[0]);
  auto &type = llvm::cast<ast::TensorType>(*function.params[0].type);
  EXPECT_EQ(good.sources.text(type.dims[0].advice.range), "@ (p, q)");
  EXPECT_EQ(good.sources.text(function.value->range), "x * y");
  EXPECT_EQ(good.sources.text(llvm::cast<ast::BinaryExpr>(*function.value).opRange), "*");
  EXPECT_EQ(good.sources.text(function.range), "fn f(x: [.., d @ (p, q)]) = x * y");
  EXPECT_EQ(function.value->range.begin.column, 29u);
}

TEST(Parser, AByteOrderMarkIsSkipped) {
  Parsed parsed("\xEF\xBB\xBF"
                "dim a = \"é\" $\n");
  EXPECT_EQ(parsed.diagnostics.size(), 1u);
  EXPECT_EQ(parsed.sources.text(parsed.diagnostics.sorted()[0].range), "$");
}

TEST(Parser, OneErrorALineAndTheRestIsUnderstood) {
  Parsed parsed("dim a = + + )\nmodule M {\n  weight w [a] = ones\n  weight v: [a] = ones\n}\n"
                "dim b = 2\n");
  EXPECT_EQ(parsed.messages(), "1:9: error: expected an expression after '=', found '+'\n"
                               "3:12: error: expected ':' and a type before '['");
  EXPECT_EQ(ast::dump(*parsed.file), "module M\n  weight v: [a] = ones\ndim (b = 2)\n");
}

TEST(Parser, AForgottenBracketCostsOneMessage) {
  EXPECT_EQ(inFunction("  let a = f(h[d: 1, 2\n  let b = (a\n  return b"),
            "2:12: error: '(' is never closed\n3:11: error: '(' is never closed");
  EXPECT_EQ(
      Parsed("module A {\n  fn f(x) {\n    return x\n}\nmodule B {\n}\n").messages(),
      "1:10: error: '{' is never closed | note: by its indentation, this one may lack its '}'");
  EXPECT_EQ(Parsed("dim a = (1,\nmodule B {\n}\n").messages(), "1:9: error: '(' is never closed");
}

TEST(Parser, AMissingOperandEndsAtItsLine) {
  EXPECT_EQ(inFunction("  let a = h +\n  return a"),
            "2:14: error: expected an expression after '+', found the end of the line");
}

TEST(Parser, ForeignWordsAndCharacters) {
  EXPECT_EQ(inFunction("  let a = h if c else b\n  return a").substr(0, 36),
            "2:13: error: there is no 'if': a pro");
  EXPECT_EQ(inFunction("  return h && h"), "2:12: error: '&' is not an operator; write 'and'");
  EXPECT_EQ(inFunction("  return !h"), "2:10: error: '!' is not an operator; write 'not'");
  EXPECT_EQ(inFunction("  # a remark\n  return h"), "2:3: error: a comment begins with '//'");
  EXPECT_EQ(inFunction("  h -= 1\n  return h"),
            "2:5: error: '-=' is not an operator; write 'h = h - ...'");
  EXPECT_EQ(inFunction("  h + 1\n  return h"),
            "2:5: error: an expression alone does nothing; 'return' it, or name it with 'let'");
  EXPECT_EQ(Parsed("class A {\n}\n").messages(),
            "1:1: error: a part of a model begins with 'module'");
  EXPECT_EQ(Parsed("dim a = \"x\\q\"\n").messages().substr(0, 41),
            "1:9: error: unknown escape in a string; t");
}

TEST(Parser, TypesHoldNamesOnly) {
  EXPECT_EQ(Parsed("module M {\n  weight w: [2, a] = ones\n}\n").messages(),
            "2:14: error: a type lists names of dimensions, not numbers; declare 'dim name = 2'");
  EXPECT_EQ(
      Parsed("module M {\n  weight w: [a + 1] = ones\n}\n").messages(),
      "2:16: error: a type lists names of dimensions; declare 'dim name = ...' for a size that "
      "is computed");
  EXPECT_EQ(Parsed("module M {\n  weight w: [a, ..] = ones\n}\n").messages(),
            "2:17: error: '..' stands first in a type");
  EXPECT_EQ(Parsed("module M {\n  weight w: [a b] = ones\n}\n").messages(),
            "2:16: error: expected ',' or ']' before 'b'");
  EXPECT_EQ(Parsed("module M {\n  weight w: = ones\n}\n").messages(),
            "2:13: error: expected a type after ':', found '='");
}

TEST(Parser, KeywordsAreNamed) {
  EXPECT_EQ(Parsed("dim model = 3\n").messages(),
            "1:5: error: expected a name after 'dim'; 'model' is a keyword");
  EXPECT_EQ(inFunction("  return h + model"),
            "2:14: error: expected an expression after '+'; 'model' is a keyword");
}

TEST(Parser, DirectivesEndAtTheirLine) {
  EXPECT_EQ(Parsed("plan p on mesh(dp = 2) { zero 1 over: dp }\n").messages(),
            "1:33: error: expected ',' before 'over'");
  EXPECT_EQ(Parsed("plan p on mesh(dp = 2) { assert memory 10 GB }\n").messages(),
            "1:40: error: expected '<=' or another comparison before '10'");
  EXPECT_EQ(Parsed("plan p on mesh(dp) { }\n").messages(), "1:18: error: expected '=' before ')'");
}

TEST(Parser, RefusesBytesThatAreNoText) {
  EXPECT_EQ(Parsed("dim a = 1\ndim \xFF = 2\n").messages(),
            "2:5: error: a program is a text in UTF-8; the byte 0xFF can't stand here");
  EXPECT_EQ(Parsed(std::string("dim a = 1\0\n", 11)).messages(),
            "1:10: error: a program is a text in UTF-8; the byte 0x0 can't stand here");
  EXPECT_EQ(Parsed("dim a = \xC3").messages().substr(0, 9), "1:9: erro");
}

TEST(Parser, EmptyFilesAreFine) {
  for (const char *text : {"", "\n", "// only a comment", ";;\n"}) {
    Parsed parsed(text);
    EXPECT_EQ(parsed.messages(), "") << text;
    EXPECT_TRUE(parsed.file->items.empty());
  }
}

TEST(Parser, DeepNestingIsRefused) {
  auto repeat = [](const std::string &text, unsigned n) {
    std::string result;
    for (unsigned i = 0; i < n; ++i)
      result += text;
    return result;
  };
  EXPECT_EQ(Parsed("dim a = " + repeat("(", 200) + "1" + repeat(")", 200)).messages(), "");
  EXPECT_EQ(Parsed("dim a = 1" + repeat(" + 1", 400)).messages(), "");
  EXPECT_EQ(Parsed("dim a = " + repeat("(", 100000)).messages(),
            "1:265: error: brackets and signs are nested more than 256 levels deep");
  EXPECT_EQ(Parsed("dim a = " + repeat("-", 100000) + "1").messages(),
            "1:265: error: brackets and signs are nested more than 256 levels deep");
  EXPECT_EQ(Parsed("dim a = " + repeat("not ", 100000) + "1").messages().substr(0, 30),
            "1:1033: error: brackets and si");
  EXPECT_EQ(
      Parsed("dim a = 1" + repeat(" + 1", 20000)).messages(),
      "1:9: error: this expression is nested more than 500 levels deep; name parts of it with "
      "'let'");
  EXPECT_EQ(Parsed("fn f(x) {" + repeat("for i in 0..2 {\n", 5000)).messages().substr(0, 40),
            "256:15: error: brackets and signs are ne");
}

} // namespace
