//===- PassDump.cpp - The IR after every pass, as files -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/PassDump.h"

#include "compiler/Driver/Files.h"
#include "compiler/Pipelines/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"
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

bool PassDump::begin(mlir::Operation *asWritten, mlir::Operation *module) {
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
  write(asWritten, "model", Phase::Model, "");
  write(module, "flat", Phase::Flat, "");
  return !hasFailed;
}

namespace {
struct Forwarding : mlir::PassInstrumentation {
  explicit Forwarding(PassDump &dump) : dump(dump) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override { dump.after(pass, op); }
  PassDump &dump;
};
} // namespace

std::unique_ptr<mlir::PassInstrumentation> PassDump::instrumentation() {
  return std::make_unique<Forwarding>(*this);
}

void PassDump::after(mlir::Pass *pass, mlir::Operation *op) {
  llvm::StringRef name = pass->getArgument();
  if (name.empty())
    return; // holds the passes of nested operations, which are dumped themselves
  llvm::ArrayRef<PassRow> table = pipelineTable();
  bool isNext = llvm::isa<mlir::ModuleOp>(op) && std::exchange(program, op) != op;
  if (isNext && op->getParentOp())
    row = llvm::find_if(table, [](const PassRow &each) { return each.phase > Phase::Pipelined; }) -
          table.begin();
  const PassRow *found = std::find_if(table.begin() + row, table.end(), [&](const PassRow &next) {
    return next.pass.starts_with(name);
  });
  if (found != table.end()) {
    row = found - table.begin() + 1;
    return write(op, name, found->phase, found->reason);
  }
  // A pass of a pipeline that is one row of the table: the next, or the last.
  const PassRow &around = table[std::min<size_t>(row, table.size() - 1)];
  write(op, name, around.phase, around.reason);
}

void PassDump::write(mlir::Operation *op, llvm::StringRef name, Phase stage,
                     llvm::StringRef reason) {
  std::string text = printModule(op, /*locations=*/true);
  if (text == last)
    return;
  const PhaseInfo &info = allPhases()[static_cast<size_t>(stage)];
  std::string head = llvm::formatv("// stage {0}: {1}\n", info.name, info.summary).str();
  if (!reason.empty())
    head += llvm::formatv("// after {0}: {1}\n", name, reason).str();
  std::string file =
      llvm::formatv("{0}/{1}{2}-{3}.mlir", folder, number < 10 ? "0" : "", number, name).str();
  number++;
  hasFailed |= !writeFile(file, head + text, /*executable=*/false, llvm::errs());
  last = std::move(text);
}
