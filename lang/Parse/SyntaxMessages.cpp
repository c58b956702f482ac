//===- SyntaxMessages.cpp - Words for syntax errors -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A syntax error is a token that can't stand where it stands. What people need
// to hear depends on what they meant, so this file is a list of guesses, from
// the most certain (characters and words of other languages) to the least ("a
// name was expected"). Each guess looks at the rule that the parser is in, the
// tokens around, and what the parser would have accepted; the first that fits
// speaks.
//===----------------------------------------------------------------------===//
#include "lang/Parse/ErrorStrategy.h"
#include "lang/Parse/LineFilter.h"

#include "PtlParser.h"

#include "llvm/ADT/StringSwitch.h"

using namespace ptlc::parse;
using llvm::StringRef;
using P = ptlgrammar::PtlParser;

namespace {
/// What to say, and at which token: 0 is the one that can't stand here.
struct Words {
  std::string text;
  int at = 0;
  Words(std::string text, int at = 0) : text(std::move(text)), at(at) {}
  Words(const char *text) : text(text) {}
};
} // namespace
using Guess = std::optional<Words>;

static bool isKeyword(size_t type) { return type >= P::IMPORT && type <= P::FALSE; }

/// Returns "; 'fn' is a keyword" for a reserved word, ", found ..." for the rest.
static std::string foundOrKeyword(const ErrorSite &site) {
  if (isKeyword(site.type()))
    return "; " + site.shown() + " is a keyword";
  return ", found " + site.shown();
}

/// What a word of another language is called here, empty for a word that means nothing special.
static StringRef foreignWord(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Case("if",
            "there is no 'if': a program has one shape; choose a value with where(condition, a, b)")
      .Cases({"else", "elif"}, "there is no 'else': choose a value with where(condition, a, b)")
      .Case("while", "there is no 'while'; 'for i in 0..n' repeats")
      .Cases({"def", "func", "function"}, "a function begins with 'fn'")
      .Case("class", "a part of a model begins with 'module'")
      .Default("");
}

static StringRef foreignCharacter(StringRef character) {
  return llvm::StringSwitch<StringRef>(character)
      .Case("'", "strings are written with double quotes")
      .Case("^", "'^' is not an operator; use pow(x, n)")
      .Case("!", "'!' is not an operator; write 'not'")
      .Case("&", "'&' is not an operator; write 'and'")
      .Case("|", "'|' is not an operator; write 'or'")
      .Case("?", "there is no '?'; choose a value with where(condition, a, b)")
      .Case("#", "a comment begins with '//'")
      .Default("");
}

static Guess guessCharacters(const ErrorSite &site) {
  if (site.type() == P::OPEN_STRING)
    return "this string has no closing '\"'";
  if (site.type() == P::OTHER) {
    StringRef text = foreignCharacter(site.text());
    return text.empty() ? site.shown() + " can't stand here" : text.str();
  }
  if (site.type() == P::DOT && site.type(1) == P::INT && !endsExpression(site.type(-1)))
    return "a number begins with a digit; write '0." + site.text(1).str() + "'";
  if (site.type(-1) == P::DOT && site.type(-2) == P::INT && site.type() != P::NAME)
    return Words("a number ends with a digit; write '" + site.text(-2).str() + ".0'", -2);
  if (site.type() == P::COLON && (site.type(-1) == P::COLON || site.type(1) == P::COLON))
    return "'::' is not an operator; names are joined by '.'";
  return std::nullopt;
}

static Guess guessForeignWords(const ErrorSite &site) {
  bool inStatement = site.rule == P::RuleStatement || site.rule == P::RuleForeign ||
                     site.rule == P::RuleBody || site.rule == P::RuleMember ||
                     site.rule == P::RuleModule || site.rule == P::RuleItem ||
                     site.rule == P::RuleFile || site.rule == P::RuleFunction;
  for (int distance : {0, -1, -2}) {
    StringRef text = foreignWord(site.text(distance));
    if (text.empty() || !site.sameLine(distance))
      continue;
    size_t before = site.type(distance - 1);
    bool beginsLine = before == 0 || before == P::NL || before == P::LBRACE || before == P::RBRACE;
    if (beginsLine || (inStatement && distance == 0))
      return Words(text.str(), distance);
  }
  if (site.text() == "if" && endsExpression(site.type(-1)))
    return foreignWord("if").str();
  return std::nullopt;
}

