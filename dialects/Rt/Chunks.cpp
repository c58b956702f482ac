//===- Chunks.cpp - Assembly and verifier of rt.chunks --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Syntax.h"
#include "dialects/Rt/Rt.h"

using namespace mlir;
using namespace ptlc;

void rt::ChunksOp::build(OpBuilder &builder, OperationState &state, TypeRange types, int64_t pieces,
                         StringAttr dim) {
  build(builder, state, types, builder.getI64IntegerAttr(pieces), dim);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(state.regions.front().get(), {}, builder.getIndexType(), state.location);
}

// rt.chunks 2 along batch (%k) -> tensor<f32>, tensor<i32> attributes {..} { body }
ParseResult rt::ChunksOp::parse(OpAsmParser &parser, OperationState &result) {
  int64_t pieces = 0;
  StringAttr dim;
  if (parser.parseInteger(pieces) || parser.parseKeyword("along") || ptl::parseName(parser, dim))
    return failure();
  result.addAttribute(getPiecesAttrName(result.name),
                      parser.getBuilder().getI64IntegerAttr(pieces));
  result.addAttribute(getDimAttrName(result.name), dim);
  return ptl::parsePieceLoop(parser, result);
}

void rt::ChunksOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getPieces() << " along ";
  ptl::printName(printer, getDim());
  ptl::printPieceLoop(printer, *this,
                      {getPiecesAttrName().getValue(), getDimAttrName().getValue()});
}

LogicalResult rt::ChunksOp::verifyRegions() {
  int64_t pieces = getPieces();
  if (pieces < 1) // C1
    return emitOpError() << "needs at least one piece, found " << pieces;
  Block &block = getBody().front();
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isIndex()) // C2
    return emitOpError("the body needs one argument of type index");
  auto end = dyn_cast<ReturnOp>(block.getTerminator());
  if (!end || end.getNumOperands() != getNumResults())
    return emitOpError("the body must return as many values as there are results");
  for (auto [number, value] : llvm::enumerate(end.getValues())) { // C3
    Type expected = getResult(number).getType();
    if (isStacked(number)) {
      for (StringAttr name : ptl::getDims(expected)) {
        if (name == getDimAttr())
          break;
        if (ptl::getDimSize(expected, name) > 1)
          return emitOpError() << "'" << getDim() << "' must be the first dimension of result "
                               << number;
      }
      int64_t size = ptl::getDimSize(expected, getDim());
      if (size % pieces)
        return emitOpError() << "can't cut " << size << " of '" << getDim() << "' into " << pieces
                             << " equal pieces";
      expected = ptl::replaceDim(expected, getDimAttr(), getDimAttr(), size / pieces);
    }
    if (value.getType() != expected)
      return emitOpError() << "the body must return " << expected << " as value " << number;
  }
  return success();
}
