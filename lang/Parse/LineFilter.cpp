//===- LineFilter.cpp - Decides where statements end ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Parse/LineFilter.h"

#include "PtlLexer.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::parse;
using antlr4::CommonToken;
using antlr4::Token;
using ptlc::lang::SourceRange;
using L = ptlgrammar::PtlLexer;

bool ptlc::parse::endsExpression(size_t type) {
  switch (type) {
  case L::NAME:
  case L::AS:
  case L::MESH:
  case L::OF:
  case L::ON:
  case L::INT:
  case L::FLOAT:
  case L::STRING:
  case L::TRUE:
  case L::FALSE:
  case L::RPAREN:
  case L::RSQUARE:
    return true;
  default:
    return false;
  }
}

/// Returns true for words that begin a line only where no bracket at all is open.
static bool beginsTopLevel(size_t type) {
  switch (type) {
  case L::IMPORT:
  case L::MODULE:
  case L::MODEL:
  case L::TRAIN:
  case L::PLAN:
  case L::CLUSTER:
    return true;
  default:
    return false;
  }
}

bool ptlc::parse::beginsDeclaration(size_t type) {
  switch (type) {
  case L::DIM:
  case L::CONST:
  case L::ASSERT:
  case L::WEIGHT:
  case L::FROZEN:
  case L::FN:
  case L::LET:
  case L::VAR:
  case L::FOR:
  case L::RETURN:
  case L::METRIC:
    return true;
  default:
    return beginsTopLevel(type);
  }
}

/// Returns true for what stands between two operands.
static bool isBetween(size_t type) {
  switch (type) {
  case L::PLUS:
  case L::MINUS:
  case L::STAR:
  case L::SLASH:
  case L::PERCENT:
  case L::AT:
  case L::LESS:
  case L::LESSEQUAL:
  case L::GREATER:
  case L::GREATEREQUAL:
  case L::EQUAL:
  case L::NOTEQUAL:
  case L::RANGE:
  case L::DOT:
  case L::AND:
  case L::OR:
  case L::ASSIGN:
  case L::COLON:
  case L::ARROW:
  case L::COMMA:
    return true;
  default:
    return false;
  }
}

bool ptlc::parse::needsMore(size_t type) {
  return isBetween(type) || type == L::LPAREN || type == L::LSQUARE || type == L::LBRACE ||
         type == L::NOT;
}

/// Returns true for what can't begin a statement, so that the line above goes on.
static bool continuesLine(size_t type) {
  return isBetween(type) || type == L::RPAREN || type == L::RSQUARE || type == L::LBRACE;
}

/// Returns the bracket that closes `opener`, 0 for what opens nothing.
static size_t closerOf(size_t opener) {
  switch (opener) {
  case L::LPAREN:
    return L::RPAREN;
  case L::LSQUARE:
    return L::RSQUARE;
  case L::LBRACE:
    return L::RBRACE;
  default:
    return 0;
  }
}

static bool isRound(size_t type) { return type == L::LPAREN || type == L::LSQUARE; }

namespace {

class LineFilter {
public:
  LineFilter(const Places &places, SyntaxErrors &errors) : places(places), errors(errors) {}

  std::optional<Tokens> run(Tokens tokens) {
    for (std::unique_ptr<Token> &token : tokens) {
      if (token->getType() == L::NL)
        rememberLineEnd(*token);
      else if (token->getChannel() == Token::DEFAULT_CHANNEL)
        take(std::move(token));
      if (tooDeep)
        return std::nullopt;
    }
    return std::move(out);
  }

private:
  enum class LineEnd { None, Newline, Semicolon };

  size_t lastType() const { return out.empty() ? size_t(L::NL) : out.back()->getType(); }
  bool insideRound() const { return !open.empty() && isRound(open.back().type); }

  void rememberLineEnd(const Token &token) {
    if (places.text(&token) == ";")
      lineEnd = LineEnd::Semicolon;
    else if (lineEnd == LineEnd::None)
      lineEnd = LineEnd::Newline;
  }

  void take(std::unique_ptr<Token> token) {
    size_t type = token->getType();
    bool atEnd = type == Token::EOF, atBrace = type == L::RBRACE;
    bool onNewLine = lineEnd != LineEnd::None;
    if (atEnd || atBrace || (onNewLine && beginsDeclaration(type)))
      closeForgotten(/*round=*/true);
    if (atEnd || (onNewLine && beginsTopLevel(type)))
      closeForgotten(/*round=*/false);
    if (type == L::RPAREN || type == L::RSQUARE)
      closeInside(type);
    if (statementEndsBefore(type))
      endStatement();
    lineEnd = LineEnd::None;

    if (closerOf(type)) {
      open.push_back({type, out.size(), indentOfLine(*token)});
    } else if (!open.empty() && closerOf(open.back().type) == type) {
      if (atBrace && onNewLine)
        noteIndentation(*token);
      open.pop_back();
    }
    countPrefixes(type);
    if (open.size() > kMaxBrackets || prefixes > kMaxBrackets)
      refuseDepth(*token);
    if (type == L::FLOAT && lastType() == L::DOT)
      splitIndices(std::move(token));
    else
      out.push_back(std::move(token));
  }

  bool statementEndsBefore(size_t type) const {
    if (type == Token::EOF || type == L::RBRACE)
      return true;
    if (lineEnd == LineEnd::None || insideRound())
      return false;
    if (beginsTopLevel(type) || lineEnd == LineEnd::Semicolon)
      return true;
    // After ',' the list of sizes is what is wrong, and the parser says so.
    if (beginsDeclaration(type) && lastType() != L::COMMA)
      return true;
    return !needsMore(lastType()) && !continuesLine(type);
  }

