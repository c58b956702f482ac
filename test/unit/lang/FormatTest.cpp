//===- FormatTest.cpp - The one canonical style ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Format/Format.h"

#include "lang/Format/Doc.h"
#include "lang/Parse/Parser.h"
#include "test/unit/lang/TestFiles.h"

#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace ptlc;

namespace {

struct Formatted {
  std::string text;
  std::string tree;
  std::vector<std::string> comments;
  bool ok = false;

  explicit Formatted(std::string source) {
    lang::SourceManager sources;
    lang::DiagnosticEngine diagnostics(sources);
    auto file = parse::parseFile(sources, sources.add("a.ptl", std::move(source)), diagnostics);
    ok = !diagnostics.hasErrors();
    if (!ok)
      lang::print(llvm::errs(), sources, diagnostics.sorted());
    text = format::formatFile(*file, sources);
    tree = ast::dump(*file);
    for (const ast::Comment &comment : file->comments)
      comments.push_back(comment.text.str());
  }
};

/// Formats, and checks what must hold for every program.
std::string checked(const std::string &source) {
  Formatted once(source);
  EXPECT_TRUE(once.ok) << source;
  Formatted twice(once.text);
  EXPECT_TRUE(twice.ok) << once.text;
  EXPECT_EQ(once.text, twice.text) << "not idempotent";
  EXPECT_EQ(once.tree, twice.tree) << "another program";
  // Two comments in odd places may end up on one line, which makes them one.
  EXPECT_EQ(llvm::join(once.comments, " "), llvm::join(twice.comments, " "));
  return once.text;
}

TEST(Format, KeepsEveryProgram) {
  for (const std::string &path : test::filesIn("Parse/Inputs/programs")) {
    SCOPED_TRACE(path);
    std::string text = checked(test::read(path));
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text).split(lines, '\n');
    for (llvm::StringRef line : lines) {
      EXPECT_EQ(line, line.rtrim()) << "blanks at the end";
      EXPECT_LE(format::characters(line.substr(0, line.find("//")).rtrim()), 100u) << line.str();
    }
  }
}

// Each file of Format/Inputs is in the canonical style already.
TEST(Format, LeavesGoodStyleAlone) {
  std::vector<std::string> files = test::filesIn("Format/Inputs");
  EXPECT_GE(files.size(), 1u);
  for (const std::string &path : files) {
    SCOPED_TRACE(path);
    std::string text = test::read(path);
    EXPECT_EQ(checked(text), text);
  }
}

TEST(Format, BlanksAndOperators) {
  EXPECT_EQ(checked("dim  a=4 ,b= 2*a\nconst c=(a+b)/ -3,d=not(a==b)and true,e=f (x,over :(a,b),"
                    "c->d) [ d:i ].0 . w\n"),
            "dim a = 4, b = 2 * a\n"
            "const c = (a + b) / -3, d = not (a == b) and true, "
            "e = f(x, over: (a, b), c -> d)[d: i].0.w\n");
}

TEST(Format, DirectivesStandInColumns) {
  EXPECT_EQ(checked("train M {\n data tokens(\"a\")\nbatch 4; steps 1 // few\n\n\n"
                    " optimizer sgd(lr:0.1)\n}\nplan p on mesh(dp=2){shard batch:dp}\n"
                    "plan q on mesh(dp=2){\nshard batch:dp;assert traffic(dp)<=2 GB\n}"),
            "train M {\n"
            "  data      tokens(\"a\")\n"
            "  batch     4\n"
            "  steps     1  // few\n"
            "\n"
            "  optimizer sgd(lr: 0.1)\n"
            "}\n\n"
            "plan p on mesh(dp = 2) { shard batch: dp }\n\n"
            "plan q on mesh(dp = 2) {\n"
            "  shard  batch: dp\n"
            "  assert traffic(dp) <= 2 GB\n"
            "}\n");
}

