//===- Syntax.cpp - Assembly of dimension names and numbers ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Syntax.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace ptlc;

static bool isBareName(StringRef name) {
  if (name.empty() || !(llvm::isAlpha(name.front()) || name.front() == '_'))
    return false;
  return llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

void ptl::printName(AsmPrinter &printer, StringRef name) {
  if (isBareName(name))
    printer << name;
  else
    printer.printString(name);
}

ParseResult ptl::parseName(AsmParser &parser, StringAttr &name) {
  std::string text;
  if (parser.parseKeywordOrString(&text))
    return failure();
  name = parser.getBuilder().getStringAttr(text);
  return success();
}

void ptl::printNames(AsmPrinter &printer, ArrayRef<StringAttr> names) {
  printer << '[';
  llvm::interleaveComma(names, printer,
                        [&](StringAttr name) { printName(printer, name.getValue()); });
  printer << ']';
}

ParseResult ptl::parseNames(AsmParser &parser, SmallVectorImpl<StringAttr> &names) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parseName(parser, names.emplace_back()); });
}

ParseResult ptl::parseDimName(OpAsmParser &parser, StringAttr &name) {
  return parseName(parser, name);
}
void ptl::printDimName(OpAsmPrinter &printer, Operation *, StringAttr name) {
  printName(printer, name.getValue());
}

ParseResult ptl::parseDimNames(OpAsmParser &parser, ArrayAttr &names) {
  SmallVector<StringAttr> list;
  if (parseNames(parser, list))
    return failure();
  names = parser.getBuilder().getArrayAttr(SmallVector<Attribute>(list.begin(), list.end()));
  return success();
}
void ptl::printDimNames(OpAsmPrinter &printer, Operation *, ArrayAttr names) {
  printNames(printer, llvm::to_vector(names.getAsRange<StringAttr>()));
}

ParseResult ptl::parseDims(OpAsmParser &parser, DimsAttr &dims) {
  SmallVector<StringAttr> list;
  if (parseNames(parser, list))
    return failure();
  dims = DimsAttr::get(parser.getContext(), list);
  return success();
}
void ptl::printDims(OpAsmPrinter &printer, Operation *, DimsAttr dims) {
  printNames(printer, dims.getNames());
}

static ParseResult parseArrowBody(AsmParser &parser, ptl::ArrowAttr &arrow) {
  SmallVector<StringAttr> from, to;
  if (ptl::parseNames(parser, from) || parser.parseArrow() || ptl::parseNames(parser, to))
    return failure();
  arrow = ptl::ArrowAttr::get(parser.getContext(), from, to);
  return success();
}
static void printArrowBody(AsmPrinter &printer, ptl::ArrowAttr arrow) {
  ptl::printNames(printer, arrow.getFrom());
  printer << " -> ";
  ptl::printNames(printer, arrow.getTo());
}

ParseResult ptl::parseArrow(OpAsmParser &parser, ArrowAttr &arrow) {
  return parseArrowBody(parser, arrow);
}
void ptl::printArrow(OpAsmPrinter &printer, Operation *, ArrowAttr arrow) {
  printArrowBody(printer, arrow);
}

ParseResult ptl::parseArrows(OpAsmParser &parser, ArrayAttr &arrows) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    ArrowAttr arrow;
    if (parseArrowBody(parser, arrow))
      return failure();
    list.push_back(arrow);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  arrows = parser.getBuilder().getArrayAttr(list);
  return success();
}
void ptl::printArrows(OpAsmPrinter &printer, Operation *, ArrayAttr arrows) {
  printer << '[';
  llvm::interleaveComma(arrows.getAsRange<ArrowAttr>(), printer,
                        [&](ArrowAttr arrow) { printArrowBody(printer, arrow); });
  printer << ']';
}

Attribute ptl::DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  if (parser.parseLess() || parseNames(parser, names) || parser.parseGreater())
    return {};
  return DimsAttr::get(parser.getContext(), names);
}
void ptl::DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printNames(printer, getNames());
  printer << '>';
}

Attribute ptl::ArrowAttr::parse(AsmParser &parser, Type) {
  ArrowAttr arrow;
  if (parser.parseLess() || parseArrowBody(parser, arrow) || parser.parseGreater())
    return {};
  return arrow;
}
void ptl::ArrowAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printArrowBody(printer, *this);
  printer << '>';
}

ParseResult ptl::parseNumber(OpAsmParser &parser, FloatAttr &number) {
  bool negative = succeeded(parser.parseOptionalMinus());
  double value = 0;
  if (succeeded(parser.parseOptionalKeyword("inf"))) {
    value = INFINITY;
  } else {
    APInt integer;
    OptionalParseResult isInteger = parser.parseOptionalInteger(integer);
    if (isInteger.has_value() && failed(*isInteger))
      return failure();
    if (isInteger.has_value())
      value = integer.signedRoundToDouble();
    else if (parser.parseFloat(value))
      return failure();
  }
  number = parser.getBuilder().getF64FloatAttr(negative ? -value : value);
  return success();
}

void ptl::printNumber(OpAsmPrinter &printer, Operation *, FloatAttr number) {
  double value = number.getValueAsDouble();
  if (std::isinf(value)) {
    printer << (value < 0 ? "-inf" : "inf");
    return;
  }
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    printer << int64_t(value);
    return;
  }
  std::string text;
  for (int precision = 1; precision <= 17; ++precision) {
    char buffer[32];
    snprintf(buffer, sizeof(buffer), "%.*g", precision, value);
    text = buffer;
    if (std::strtod(buffer, nullptr) == value)
      break;
  }
  // The lexer wants a point before an exponent.
  size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  printer << text;
}

ParseResult ptl::parsePieceLoop(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument piece;
  if (parser.parseLParen() || parser.parseArgument(piece) || parser.parseRParen())
    return failure();
  piece.type = parser.getBuilder().getIndexType();
  if (succeeded(parser.parseOptionalArrow()) && parser.parseTypeList(result.types))
    return failure();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), piece);
}

void ptl::printPieceLoop(OpAsmPrinter &printer, Operation *op, ArrayRef<StringRef> elided) {
  Region &body = op->getRegion(0);
  printer << " (";
  printer.printRegionArgument(body.getArgument(0), {}, /*omitType=*/true);
  printer << ')';
  if (op->getNumResults() != 0)
    printer << " -> " << op->getResultTypes();
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}
