//===- RunCache.cpp - ptlc run ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The cache is keyed by everything that shapes the executable: the compiler and
// the runtime (their files' times and sizes), the options, and the text of the
// main file and of all files that it imports.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Compiler.h"
#include "compiler/Driver/Frontend.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace ptlc;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Adds a file's identity to the hash.
static void addFile(llvm::SHA256 &hash, llvm::StringRef file) {
  fs::file_status status;
  if (fs::status(file, status))
    return;
  hash.update(file);
  hash.update(std::to_string(status.getSize()) + " " +
              std::to_string(status.getLastModificationTime().time_since_epoch().count()));
}

static std::string cacheKey(const CompileOptions &options, const lang::SourceManager &sources) {
  static int anchor;
  std::string self = fs::getMainExecutable("ptlc", &anchor);
  llvm::SmallString<256> library(path::parent_path(path::parent_path(self)));
  path::append(library, "lib", "libptlrt.a");
  llvm::SHA256 hash;
  addFile(hash, self);
  addFile(hash, library);
  std::string text = options.plan + "\n" + options.targetCpu + "\n" + options.linker + "\n" +
                     std::to_string(options.optimization) + (options.noCheck ? "\nno check" : "");
  for (const sema::MeshOverride &mesh : options.mesh)
    text += "\nmesh " + mesh.axis + "=" + std::to_string(mesh.size);
  for (const sema::Define &define : options.defines)
    text += "\ndefine " + define.name + "=" + define.value;
  hash.update(text);
  for (uint32_t index = 0; index < sources.size(); index++) {
    hash.update(sources.name(lang::FileId{index}));
    hash.update(sources.text(lang::FileId{index}));
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 32);
}

int ptlc::runProgram(const CompileOptions &options, const std::vector<std::string> &arguments) {
  Frontend frontend(options);
  if (!frontend.analyze() || frontend.diagnostics.hasErrors()) {
    frontend.finish(llvm::errs());
    return kFailure;
  }
  llvm::SmallString<256> folder;
  if (!path::cache_directory(folder))
    folder = "/tmp";
  path::append(folder, "ptlc", cacheKey(options, frontend.sources));
  CompileOptions compile = options;
  compile.output = (folder + "/" + path::stem(options.input)).str();
  if (!fs::can_execute(compile.output)) {
    if (std::error_code code = fs::create_directories(folder)) {
      llvm::errs() << "ptlc: error: can't make the folder '" << folder << "': " << code.message()
                   << "\n";
      return kFailure;
    }
    if (int status = runCompile(compile))
      return status;
  }
  std::vector<char *> words = {const_cast<char *>(compile.output.c_str())};
  for (const std::string &argument : arguments)
    words.push_back(const_cast<char *>(argument.c_str()));
  words.push_back(nullptr);
  llvm::outs().flush();
  execv(words[0], words.data());
  llvm::errs() << "ptlc: error: can't run '" << compile.output << "'\n";
  return kFailure;
}
