//===- TestFiles.h - Programs that tests read ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_UNIT_LANG_TESTFILES_H
#define PTLC_TEST_UNIT_LANG_TESTFILES_H

#include "lang/Diag/Source.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ptlc::test {

/// Returns the .ptl files of a folder below test/lang, sorted.
inline std::vector<std::string> filesIn(llvm::StringRef folder) {
  std::vector<std::string> files;
  std::error_code error;
  std::string path = std::string(PTLC_LANG_TESTS "/") + folder.str();
  for (llvm::sys::fs::directory_iterator it(path, error), end; it != end && !error;
       it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".ptl")
      files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string read(const std::string &path) {
  lang::SourceManager sources;
  std::string error;
  auto id = sources.load(path, error);
  EXPECT_TRUE(id) << path << ": " << error;
  return id ? sources.text(*id).str() : "";
}

} // namespace ptlc::test

#endif // PTLC_TEST_UNIT_LANG_TESTFILES_H
