//===- ErrorStrategy.cpp - Reports syntax errors --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Parse/ErrorStrategy.h"

#include "PtlParser.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::parse;
using P = ptlgrammar::PtlParser;

void ErrorStrategy::reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) {
  report(parser, error.getOffendingToken());
}

void ErrorStrategy::reportUnwantedToken(antlr4::Parser *parser) {
  report(parser, parser->getCurrentToken());
}

void ErrorStrategy::reportMissingToken(antlr4::Parser *parser) {
  report(parser, parser->getCurrentToken());
}

/// Returns true for the rules that are one statement and its NL.
static bool isLine(size_t rule) {
  return rule == P::RuleItemLine || rule == P::RuleMemberLine || rule == P::RuleLine ||
         rule == P::RuleDirectiveLine;
}

/// Returns true for the rules that are a list of lines.
static bool isList(size_t rule) {
  switch (rule) {
  case P::RuleFile:
  case P::RuleModule:
  case P::RuleBody:
  case P::RuleTrain:
  case P::RulePlan:
  case P::RuleCluster:
    return true;
  default:
    return false;
  }
}

/// Returns true for the rules that end in a block.
static bool ownsBlock(size_t rule) {
  return isList(rule) || rule == P::RuleFunction || rule == P::RuleForStmt ||
         rule == P::RuleForeign;
}

/// Drops the rest of a line up to its NL, with the blocks that begin on it; stops
/// before a '}' that closes what is around the line.
static void skipToLineEnd(antlr4::Parser *parser) {
  unsigned depth = 0;
  for (size_t type; (type = parser->getTokenStream()->LA(1)) != antlr4::Token::EOF;) {
    if (depth == 0 && (type == P::RBRACE || type == P::NL))
      return;
    parser->consume();
    depth += type == P::LBRACE;
    depth -= type == P::RBRACE;
  }
}

static void skipLine(antlr4::Parser *parser) {
  skipToLineEnd(parser);
  if (parser->getTokenStream()->LA(1) == P::NL)
    parser->consume();
}

/// Returns whether a context is the head of a function that begins with another word than
/// 'fn'. If more than that is wrong, it wasn't meant as one.
static bool isDoubtful(antlr4::ParserRuleContext *context) {
  auto *function = dynamic_cast<P::FunctionContext *>(context->parent);
  return function && function->wrong;
}

void ErrorStrategy::recover(antlr4::Parser *parser, std::exception_ptr error) {
  size_t rule = parser->getContext()->getRuleIndex();
  if (isLine(rule))
    skipLine(parser);
  else if (ownsBlock(rule) || isDoubtful(parser->getContext()))
    skipToLineEnd(parser);
  else
    DefaultErrorStrategy::recover(parser, error);
}

bool ErrorStrategy::singleTokenInsertion(antlr4::Parser *parser) {
  antlr4::misc::IntervalSet expected = getExpectedTokens(parser);
  if (expected.contains(size_t(P::LBRACE)) || expected.contains(size_t(P::RBRACE)))
    return false;
  return DefaultErrorStrategy::singleTokenInsertion(parser);
}

antlr4::Token *ErrorStrategy::singleTokenDeletion(antlr4::Parser *parser) {
  // These hold the structure of the file; without one, all that follows would be misread.
  size_t type = parser->getTokenStream()->LA(1);
  if (type == P::LBRACE || type == P::RBRACE || type == P::NL)
    return nullptr;
  return DefaultErrorStrategy::singleTokenDeletion(parser);
}

antlr4::misc::IntervalSet ErrorStrategy::getErrorRecoverySet(antlr4::Parser *parser) {
  antlr4::misc::IntervalSet set = DefaultErrorStrategy::getErrorRecoverySet(parser);
  set.add(P::LBRACE);
  set.add(P::NL);
  return set;
}

