//===- LineFilter.h - Decides where statements end -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A statement ends at the end of its line or at ';'. A line goes on inside ( )
// and [ ], if its last token needs more to the right, or if the next line begins
// with a token that can't begin a statement. No statement begins with an
// operator or a bracket and no expression stands alone, so both rules together
// are never ambiguous, and the parser needs no notion of lines: it sees one NL
// token after each statement and nowhere else.
//
// A forgotten bracket would make the rest of the file one statement. But some
// words begin a line only where all ( and [ are closed (`let`, `fn`, ...), and
// some only where all { are, too (`module`, `plan`, ...). At these the filter
// closes what is open and reports it where it was opened, once.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_PARSE_LINEFILTER_H
#define PTLC_LANG_PARSE_LINEFILTER_H

#include "lang/Parse/Places.h"

namespace ptlc::parse {

using Tokens = std::vector<std::unique_ptr<antlr4::Token>>;

/// How deep brackets and prefix operators may nest: the parser recurses on them.
inline constexpr unsigned kMaxBrackets = 256;

/// Returns true if a token of this type ends an expression.
bool endsExpression(size_t type);

/// Returns true for words that stand at the beginning of a declaration or a
/// statement and nowhere inside brackets at the beginning of a line.
bool beginsDeclaration(size_t type);

/// Returns true for an operator, ',' and the like: there must be more to the right.
bool needsMore(size_t type);

/// Filters the lexer's tokens as described above; hidden ones are dropped. The
/// result ends in EOF. Returns nullopt, with an error, if brackets nest too deep.
std::optional<Tokens> filterLines(Tokens tokens, const Places &places, SyntaxErrors &errors);

} // namespace ptlc::parse

#endif // PTLC_LANG_PARSE_LINEFILTER_H
