//===- Places.cpp - From the parser's places to the source's --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Parse/Places.h"

using namespace ptlc::parse;
using ptlc::lang::SourceRange;

Places::Places(const lang::SourceManager &sources, lang::FileId file)
    : sources(sources), file(file) {
  llvm::StringRef text = sources.text(file);
  // ANTLR drops a byte order mark.
  uint32_t start = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (uint32_t i = start; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      byteOf.push_back(i);
  byteOf.push_back(text.size());
}

uint32_t Places::begin(const antlr4::Token *token) const {
  return byteOf[std::min(token->getStartIndex(), byteOf.size() - 1)];
}

uint32_t Places::end(const antlr4::Token *token) const {
  // The end of the file has its stop before its start; an empty token, too.
  size_t stop = std::max(token->getStopIndex() + 1, token->getStartIndex());
  return byteOf[std::min(stop, byteOf.size() - 1)];
}

SourceRange Places::of(const antlr4::Token *token) const {
  return sources.range(file, begin(token), end(token));
}

SourceRange Places::of(const antlr4::Token *first, const antlr4::Token *last) const {
  uint32_t from = begin(first);
  return sources.range(file, from, last ? std::max(from, end(last)) : end(first));
}

llvm::StringRef Places::text(const antlr4::Token *token) const {
  return sources.text(file).slice(begin(token), end(token));
}

bool Places::blankBetween(SourceRange a, SourceRange b) const {
  return sources.text(file).slice(a.end.offset, b.begin.offset).trim().empty();
}
