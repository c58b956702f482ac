//===- Link.h - An object and the runtime become a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_LINK_H
#define PTLC_COMPILER_DRIVER_LINK_H

#include "compiler/Driver/Options.h"
#include "llvm/Support/raw_ostream.h"

namespace ptlc {

/// Links `objects` with the runtime library that lies beside the compiler and writes `output`,
/// whole or not at all. Uses `options.linker`, else the first of clang++-22, c++ and g++ that is
/// found; with lld when that is installed. Returns false after a message that names what is missing
/// and the package that has it.
bool linkExecutable(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef output,
                    const CompileOptions &options, llvm::raw_ostream &errors);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_LINK_H
