//===- Places.h - From the parser's places to the source's -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// ANTLR counts code points, the source manager bytes. Tokens that the line
// filter puts in are empty: they begin where they end.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_PARSE_PLACES_H
#define PTLC_LANG_PARSE_PLACES_H

#include "lang/Diag/Source.h"

#include "antlr4-runtime.h"

namespace ptlc::parse {

/// Gives the source range and the text of tokens and parse trees of one file.
class Places {
public:
  Places(const lang::SourceManager &sources, lang::FileId file);

  lang::SourceRange of(const antlr4::Token *token) const;
  lang::SourceRange of(const antlr4::Token *first, const antlr4::Token *last) const;
  lang::SourceRange of(antlr4::tree::TerminalNode *node) const { return of(node->getSymbol()); }
  lang::SourceRange of(antlr4::ParserRuleContext *context) const {
    return of(context->getStart(), context->getStop());
  }

  /// Returns the text of a token, empty for one that was put in and for the end of the file.
  llvm::StringRef text(const antlr4::Token *token) const;

  /// Returns whether nothing but blanks stands between the end of `a` and the begin of `b`.
  bool blankBetween(lang::SourceRange a, lang::SourceRange b) const;

  /// Returns the line (from 1) on which a token begins.
  static uint32_t line(const antlr4::Token *token) { return token->getLine(); }

private:
  uint32_t begin(const antlr4::Token *token) const;
  uint32_t end(const antlr4::Token *token) const;

  const lang::SourceManager &sources;
  lang::FileId file;
  std::vector<uint32_t> byteOf; // byte offset of each code point, and of the end
};

/// A syntax error before it is known whether its line has an earlier one.
struct SyntaxError {
  lang::SourceRange range;
  std::string text;
  std::string note; // printed at `noteRange`, or nothing
  lang::SourceRange noteRange;
};
using SyntaxErrors = std::vector<SyntaxError>;

} // namespace ptlc::parse

#endif // PTLC_LANG_PARSE_PLACES_H
