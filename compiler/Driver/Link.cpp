//===- Link.cpp - An object and the runtime become a program --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The linker is called through a C++ compiler, which knows where the C library
// and its start files lie. `ptlrt.link`, written by the runtime's build, lists
// what else the runtime needs, an argument per line.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Link.h"

#include "compiler/Driver/Files.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace ptlc;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Returns the folder of the runtime library: `../lib` beside the compiler's own folder.
static std::string runtimeFolder() {
  static int anchor;
  std::string self = fs::getMainExecutable("ptlc", &anchor);
  llvm::SmallString<256> folder(path::parent_path(path::parent_path(self)));
  path::append(folder, "lib");
  return folder.str().str();
}

/// Returns the program that links, or "" after a message.
static std::string findLinker(const std::string &wanted, llvm::raw_ostream &errors) {
  if (!wanted.empty()) {
    if (auto found = llvm::sys::findProgramByName(wanted))
      return *found;
    errors << "ptlc: error: can't find the linker '" << wanted << "'\n";
    return "";
  }
  for (const char *name : {"clang++-22", "c++", "g++", "clang++"})
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  errors << "ptlc: error: no C++ compiler to link with; install the package 'clang-22' or 'g++'\n";
  return "";
}

/// Runs the linker and returns what it printed on failure.
static std::optional<std::string> run(llvm::ArrayRef<llvm::StringRef> arguments) {
  llvm::SmallString<128> log;
  if (fs::createTemporaryFile("ptlc-link", "log", log))
    return "can't make a temporary file";
  llvm::FileRemover remover(log);
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), log.str(), log.str()};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(arguments[0], arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  if (status == 0)
    return std::nullopt;
  if (auto text = llvm::MemoryBuffer::getFile(log))
    message += (*text)->getBuffer();
  return message.empty() ? "exit status " + std::to_string(status) : message;
}

bool ptlc::linkExecutable(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef output,
                          const CompileOptions &options, llvm::raw_ostream &errors) {
  std::string linker = findLinker(options.linker, errors);
  if (linker.empty())
    return false;
  std::string folder = runtimeFolder(), library = folder + "/libptlrt.a";
  auto extra = llvm::MemoryBuffer::getFile(folder + "/ptlrt.link");
  if (!fs::exists(library) || !extra) {
    errors << "ptlc: error: the runtime library is missing: '" << library
           << "'; build the target 'ptlrt'\n";
    return false;
  }
  llvm::SmallString<256> temporary;
  // Beside its place, so that it can be renamed.
  bool renamed = isPlainOutput(output) && !fs::is_symlink_file(output);
  if (renamed)
    fs::createUniquePath(output + "-%%%%%%.tmp", temporary, /*MakeAbsolute=*/false);
  else
    fs::createTemporaryFile("ptlc", "", temporary);
  std::vector<llvm::StringRef> arguments = {linker};
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  arguments.insert(arguments.end(), {library, "-o", temporary.str()});
  if (llvm::sys::findProgramByName("ld.lld") || llvm::sys::findProgramByName("ld.lld-22"))
    if (path::filename(linker).contains("clang"))
      arguments.push_back("-fuse-ld=lld");
  llvm::SmallVector<llvm::StringRef> lines;
  (*extra)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  arguments.insert(arguments.end(), lines.begin(), lines.end());
  // Where the program finds what it loads by itself: the library for MPI.
  std::string searched = "-Wl,-rpath,$ORIGIN:" + folder;
  arguments.push_back(searched);
  if (std::optional<std::string> message = run(arguments)) {
    fs::remove(temporary);
    errors << "ptlc: error: linking failed: " << llvm::StringRef(*message).rtrim() << "\n";
    return false;
  }
  if (!renamed) {
    auto linked = llvm::MemoryBuffer::getFile(temporary);
    fs::remove(temporary);
    return linked && writeFile(output, (*linked)->getBuffer(), /*executable=*/true, errors);
  }
  if (std::error_code code = fs::rename(temporary, output)) {
    fs::remove(temporary);
    errors << "ptlc: error: can't write '" << output << "': " << code.message() << "\n";
    return false;
  }
  return true;
}
