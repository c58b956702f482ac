//===- ErrorStrategy.h - Syntax errors in words ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_PARSE_ERRORSTRATEGY_H
#define PTLC_LANG_PARSE_ERRORSTRATEGY_H

#include "lang/Parse/Places.h"

namespace ptlc::parse {

/// Puts each error into words of the language. Recovers as ANTLR does inside a
/// line, but never beyond a '{' or the line's end; a line that can't be saved is
/// dropped with its block, and the list that it stands in goes on.
class ErrorStrategy : public antlr4::DefaultErrorStrategy {
public:
  ErrorStrategy(const Places &places, SyntaxErrors &errors) : places(places), errors(errors) {}

  void reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) override;
  void recover(antlr4::Parser *parser, std::exception_ptr error) override;
  void sync(antlr4::Parser *parser) override;

protected:
  void reportUnwantedToken(antlr4::Parser *parser) override;
  void reportMissingToken(antlr4::Parser *parser) override;
  bool singleTokenInsertion(antlr4::Parser *parser) override;
  antlr4::Token *singleTokenDeletion(antlr4::Parser *parser) override;
  antlr4::misc::IntervalSet getErrorRecoverySet(antlr4::Parser *parser) override;

private:
  void report(antlr4::Parser *parser, antlr4::Token *token);

  const Places &places;
  SyntaxErrors &errors;
};

/// Where the parser stopped. Tokens are those of the filtered stream.
struct ErrorSite {
  const Places &places;
  const std::vector<antlr4::Token *> &tokens;
  size_t index; ///< of the token that can't stand here
  size_t rule;  ///< the parser's innermost rule
  antlr4::ParserRuleContext *context;
  antlr4::misc::IntervalSet expected;

  /// Returns the type of the token `distance` places on, 0 outside the file.
  size_t type(int distance = 0) const;
  llvm::StringRef text(int distance = 0) const;
  bool sameLine(int distance) const;
  bool expects(size_t type) const { return expected.contains(type); }
  /// Returns the token as messages name it: 'x', the end of the line.
  std::string shown(int distance = 0) const;
  /// Returns LPAREN, LSQUARE or LBRACE: the bracket that is open here, 0 if none.
  size_t openBracket() const;
};

/// Returns the error that people should see for a site.
SyntaxError describe(const ErrorSite &site);

} // namespace ptlc::parse

#endif // PTLC_LANG_PARSE_ERRORSTRATEGY_H