/// `Block {`: two names in a row begin a function with a wrong word, one name begins nothing.
static Guess guessDeclaration(const ErrorSite &site) {
  auto *function = dynamic_cast<P::FunctionContext *>(site.context->parent);
  if (site.rule != P::RuleName || !function || !function->wrong)
    return std::nullopt;
  bool inModule = dynamic_cast<P::MemberContext *>(function->parent) != nullptr;
  StringRef what = inModule ? "a weight, a part, 'fn', 'dim' or 'const'" : "a declaration";
  return Words("expected " + what.str() + ", found " + site.shown(-1), -1);
}

static bool isArithmetic(size_t type) {
  return type == P::PLUS || type == P::MINUS || type == P::STAR || type == P::SLASH ||
         type == P::PERCENT || type == P::AT;
}

static Guess guessForeignOperators(const ErrorSite &site) {
  // At the first character of `+=`, or, where an operand could go on, at its second.
  auto compound = [&](int distance) -> Guess {
    std::string op = site.text(distance).str();
    std::string name =
        endsExpression(site.type(distance - 1)) ? site.text(distance - 1).str() : "x";
    return Words("'" + op + "=' is not an operator; write '" + name + " = " + name + " " + op +
                     " ...'",
                 distance);
  };
  if (isArithmetic(site.type()) && site.type(1) == P::ASSIGN)
    return compound(0);
  if (site.type() == P::ASSIGN && isArithmetic(site.type(-1)))
    return compound(-1);
  if (site.type() == P::STAR && site.type(-1) == P::STAR)
    return "'**' is not an operator; use pow(x, n)";
  if (site.type() == P::PLUS && site.type(-1) == P::PLUS)
    return "'++' is not an operator; write 'x = x + 1'";
  return std::nullopt;
}

static Guess guessLists(const ErrorSite &site) {
  bool inSizes = site.rule == P::RuleSizes || site.rule == P::RuleBind || site.rule == P::RuleName;
  bool inRound = site.openBracket() == P::LPAREN || site.openBracket() == P::LSQUARE;
  if (site.type(-1) == P::COMMA && inSizes && !inRound)
    return "expected 'name = value' after ',', found " + site.shown();
  if (site.rule == P::RuleSizes && site.type() == P::ASSIGN && site.type(-1) == P::ASSIGN)
    return "expected an expression after '='";
  return std::nullopt;
}

static Guess guessStatementStart(const ErrorSite &site) {
  bool begins = site.type(-1) == P::NL || (site.type(-1) == P::LBRACE && site.rule == P::RuleBody);
  if (begins && (site.type() == P::LPAREN || site.type() == P::LSQUARE))
    return "a statement can't begin with " + site.shown() +
           "; if it continues the line above, move it there";
  bool inStatement =
      site.rule == P::RuleStatement || site.rule == P::RuleForeign || site.rule == P::RuleBody;
  if (!inStatement)
    return std::nullopt;
  const char *alone = "an expression alone does nothing; 'return' it, or name it with 'let'";
  bool isOperand = endsExpression(site.type()) || site.type() == P::MINUS || site.type() == P::NOT;
  if (begins && isOperand)
    return alone;
  if (!begins && site.rule != P::RuleBody && !beginsDeclaration(site.type()) &&
      (site.type() == P::NL || endsExpression(site.type(-1))))
    return alone;
  return std::nullopt;
}

/// After a word that introduces something: `let =`, `return }`.
static Guess guessAfterKeyword(const ErrorSite &site) {
  switch (site.type(-1)) {
  case P::RETURN:
  case P::ASSERT:
    if (site.rule == P::RuleDirective || site.rule == P::RuleName)
      return "expected what to promise after 'assert'" + foundOrKeyword(site);
    return "expected an expression after '" + site.text(-1).str() + "'" + foundOrKeyword(site);
  case P::TRAIN:
    return "expected the name of a model after 'train'" + foundOrKeyword(site);
  case P::FROZEN:
    return "expected 'weight' or the name of a part after 'frozen'" + foundOrKeyword(site);
  case P::IMPORT:
    return "expected std.name or \"file.ptl\" after 'import'" + foundOrKeyword(site);
  case P::WEIGHT:
  case P::FN:
  case P::LET:
  case P::VAR:
  case P::FOR:
  case P::METRIC:
  case P::MODULE:
  case P::MODEL:
  case P::DIM:
  case P::CONST:
  case P::PLAN:
  case P::CLUSTER:
    if (site.rule == P::RuleType || site.rule == P::RuleParam)
      return std::nullopt;
    return "expected a name after '" + site.text(-1).str() + "'" + foundOrKeyword(site);
  default:
    return std::nullopt;
  }
}

