//===- Doc.cpp - Laying out text in lines ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Format/Doc.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::format;
using llvm::StringRef;

unsigned ptlc::format::characters(StringRef text) {
  return llvm::count_if(text,
                        [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

DocRef Docs::text(StringRef text) {
  Doc &doc = nodes.emplace_back();
  doc.text = text.str();
  doc.width = characters(text);
  return &doc;
}

DocRef Docs::line() {
  Doc &doc = nodes.emplace_back();
  doc.kind = Doc::Kind::Line;
  doc.text = " ";
  doc.width = 1;
  return &doc;
}

DocRef Docs::softLine() {
  Doc &doc = nodes.emplace_back();
  doc.kind = Doc::Kind::Line;
  return &doc;
}

DocRef Docs::hardLine() {
  Doc &doc = nodes.emplace_back();
  doc.kind = Doc::Kind::HardLine;
  doc.breaks = true;
  return &doc;
}

DocRef Docs::suffix(StringRef comment, bool breaks) {
  Doc &doc = nodes.emplace_back();
  doc.kind = Doc::Kind::Suffix;
  doc.text = comment.str();
  doc.breaks = breaks;
  return &doc;
}

DocRef Docs::ifBroken(StringRef text) {
  Doc &doc = nodes.emplace_back();
  doc.kind = Doc::Kind::IfBroken;
  doc.text = text.str();
  return &doc;
}

DocRef Docs::compound(Doc::Kind kind, DocList parts, unsigned indent) {
  Doc &doc = nodes.emplace_back();
  doc.kind = kind;
  doc.indent = indent;
  for (DocRef part : parts) {
    doc.breaks |= part->breaks;
    doc.width += part->width;
  }
  doc.parts = std::move(parts);
  return &doc;
}

DocRef Docs::nest(unsigned indent, DocList parts) {
  return compound(Doc::Kind::Nest, std::move(parts), indent);
}
DocRef Docs::group(DocList parts) { return compound(Doc::Kind::Group, std::move(parts)); }
DocRef Docs::concat(DocList parts) { return compound(Doc::Kind::Concat, std::move(parts)); }

namespace {

class Layout {
public:
  explicit Layout(unsigned width) : width(width) {}

  std::string run(DocRef doc) {
    stack.push_back({doc, 0, /*broken=*/true});
    while (!stack.empty()) {
      Command command = stack.back();
      stack.pop_back();
      step(command);
    }
    endLine();
    return join();
  }

private:
  struct Command {
    DocRef doc;
    unsigned indent;
    bool broken;
  };
  struct Line {
    std::string code;
    std::string comment;
  };

  void push(const DocList &parts, unsigned indent, bool broken) {
    for (DocRef part : llvm::reverse(parts))
      stack.push_back({part, indent, broken});
  }

  void step(const Command &command) {
    const Doc &doc = *command.doc;
    switch (doc.kind) {
    case Doc::Kind::Text:
      write(doc.text);
      break;
    case Doc::Kind::IfBroken:
      if (command.broken)
        write(doc.text);
      break;
    case Doc::Kind::Suffix:
      current.comment += (current.comment.empty() ? "" : " ") + doc.text;
      break;
    case Doc::Kind::Line:
      if (command.broken)
        newLine(command.indent);
      else
        write(doc.text);
      break;
    case Doc::Kind::HardLine:
      newLine(command.indent);
      break;
    case Doc::Kind::Nest:
      push(doc.parts, command.indent + doc.indent, command.broken);
      break;
    case Doc::Kind::Concat:
      push(doc.parts, command.indent, command.broken);
      break;
    case Doc::Kind::Group:
      push(doc.parts, command.indent, doc.breaks || !fits(doc));
      break;
    }
  }

  /// Returns whether a group and what follows it, up to the next place where a
  /// line may end, fit on the current line.
  bool fits(const Doc &group) const {
    unsigned used = column + group.width;
    for (const Command &command : llvm::reverse(stack)) {
      if (used > width)
        return false;
      if (!addUntilLineEnd(*command.doc, command.broken, used))
        break;
    }
    return used <= width;
  }

  /// Adds the width of a document that is printed next; returns false once it may end the line.
  static bool addUntilLineEnd(const Doc &doc, bool broken, unsigned &used) {
    switch (doc.kind) {
    case Doc::Kind::Line:
    case Doc::Kind::HardLine:
      if (broken || doc.kind == Doc::Kind::HardLine)
        return false;
      used += doc.width;
      return true;
    case Doc::Kind::IfBroken:
      used += broken ? characters(doc.text) : 0;
      return true;
    case Doc::Kind::Group:
      // A later group may break at its first place.
      return llvm::all_of(
          doc.parts, [&](DocRef part) { return addUntilLineEnd(*part, /*broken=*/true, used); });
    case Doc::Kind::Nest:
    case Doc::Kind::Concat:
      return llvm::all_of(doc.parts,
                          [&](DocRef part) { return addUntilLineEnd(*part, broken, used); });
    case Doc::Kind::Text:
    case Doc::Kind::Suffix:
      used += doc.width;
      return true;
    }
    return true;
  }

  void write(StringRef text) {
    if (text.empty())
      return;
    if (current.code.empty()) {
      current.code.assign(pendingIndent, ' ');
      column = pendingIndent;
    }
    current.code += text;
    column += characters(text);
  }

  void endLine() {
    current.code = StringRef(current.code).rtrim().str();
    lines.push_back(std::move(current));
    current = Line();
  }

  void newLine(unsigned indent) {
    endLine();
    pendingIndent = column = indent;
  }

  /// Joins the lines, comments of neighbouring lines aligned.
  std::string join() const {
    std::string text;
    for (size_t i = 0; i < lines.size();) {
      size_t end = i;
      unsigned widest = 0;
      for (; end < lines.size() && hasBoth(lines[end]); ++end)
        widest = std::max(widest, characters(lines[end].code));
      for (; i < end; ++i)
        text += lines[i].code + std::string(widest + 2 - characters(lines[i].code), ' ') +
                lines[i].comment + "\n";
      if (i < lines.size()) {
        text += lines[i].code + lines[i].comment + "\n";
        ++i;
      }
    }
    return StringRef(text).trim('\n').empty() ? "" : StringRef(text).rtrim('\n').str() + "\n";
  }

  static bool hasBoth(const Line &line) { return !line.code.empty() && !line.comment.empty(); }

  unsigned width;
  unsigned column = 0, pendingIndent = 0;
  std::vector<Command> stack;
  std::vector<Line> lines;
  Line current;
};

} // namespace

std::string ptlc::format::layout(DocRef doc, unsigned width) { return Layout(width).run(doc); }
