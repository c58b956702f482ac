//===- Syntax.cpp - Assembly of axes, shardings and cuts ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Spmd/Syntax.h"

using namespace mlir;
using namespace ptlc;

//===----------------------------------------------------------------------===//
// #spmd.axis, #spmd.axes
//===----------------------------------------------------------------------===//

static ParseResult parseAxisBody(AsmParser &parser, spmd::AxisAttr &axis) {
  StringAttr name;
  int64_t size = 0;
  if (ptl::parseName(parser, name) || parser.parseEqual() || parser.parseInteger(size))
    return failure();
  FloatAttr link;
  if (succeeded(parser.parseOptionalKeyword("link"))) {
    double value = 0;
    if (parser.parseFloat(value))
      return failure();
    link = parser.getBuilder().getF64FloatAttr(value);
  }
  axis = spmd::AxisAttr::get(parser.getContext(), name, size, link);
  return success();
}
static void printAxisBody(AsmPrinter &printer, spmd::AxisAttr axis) {
  ptl::printName(printer, axis.getName().getValue());
  printer << " = " << axis.getSize();
  if (axis.getLink())
    printer << " link " << axis.getLink().getValue();
}

Attribute spmd::AxisAttr::parse(AsmParser &parser, Type) {
  AxisAttr axis;
  if (parser.parseLess() || parseAxisBody(parser, axis) || parser.parseGreater())
    return {};
  return axis;
}
void spmd::AxisAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxisBody(printer, *this);
  printer << '>';
}

Attribute spmd::AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  if (parser.parseLess() || ptl::parseNames(parser, names) || parser.parseGreater())
    return {};
  return AxesAttr::get(parser.getContext(), names);
}
void spmd::AxesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  ptl::printNames(printer, getNames());
  printer << '>';
}

ParseResult spmd::parseMeshAxes(OpAsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    AxisAttr axis;
    if (parseAxisBody(parser, axis))
      return failure();
    list.push_back(axis);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  axes = parser.getBuilder().getArrayAttr(list);
  return success();
}
void spmd::printMeshAxes(OpAsmPrinter &printer, Operation *, ArrayAttr axes) {
  printer << '[';
  llvm::interleaveComma(axes.getAsRange<AxisAttr>(), printer,
                        [&](AxisAttr axis) { printAxisBody(printer, axis); });
  printer << ']';
}

ParseResult spmd::parseAxisList(OpAsmParser &parser, AxesAttr &axes) {
  SmallVector<StringAttr> names;
  if (ptl::parseNames(parser, names))
    return failure();
  axes = AxesAttr::get(parser.getContext(), names);
  return success();
}
void spmd::printAxisList(OpAsmPrinter &printer, Operation *, AxesAttr axes) {
  ptl::printNames(printer, axes.getNames());
}

//===----------------------------------------------------------------------===//
// #spmd.sharding
//===----------------------------------------------------------------------===//

Attribute spmd::ShardingAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  SMLoc location = parser.getCurrentLocation();
  SmallVector<AxesAttr> dims;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<StringAttr> names;
    if (ptl::parseNames(parser, names))
      return failure();
    dims.push_back(AxesAttr::get(context, names));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  SmallVector<StringAttr> partial;
  ptl::FoldKind kind = ptl::FoldKind::Sum;
  if (succeeded(parser.parseOptionalKeyword("partial"))) {
    StringRef word;
    if (parser.parseKeyword(&word))
      return {};
    std::optional<ptl::FoldKind> found = ptl::symbolizeFoldKind(word);
    if (!found) {
      parser.emitError(location, "expected sum, max or min after 'partial', found '")
          << word << "'";
      return {};
    }
    kind = *found;
    if (ptl::parseNames(parser, partial))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return ShardingAttr::getChecked([&] { return parser.emitError(location); }, context,
                                  ArrayRef<AxesAttr>(dims), ArrayRef<StringAttr>(partial), kind);
}

void spmd::ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer,
                        [&](AxesAttr axes) { ptl::printNames(printer, axes.getNames()); });
  printer << ']';
  if (isPartial()) {
    printer << " partial " << ptl::stringifyFoldKind(getKind()) << ' ';
    ptl::printNames(printer, getPartial());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// #spmd.cut, #spmd.cuts
//===----------------------------------------------------------------------===//

static ParseResult parseCutBody(AsmParser &parser, spmd::CutAttr &cut) {
  StringAttr dim;
  SmallVector<StringAttr> axes;
  int64_t global = 0, micro = 1, chunks = 1;
  if (ptl::parseName(parser, dim) || parser.parseKeyword("global") || parser.parseInteger(global))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("axes")) && ptl::parseNames(parser, axes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("micro")) && parser.parseInteger(micro))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("chunks")) && parser.parseInteger(chunks))
    return failure();
  cut = spmd::CutAttr::get(parser.getContext(), dim, global, axes, micro, chunks);
  return success();
}
static void printCutBody(AsmPrinter &printer, spmd::CutAttr cut) {
  ptl::printName(printer, cut.getDim().getValue());
  printer << " global " << cut.getGlobal();
  if (!cut.getAxes().empty()) {
    printer << " axes ";
    ptl::printNames(printer, cut.getAxes());
  }
  if (cut.getMicro() != 1)
    printer << " micro " << cut.getMicro();
  if (cut.getChunks() != 1)
    printer << " chunks " << cut.getChunks();
}

Attribute spmd::CutAttr::parse(AsmParser &parser, Type) {
  CutAttr cut;
  if (parser.parseLess() || parseCutBody(parser, cut) || parser.parseGreater())
    return {};
  return cut;
}
void spmd::CutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printCutBody(printer, *this);
  printer << '>';
}

Attribute spmd::CutsAttr::parse(AsmParser &parser, Type) {
  SmallVector<CutAttr> cuts;
  auto parseOne = [&] { return parseCutBody(parser, cuts.emplace_back()); };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
      parser.parseGreater())
    return {};
  return CutsAttr::get(parser.getContext(), cuts);
}
void spmd::CutsAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getCuts(), printer, [&](CutAttr cut) { printCutBody(printer, cut); });
  printer << "]>";
}
