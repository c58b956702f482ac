//===- ProgramsTest.cpp - Whole programs ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/lang/Sema/Analyzed.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace ptlc;
using namespace ptlc::test;

namespace {

TEST(Programs, AllAnalyzeWithoutAMessage) {
  std::vector<std::string> files = filesIn("Parse/Inputs/programs");
  EXPECT_GE(files.size(), 25u);
  for (const std::string &path : files) {
    auto analyzed = Analyzed::file(path);
    EXPECT_EQ(analyzed->messages(), "") << path;
    EXPECT_TRUE(analyzed->program) << path;
  }
}

// The first line of each file says what must be reported, notes behind '|', several behind '//'.
TEST(Programs, EveryBrokenProgramSaysWhatIsWrong) {
  std::vector<std::string> files = filesIn("Sema/Inputs/broken");
  EXPECT_GE(files.size(), 73u);
  for (const std::string &path : files) {
    std::string text = read(path);
    llvm::StringRef expected = llvm::StringRef(text).split('\n').first;
    ASSERT_TRUE(expected.consume_front("// expect: ")) << path;
    llvm::SmallVector<llvm::StringRef> lines;
    expected.split(lines, "  //  ");
    auto analyzed = Analyzed::file(path);
    EXPECT_EQ(analyzed->messages(), llvm::join(lines, "\n")) << path;
    EXPECT_FALSE(analyzed->program) << path;
  }
}

} // namespace