  /// Puts one NL behind the last token, unless there is nothing to end.
  void endStatement() {
    if (!out.empty() && lastType() != L::NL && lastType() != L::LBRACE)
      insert(L::NL);
  }

  void insert(size_t type) {
    const Token &last = *out.back();
    size_t place = std::max(last.getStopIndex() + 1, last.getStartIndex());
    out.push_back(makeToken(last, type, place, place - 1));
  }

  /// Makes a token on the line of `like` from two places in the text.
  static std::unique_ptr<Token> makeToken(const Token &like, size_t type, size_t start,
                                          size_t stop) {
    auto token =
        std::make_unique<CommonToken>(std::make_pair(like.getTokenSource(), like.getInputStream()),
                                      type, size_t(Token::DEFAULT_CHANNEL), start, stop);
    token->setLine(like.getLine());
    return token;
  }

  /// Closes the innermost brackets that are open: ( and [, or {.
  void closeForgotten(bool round) {
    auto isOurs = [&](const Bracket &bracket) { return isRound(bracket.type) == round; };
    if (open.empty() || !isOurs(open.back()))
      return;
    size_t first = open.size();
    while (first && isOurs(open[first - 1]))
      --first;
    reportForgotten(round ? open[first] : open.back());
    closeDownTo(first);
  }

  /// `[a, b)`: closes what was forgotten inside the bracket that this one closes.
  void closeInside(size_t closer) {
    size_t first = open.size();
    while (first && isRound(open[first - 1].type) && closerOf(open[first - 1].type) != closer)
      --first;
    bool closesOne = first && closerOf(open[first - 1].type) == closer;
    if (!closesOne || first == open.size())
      return;
    reportForgotten(open[first]);
    closeDownTo(first);
  }

  void closeDownTo(size_t first) {
    while (lastType() == L::COMMA)
      out.pop_back();
    for (size_t i = open.size(); i > first; --i) {
      if (open[i - 1].type == L::LBRACE)
        endStatement();
      insert(closerOf(open[i - 1].type));
    }
    open.resize(first);
  }

  struct Bracket {
    size_t type;
    size_t index;    // in `out`
    uint32_t indent; // column of the first token of its line
  };

  void reportForgotten(const Bracket &bracket) {
    // An open string has swallowed the bracket; its own message is enough.
    uint32_t lastLine = Places::line(out.back().get());
    for (const std::unique_ptr<Token> &token : llvm::reverse(out)) {
      if (Places::line(token.get()) != lastLine)
        break;
      if (token->getType() == L::OPEN_STRING)
        return;
    }
    SyntaxError error;
    error.range = places.of(out[bracket.index].get());
    error.text = "'" + places.text(out[bracket.index].get()).str() + "' is never closed";
    if (bracket.type == L::LBRACE && suspect.isValid()) {
      error.note = "by its indentation, this one may lack its '}'";
      error.noteRange = suspect;
    }
    errors.push_back(std::move(error));
  }

  /// Returns the column where the line of the token about to be taken begins.
  uint32_t indentOfLine(const Token &token) {
    uint32_t line = Places::line(&token);
    if (line != currentLine) {
      const Token *first = &token;
      for (const std::unique_ptr<Token> &earlier : llvm::reverse(out)) {
        if (Places::line(earlier.get()) != line)
          break;
        first = earlier.get();
      }
      currentLine = line;
      currentIndent = places.of(first).begin.column;
    }
    return currentIndent;
  }

  /// Remembers the first { whose } stands further left than its line.
  void noteIndentation(const Token &brace) {
    const Bracket &bracket = open.back();
    if (!suspect.isValid() && places.of(&brace).begin.column < bracket.indent)
      suspect = places.of(out[bracket.index].get());
  }

  void countPrefixes(size_t type) {
    bool isPrefix = type == L::NOT || (type == L::MINUS && !endsExpression(lastType()));
    prefixes = isPrefix ? prefixes + 1 : 0;
  }

  void refuseDepth(const Token &token) {
    SyntaxError error;
    error.range = places.of(&token);
    error.text =
        "brackets and signs are nested more than " + std::to_string(kMaxBrackets) + " levels deep";
    errors.push_back(std::move(error));
    tooDeep = true;
  }

  /// `blocks.0.1` comes from the lexer as `blocks` `.` `0.1`: makes `0` `.` `1` of the number.
  void splitIndices(std::unique_ptr<Token> token) {
    llvm::StringRef text = places.text(token.get());
    size_t dot = text.find('.');
    if (dot == llvm::StringRef::npos || text.find_first_of("eE") != llvm::StringRef::npos) {
      out.push_back(std::move(token));
      return;
    }
    size_t start = token->getStartIndex(), stop = token->getStopIndex();
    out.push_back(makeToken(*token, L::INT, start, start + dot - 1));
    out.push_back(makeToken(*token, L::DOT, start + dot, start + dot));
    out.push_back(makeToken(*token, L::INT, start + dot + 1, stop));
  }

  const Places &places;
  SyntaxErrors &errors;
  Tokens out;
  std::vector<Bracket> open;
  LineEnd lineEnd = LineEnd::None;
  uint32_t currentLine = 0, currentIndent = 0;
  SourceRange suspect;
  unsigned prefixes = 0;
  bool tooDeep = false;
};

} // namespace

std::optional<Tokens> ptlc::parse::filterLines(Tokens tokens, const Places &places,
                                               SyntaxErrors &errors) {
  return LineFilter(places, errors).run(std::move(tokens));
}
