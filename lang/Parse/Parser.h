//===- Parser.h - From text to the tree ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_PARSE_PARSER_H
#define PTLC_LANG_PARSE_PARSER_H

#include "lang/AST/AST.h"
#include "lang/Diag/Diagnostics.h"

namespace ptlc::parse {

/// Parses a file of `sources` and reports at most one syntax error a line. The
/// result is never null; if the text has errors, `hasSyntaxErrors` is set and
/// the items, members, statements and directives that hold one are left out.
/// Brackets may nest 256 deep, operators 500 deep. Throws nothing.
std::unique_ptr<ast::File> parseFile(lang::SourceManager &sources, lang::FileId file,
                                     lang::DiagnosticEngine &diagnostics);

} // namespace ptlc::parse

#endif // PTLC_LANG_PARSE_PARSER_H
