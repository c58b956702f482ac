//===- Train.cpp - Assembly of ptl.accumulate -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Ptl.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

// ptl.accumulate pieces 2 (%k) -> tensor<f32>, tensor<i32> attributes {..} { body }
ParseResult AccumulateOp::parse(OpAsmParser &parser, OperationState &result) {
  int64_t pieces = 0;
  OpAsmParser::Argument piece;
  if (parser.parseKeyword("pieces") || parser.parseInteger(pieces) || parser.parseLParen() ||
      parser.parseArgument(piece) || parser.parseRParen())
    return failure();
  piece.type = parser.getBuilder().getIndexType();
  if (succeeded(parser.parseOptionalArrow()) && parser.parseTypeList(result.types))
    return failure();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute(getPiecesAttrName(result.name),
                      parser.getBuilder().getI64IntegerAttr(pieces));
  return parser.parseRegion(*result.addRegion(), piece);
}

void AccumulateOp::print(OpAsmPrinter &printer) {
  printer << " pieces " << getPieces() << " (";
  printer.printRegionArgument(getBody().getArgument(0), {}, /*omitType=*/true);
  printer << ')';
  if (getNumResults() != 0)
    printer << " -> " << getResultTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), getPiecesAttrName().getValue());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
