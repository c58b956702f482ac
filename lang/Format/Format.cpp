//===- Format.cpp - The one canonical style -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Format/Format.h"

#include "lang/Format/Formatter.h"

using namespace ptlc::format;
using namespace ptlc;

std::string ptlc::format::formatFile(const ast::File &file, const lang::SourceManager &) {
  Formatter formatter(file);
  return layout(formatter.file(file), kLineWidth);
}

bool Formatter::hasCommentsBefore(uint32_t offset) const {
  return !comments.empty() && comments.front().range.begin.offset < offset;
}

bool Formatter::nextOwnsLineBefore(uint32_t offset) const {
  return hasCommentsBefore(offset) && comments.front().ownsLine;
}

DocRef Formatter::trailingComments(uint32_t offset) {
  DocList parts;
  while (hasCommentsBefore(offset) && !comments.front().ownsLine) {
    parts.push_back(docs.suffix(comments.front().text));
    comments = comments.drop_front();
  }
  return docs.concat(std::move(parts));
}

DocRef Formatter::ownComments(uint32_t offset) {
  DocList parts;
  while (hasCommentsBefore(offset)) {
    parts.push_back(docs.text(comments.front().text));
    parts.push_back(docs.hardLine());
    comments = comments.drop_front();
  }
  return docs.concat(std::move(parts));
}

DocRef Formatter::strayComments(uint32_t offset) {
  DocList parts;
  while (hasCommentsBefore(offset)) {
    parts.push_back(docs.suffix(comments.front().text, /*breaks=*/false));
    comments = comments.drop_front();
  }
  return docs.concat(std::move(parts));
}

DocRef Formatter::word(llvm::StringRef text, lang::SourceRange range) {
  if (!hasCommentsBefore(range.begin.offset))
    return docs.text(text);
  DocRef before = strayComments(range.begin.offset);
  return docs.concat({before, docs.text(text)});
}