void ErrorStrategy::sync(antlr4::Parser *parser) {
  if (!isList(parser->getContext()->getRuleIndex())) {
    DefaultErrorStrategy::sync(parser);
    return;
  }
  const antlr4::atn::ATN &atn = parser->getATN();
  antlr4::misc::IntervalSet next = atn.nextTokens(atn.states[parser->getState()]);
  // The head of a module or plan is part of the same rule; its errors aren't lines.
  bool inList = next.contains(size_t(P::RBRACE)) || next.contains(antlr4::Token::EOF);
  if (!inList) {
    DefaultErrorStrategy::sync(parser);
    return;
  }
  while (!next.contains(parser->getTokenStream()->LA(1))) {
    report(parser, parser->getCurrentToken());
    size_t before = parser->getCurrentToken()->getTokenIndex();
    skipLine(parser);
    endErrorCondition(parser);
    size_t type = parser->getTokenStream()->LA(1);
    if (type == antlr4::Token::EOF)
      return;
    if (parser->getCurrentToken()->getTokenIndex() == before)
      parser->consume(); // a '}' too many
  }
}

void ErrorStrategy::report(antlr4::Parser *parser, antlr4::Token *token) {
  if (inErrorRecoveryMode(parser))
    return;
  beginErrorCondition(parser);
  // A bracket that the filter put in stands for an error that it has reported.
  bool isPutIn = token->getType() != P::NL && token->getType() != antlr4::Token::EOF &&
                 places.text(token).empty();
  if (isPutIn)
    return;
  auto *stream = static_cast<antlr4::CommonTokenStream *>(parser->getTokenStream());
  std::vector<antlr4::Token *> tokens = stream->getTokens();
  antlr4::misc::IntervalSet expected;
  // A parser that stopped in the middle of a prediction may have no state to ask.
  try {
    expected = parser->getExpectedTokens();
  } catch (const std::exception &) {
  }
  antlr4::ParserRuleContext *context = parser->getContext();
  size_t rule = context ? context->getRuleIndex() : size_t(P::RuleFile);
  // `f(x)` alone on a line looks like the head of a foreign loop until its '{' is missing.
  if (rule == P::RuleBody && dynamic_cast<P::ForeignContext *>(context->parent) &&
      expected.contains(size_t(P::LBRACE)))
    rule = P::RuleForeign;
  errors.push_back(
      describe({places, tokens, token->getTokenIndex(), rule, context, std::move(expected)}));
}

size_t ErrorSite::type(int distance) const {
  int64_t place = int64_t(index) + distance;
  return place < 0 || place >= int64_t(tokens.size()) ? 0 : tokens[place]->getType();
}

llvm::StringRef ErrorSite::text(int distance) const {
  int64_t place = int64_t(index) + distance;
  return place < 0 || place >= int64_t(tokens.size()) ? "" : places.text(tokens[place]);
}

bool ErrorSite::sameLine(int distance) const {
  int64_t place = int64_t(index) + distance;
  return place >= 0 && place < int64_t(tokens.size()) &&
         places.of(tokens[place]).end.line == places.line(tokens[index]);
}

std::string ErrorSite::shown(int distance) const {
  size_t kind = type(distance);
  if (kind == antlr4::Token::EOF)
    return "the end of the file";
  if (kind == P::NL)
    return "the end of the line";
  llvm::StringRef word = text(distance);
  if (word.empty())
    return "the end of the line"; // a bracket that the filter put in
  constexpr size_t kLongest = 24;
  auto isAscii = [](char c) { return c > 0; };
  if (word.size() > kLongest && llvm::all_of(word, isAscii))
    return "'" + word.take_front(kLongest).str() + "...'";
  return "'" + word.str() + "'";
}

size_t ErrorSite::openBracket() const {
  unsigned closed = 0;
  for (size_t i = index; i-- > 0;) {
    switch (tokens[i]->getType()) {
    case P::RPAREN:
    case P::RSQUARE:
    case P::RBRACE:
      ++closed;
      break;
    case P::LPAREN:
    case P::LSQUARE:
    case P::LBRACE:
      if (closed == 0)
        return tokens[i]->getType();
      --closed;
      break;
    default:
      break;
    }
  }
  return 0;
}
