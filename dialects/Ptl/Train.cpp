//===- Train.cpp - Assembly of ptl.accumulate -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Syntax.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

// ptl.accumulate pieces 2 (%k) -> tensor<f32>, tensor<i32> attributes {..} { body }
ParseResult AccumulateOp::parse(OpAsmParser &parser, OperationState &result) {
  int64_t pieces = 0;
  if (parser.parseKeyword("pieces") || parser.parseInteger(pieces))
    return failure();
  result.addAttribute(getPiecesAttrName(result.name),
                      parser.getBuilder().getI64IntegerAttr(pieces));
  return parsePieceLoop(parser, result);
}

void AccumulateOp::print(OpAsmPrinter &printer) {
  printer << " pieces " << getPieces();
  printPieceLoop(printer, *this, getPiecesAttrName().getValue());
}
