//===- Format.h - The one canonical style ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_FORMAT_FORMAT_H
#define PTLC_LANG_FORMAT_FORMAT_H

#include "lang/AST/AST.h"

namespace ptlc::format {

/// Prints a file without syntax errors in the canonical style, with all its
/// comments. The result parses to the same tree, and printing that changes
/// nothing.
///
/// Two columns a level, lines of 100 characters, directives of a block in
/// columns. Line ends inside a statement are chosen anew; single blank lines
/// between statements stay, and a block that is on one line stays there if it
/// fits.
std::string formatFile(const ast::File &file, const lang::SourceManager &sources);

} // namespace ptlc::format

#endif // PTLC_LANG_FORMAT_FORMAT_H
