//===- PassDump.cpp - The IR after every pass, as files -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/PassDump.h"

#include "compiler/Driver/Files.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace ptlc;

std::string ptlc::printModule(mlir::Operation *op, bool locations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(32);
  if (locations)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  op->print(stream, flags);
  stream << "\n";
  return text;
}

bool PassDump::begin(mlir::Operation *module) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder)) {
    llvm::errs() << "ptlc: error: can't make the folder '" << folder << "': " << code.message()
                 << "\n";
    return false;
  }
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file(folder, code), end; file != end && !code;
       file.increment(code)) {
    llvm::StringRef name = llvm::sys::path::filename(file->path());
    if (name.ends_with(".mlir") && name.size() > 3 && llvm::isDigit(name[0]) && name[2] == '-')
      llvm::sys::fs::remove(file->path());
  }
  write(module, "flat");
  return !hasFailed;
}

void PassDump::runAfterPass(mlir::Pass *pass, mlir::Operation *op) {
  write(op, pass->getArgument().empty() ? pass->getName() : pass->getArgument());
}

void PassDump::write(mlir::Operation *op, llvm::StringRef name) {
  std::string text = printModule(op, /*locations=*/true);
  if (text == last)
    return;
  std::string file =
      llvm::formatv("{0}/{1}{2}-{3}.mlir", folder, number < 10 ? "0" : "", number, name).str();
  number++;
  hasFailed |= !writeFile(file, text, /*executable=*/false, llvm::errs());
  last = std::move(text);
}