TEST(Format, LongListsBreakAtTheirItems) {
  std::string name(23, 'n');
  EXPECT_EQ(
      checked("fn f(x) { let a = call(" + name + ", over: " + name + ", with: " + name + ") }"),
      "fn f(x) {\n"
      "  let a =\n"
      "      call(" +
          name + ", over: " + name + ", with: " + name +
          ")\n"
          "}\n");
  EXPECT_EQ(checked("fn f(x) {\n let a = call(" + name + ", over: " + name + ", with: " + name +
                    name + ") }"),
            "fn f(x) {\n"
            "  let a = call(\n"
            "    " +
                name + ",\n    over: " + name + ",\n    with: " + name + name +
                ",\n"
                "  )\n"
                "}\n");
  name += name.substr(0, 9);
  EXPECT_EQ(checked("dim a" + name + " = 1, b" + name + " = 2, c" + name + " = 3"),
            "dim a" + name + " = 1, b" + name + " = 2,\n    c" + name + " = 3\n");
}

TEST(Format, LongSumsBreakBeforeOperators) {
  std::string name(27, 'n');
  EXPECT_EQ(checked("fn f(x) {\n return " + name + "+" + name + "*2 -" + name + "\n}"),
            "fn f(x) {\n  return " + name + " + " + name + " * 2 - " + name + "\n}\n");
  EXPECT_EQ(checked("fn f(x) {\n return " + name + "+" + name + "*2 -" + name + name + "\n}"),
            "fn f(x) {\n  return " + name + "\n      + " + name + " * 2\n      - " + name + name +
                "\n}\n");
}

TEST(Format, CommentsStayWithTheirText) {
  const char *text = "// head\n"
                     "\n"
                     "/// doc\n"
                     "dim a = 1,  // one\n"
                     "    // below\n"
                     "    b = 2  // two\n"
                     "\n"
                     "module M(  // open\n"
                     "  a: dim,  // first\n"
                     "  // alone\n"
                     "  b: int,  // second\n"
                     "  // last\n"
                     ") {  // brace\n"
                     "  // inside\n"
                     "  fn f(x) {\n"
                     "    let y = x  // x\n"
                     "        // why\n"
                     "        + 1\n"
                     "    // before return\n"
                     "\n"
                     "    return y  // y\n"
                     "    // after\n"
                     "  }\n"
                     "}  // end of M\n"
                     "\n"
                     "// end\n";
  EXPECT_EQ(checked(text), text);
}

TEST(Format, CommentsInOddPlacesSurvive) {
  checked("fn f( // 1\n x // 2\n , // 3\n) // 4\n -> // 5\n [ // 6\n a // 7\n ] // 8\n { // 9\n"
          " let y // 11\n = // 12\n // 13\n x . // 14\n w[ // 16\n d // 17\n : // 18"
          "\n i // 19\n ] // 20\n * // 21\n ( // 22\n - // 23\n z // 24\n ) // 25\n // 26\n"
          " return y // 27\n // 28\n } // 29\n");
  checked("import std.nn // 1\n// 2\ndim a // 4\n = // 5\n // 6\n 1 // 7\n , // 8\n // 9\n b = 2"
          "\nplan p on mesh( // 13\n // 14\n dp = 2 // 15\n ) // 16\n { // 19\n shard a // 20\n"
          ": // 21\n // 22\n dp, // 23\n // 24\n b: dp // 25\n}\n");
}

TEST(Format, BlankLinesBetweenBlocks) {
  EXPECT_EQ(
      checked("dim a = 1\n\n\n\ndim b = 2\nmodule A {\n\n  const c = 1\n\n\n  const d = 2\n\n}\n"
              "// of B\nmodule B {}\n// of C\n\nmodule C {\nconst e = 1\n}\ndim f = 1\n"),
      "dim a = 1\n\ndim b = 2\n\nmodule A {\n  const c = 1\n\n  const d = 2\n}\n\n"
      "// of B\nmodule B {}\n// of C\n\nmodule C {\n  const e = 1\n}\n\ndim f = 1\n");
}

TEST(Format, EmptyFiles) {
  EXPECT_EQ(checked(""), "");
  EXPECT_EQ(checked("\n\n// a \n\n\n// b"), "// a\n\n// b\n");
}

} // namespace
