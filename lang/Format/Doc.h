//===- Doc.h - Laying out text in lines ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A document is text with places where a line may end (Wadler, "A prettier
// printer", 2003). A group is printed on one line if it fits there; otherwise
// its own line places become line ends, those of inner groups are decided anew.
// A suffix is a comment: it waits for the end of the line that is being
// printed. One that breaks keeps the groups around it off a single line, so that
// it stays with the item that it follows.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_FORMAT_DOC_H
#define PTLC_LANG_FORMAT_DOC_H

#include "llvm/ADT/StringRef.h"

#include <deque>
#include <string>
#include <vector>

namespace ptlc::format {

/// A node of a document; `Docs` makes and owns them.
struct Doc {
  enum class Kind { Text, Line, HardLine, Nest, Group, Concat, Suffix, IfBroken };
  Kind kind = Kind::Text;
  std::string text;               ///< Text, Suffix, IfBroken; Line: what it is on one line
  unsigned indent = 0;            ///< Nest
  std::vector<const Doc *> parts; ///< Nest, Group, Concat
  bool breaks = false;            ///< holds a HardLine or a Suffix that breaks
  unsigned width = 0;             ///< in characters, on one line
};
using DocRef = const Doc *;
using DocList = std::vector<DocRef>;

/// Makes documents and keeps them until it dies.
class Docs {
public:
  DocRef text(llvm::StringRef text);
  DocRef line();     ///< a blank, or the end of the line
  DocRef softLine(); ///< nothing, or the end of the line
  DocRef hardLine(); ///< always the end of the line
  DocRef nest(unsigned indent, DocList parts);
  DocRef group(DocList parts);
  DocRef concat(DocList parts);
  DocRef suffix(llvm::StringRef comment, bool breaks = true);
  DocRef ifBroken(llvm::StringRef text); ///< `text` where the group is broken
  DocRef empty() { return concat({}); }

private:
  DocRef compound(Doc::Kind kind, DocList parts, unsigned indent = 0);

  std::deque<Doc> nodes;
};

/// Prints a document in lines of at most `width` characters where its groups
/// allow it. Comments on neighbouring lines begin in the same column. The result
/// ends in a line end unless it is empty.
std::string layout(DocRef doc, unsigned width);

/// Returns the number of characters (code points) of a text.
unsigned characters(llvm::StringRef text);

} // namespace ptlc::format

#endif // PTLC_LANG_FORMAT_DOC_H
