//===- Parser.cpp - From text to the tree ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// lexer -> line filter -> ANTLR's parser -> tree builder. All errors are
// collected and then thinned to one a line: the others on a line are echoes.
// ANTLR throws; nothing of that leaves this file.
//===----------------------------------------------------------------------===//
#include "lang/Parse/Parser.h"

#include "lang/Parse/ErrorStrategy.h"
#include "lang/Parse/LineFilter.h"
#include "lang/Parse/TreeBuilder.h"

#include "PtlLexer.h"
#include "PtlParser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <map>

using namespace ptlc::parse;
using namespace ptlc;

/// Returns the offset of the first byte that can't stand in a program: one that
/// isn't UTF-8, or a control character other than a tab or a line end.
static std::optional<uint32_t> firstBadByte(llvm::StringRef text) {
  const auto *data = reinterpret_cast<const llvm::UTF8 *>(text.data());
  for (uint32_t i = 0; i < text.size();) {
    unsigned length = llvm::getNumBytesForUTF8(data[i]);
    if (i + length > text.size() || !llvm::isLegalUTF8Sequence(data + i, data + i + length))
      return i;
    bool isControl = data[i] < ' ' && data[i] != '\t' && data[i] != '\n' && data[i] != '\r';
    if (isControl || data[i] == 0x7F)
      return i;
    i += length;
  }
  return std::nullopt;
}

/// Collects the comments among the lexer's tokens.
static std::vector<ast::Comment> collectComments(const Tokens &tokens, const Places &places) {
  std::vector<ast::Comment> comments;
  uint32_t codeLine = 0; // where the last token that isn't hidden ends
  for (const std::unique_ptr<antlr4::Token> &token : tokens) {
    size_t type = token->getType();
    if (type == ptlgrammar::PtlLexer::COMMENT) {
      ast::Comment comment;
      comment.range = places.of(token.get());
      comment.text = places.text(token.get()).rtrim();
      comment.isDoc = comment.text.starts_with("///") && !comment.text.starts_with("////");
      comment.ownsLine = comment.range.begin.line != codeLine;
      comments.push_back(comment);
    } else if (token->getChannel() == antlr4::Token::DEFAULT_CHANNEL &&
               places.text(token.get()).trim() != "") {
      codeLine = Places::line(token.get());
    }
  }
  return comments;
}

/// Reports the first error of each line.
static void reportErrors(const SyntaxErrors &errors, lang::DiagnosticEngine &diagnostics) {
  std::map<uint32_t, const SyntaxError *> firstOfLine;
  for (const SyntaxError &error : errors) {
    const SyntaxError *&first = firstOfLine[error.range.begin.line];
    if (!first || error.range.begin < first->range.begin)
      first = &error;
  }
  for (auto [line, error] : firstOfLine) {
    auto report = diagnostics.error(error->range, error->text);
    if (!error->note.empty())
      report.note(error->noteRange, error->note);
  }
}

/// Lexes, filters, parses and builds; ANTLR's exceptions pass through.
static void parseInto(ast::File &file, const lang::SourceManager &sources, SyntaxErrors &errors) {
  Places places(sources, file.id);
  antlr4::ANTLRInputStream input(sources.text(file.id).str());
  ptlgrammar::PtlLexer lexer(&input);
  lexer.removeErrorListeners();
  antlr4::CommonTokenStream lexed(&lexer);
  lexed.fill();
  Tokens tokens;
  for (antlr4::Token *token : lexed.getTokens())
    tokens.push_back(std::make_unique<antlr4::CommonToken>(token));
  file.comments = collectComments(tokens, places);
  std::optional<Tokens> filtered = filterLines(std::move(tokens), places, errors);
  if (!filtered)
    return;

  antlr4::ListTokenSource source(std::move(*filtered));
  antlr4::CommonTokenStream stream(&source);
  stream.fill();
  ptlgrammar::PtlParser parser(&stream);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<ErrorStrategy>(places, errors));
  file.items = TreeBuilder(places, errors, file.comments).file(parser.file());
}

std::unique_ptr<ast::File> ptlc::parse::parseFile(lang::SourceManager &sources, lang::FileId id,
                                                  lang::DiagnosticEngine &diagnostics) {
  auto file = std::make_unique<ast::File>();
  file->id = id;
  llvm::StringRef text = sources.text(id);
  file->range = sources.range(id, 0, text.size());
  if (std::optional<uint32_t> bad = firstBadByte(text)) {
    diagnostics.error(sources.range(id, *bad, *bad + 1),
                      "a program is a text in UTF-8; the byte 0x" +
                          llvm::utohexstr(static_cast<unsigned char>(text[*bad])) +
                          " can't stand here");
    file->hasSyntaxErrors = true;
    return file;
  }
  SyntaxErrors errors;
  try {
    parseInto(*file, sources, errors);
  } catch (const std::exception &exception) {
    errors.push_back(
        {sources.range(id, 0, 0), std::string("the parser failed: ") + exception.what(), {}, {}});
  }
  file->hasSyntaxErrors = !errors.empty();
  reportErrors(errors, diagnostics);
  return file;
}