static bool isInDirective(const ErrorSite &site) {
  for (antlr4::tree::ParseTree *tree = site.context; tree; tree = tree->parent) {
    auto *context = dynamic_cast<antlr4::ParserRuleContext *>(tree);
    if (!context)
      return false;
    switch (context->getRuleIndex()) {
    case P::RuleDirective:
    case P::RuleTrain:
    case P::RulePlan:
    case P::RuleCluster:
      return true;
    default:
      break;
    }
  }
  return false;
}

static Guess guessTypes(const ErrorSite &site) {
  if (site.rule != P::RuleType && site.rule != P::RuleDimension && site.rule != P::RuleName &&
      site.rule != P::RulePath)
    return std::nullopt;
  bool inType = false;
  for (antlr4::tree::ParseTree *tree = site.context; tree && !inType; tree = tree->parent)
    inType = dynamic_cast<P::TypeContext *>(tree) != nullptr;
  if (!inType || site.openBracket() != P::LSQUARE)
    return std::nullopt;
  if (site.type() == P::RANGE)
    return "'..' stands first in a type";
  if (site.type() == P::INT)
    return "a type lists names of dimensions, not numbers; declare 'dim name = " +
           site.text().str() + "'";
  if (isArithmetic(site.type()))
    return "a type lists names of dimensions; declare 'dim name = ...' for a size that is computed";
  if (endsExpression(site.type(-1)) && site.type() != P::AT)
    return "expected ',' or ']' before " + site.shown();
  return std::nullopt;
}

/// After an operator, a comma or an opening bracket something is missing.
static Guess guessMissingOperand(const ErrorSite &site) {
  // The parser gives up a label already at its ':' if nothing follows.
  bool emptyLabel = site.type() == P::COLON && endsExpression(site.type(-1)) &&
                    (site.type(1) == P::NL || site.type(1) == P::COMMA ||
                     site.type(1) == P::RPAREN || site.type(1) == P::RSQUARE);
  if (emptyLabel)
    return Words("expected an expression after ':', found " + site.shown(1), 1);
  size_t before = site.type(-1);
  if (!needsMore(before) || before == P::LBRACE)
    return std::nullopt;
  StringRef what = "an expression";
  switch (site.rule) {
  case P::RuleType:
  case P::RuleResult:
    what = before == P::COMMA || before == P::LSQUARE ? "the name of a dimension" : "a type";
    break;
  case P::RuleWeight:
  case P::RuleParam:
  case P::RuleLetStmt:
  case P::RuleVarStmt:
    what = before == P::COLON ? "a type" : what;
    break;
  case P::RuleNames:
  case P::RuleParams:
  case P::RuleBind:
  case P::RulePath:
  case P::RuleName:
  case P::RulePlan:
    what = "a name";
    break;
  default:
    break;
  }
  if (before == P::DOT)
    what = "a name";
  return "expected " + what.str() + " after '" + site.text(-1).str() + "'" + foundOrKeyword(site);
}

static Guess guessLineEnd(const ErrorSite &site) {
  size_t open = site.openBracket();
  bool afterValue = endsExpression(site.type(-1)) || site.type(-1) == P::RBRACE;
  if (!afterValue)
    return std::nullopt;
  bool inExpr = site.rule == P::RuleExpr || site.rule == P::RuleArgs || site.rule == P::RuleArg ||
                site.rule == P::RuleEntry || site.rule == P::RuleMeasure;
  if (open == P::LPAREN || open == P::LSQUARE) {
    if (!inExpr && site.rule != P::RuleNames && site.rule != P::RuleParams &&
        site.rule != P::RuleParam && site.rule != P::RulePlan)
      return std::nullopt;
    if (site.type() == P::ASSIGN)
      return "an argument is named with ':', not '='";
    StringRef closer = open == P::LPAREN ? "')'" : "']'";
    return "expected ',' or " + closer.str() + " before " + site.shown();
  }
  if (site.type() == P::NL || !site.sameLine(-1))
    return std::nullopt;
  if (isInDirective(site) && site.rule != P::RulePlan)
    return "expected the end of the line (or ';') before " + site.shown();
  if (site.expects(P::NL) || inExpr)
    return "expected an operator or the end of the line before " + site.shown();
  return std::nullopt;
}

static std::string guessFromRule(const ErrorSite &site) {
  switch (site.rule) {
  case P::RuleStatement:
  case P::RuleBody:
    return "expected a statement, found " + site.shown();
  case P::RuleMember:
    return "expected a weight, a part, 'fn', 'dim' or 'const', found " + site.shown();
  case P::RuleItem:
  case P::RuleFile:
    return "expected a declaration, found " + site.shown();
  case P::RuleRelation:
    return "expected '<=' or another comparison before " + site.shown();
  case P::RuleWeight:
  case P::RuleParam:
    if (!site.expects(P::NAME) && site.expects(P::COLON))
      return "expected ':' and a type before " + site.shown();
    break;
  case P::RuleModule:
    if (site.type(-1) == P::NL || site.type(-1) == P::LBRACE)
      return "expected a weight, a part, 'fn', 'dim' or 'const', found " + site.shown();
    break;
  case P::RuleTrain:
  case P::RulePlan:
  case P::RuleCluster:
    if (site.type(-1) == P::NL || site.type(-1) == P::LBRACE)
      return "expected the name of a directive, found " + site.shown();
    break;
  case P::RuleName:
  case P::RulePath:
    return "expected a name, found " + site.shown();
  default:
    break;
  }
  // Few of the possible tokens are worth naming: those that must come, not those that may.
  std::string list;
  for (auto [type, word] : {std::pair(P::LBRACE, "'{'"),
                            {P::RBRACE, "'}'"},
                            {P::LPAREN, "'('"},
                            {P::RPAREN, "')'"},
                            {P::RSQUARE, "']'"},
                            {P::ASSIGN, "'='"},
                            {P::COLON, "':'"},
                            {P::ON, "'on'"},
                            {P::MESH, "'mesh'"},
                            {P::IN, "'in'"},
                            {P::REPEAT, "'repeat'"}}) {
    if (site.expects(type) && llvm::StringRef(list).count('\'') < 4)
      list += (list.empty() ? "" : " or ") + std::string(word);
  }
  if (!list.empty())
    return "expected " + list + " before " + site.shown();
  return site.shown() + " can't stand here";
}

/// The parser took the number and the word of `batch 4 steps 1` for a measure
/// and stops behind it; so in `zero 1 over: dp`.
static Guess guessMeasure(const ErrorSite &site) {
  bool afterMeasure = (site.type(-2) == P::INT || site.type(-2) == P::FLOAT) &&
                      site.type(-1) >= P::AS && site.type(-1) <= P::NAME;
  if (!afterMeasure || !isInDirective(site))
    return std::nullopt;
  if (site.type() == P::COLON)
    return Words("expected ',' before " + site.shown(-1), -1);
  if (!endsExpression(site.type()))
    return std::nullopt;
  return Words("expected the end of the line (or ';') before " + site.shown(-1), -1);
}

static Guess guessPromise(const ErrorSite &site) {
  bool inPromise = site.rule == P::RuleDirective || site.rule == P::RuleRelation;
  if (inPromise && site.expects(P::LESSEQUAL) && !site.expects(P::NL))
    return "expected '<=' or another comparison before " + site.shown();
  return std::nullopt;
}

SyntaxError ptlc::parse::describe(const ErrorSite &site) {
  Words words(std::string{});
  bool found = false;
  for (auto guess : {guessCharacters, guessForeignWords, guessDeclaration, guessForeignOperators,
                     guessLists, guessAfterKeyword, guessTypes, guessMissingOperand,
                     guessStatementStart, guessMeasure, guessPromise, guessLineEnd}) {
    Guess said = guess(site);
    found = said.has_value();
    if (found) {
      words = std::move(*said);
      break;
    }
  }
  if (!found)
    words = guessFromRule(site);
  SyntaxError error;
  error.range = site.places.of(site.tokens[site.index + words.at]);
  error.text = std::move(words.text);
  return error;
}
