//===- Syntax.h - Assembly of dimension names and numbers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Custom directives of the assembly formats. A name that is a bare identifier
// is written so, any other one in quotes; a number is the shortest decimal that
// reads back as the same f64.
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_SYNTAX_H
#define PTLC_DIALECTS_PTL_SYNTAX_H

#include "dialects/Ptl/Ptl.h"

namespace ptlc::ptl {

/// Prints `batch` or `"llama.seq"`.
void printName(mlir::AsmPrinter &printer, llvm::StringRef name);
mlir::ParseResult parseName(mlir::AsmParser &parser, mlir::StringAttr &name);
/// Prints `[batch, seq]`.
void printNames(mlir::AsmPrinter &printer, llvm::ArrayRef<mlir::StringAttr> names);
mlir::ParseResult parseNames(mlir::AsmParser &parser,
                             llvm::SmallVectorImpl<mlir::StringAttr> &names);

// custom<DimName>, custom<DimNames>, custom<Dims>, custom<Arrow>, custom<Arrows>, custom<Number>.
mlir::ParseResult parseDimName(mlir::OpAsmParser &parser, mlir::StringAttr &name);
void printDimName(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::StringAttr name);
mlir::ParseResult parseDimNames(mlir::OpAsmParser &parser, mlir::ArrayAttr &names);
void printDimNames(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr names);
mlir::ParseResult parseDims(mlir::OpAsmParser &parser, DimsAttr &dims);
void printDims(mlir::OpAsmPrinter &printer, mlir::Operation *op, DimsAttr dims);
mlir::ParseResult parseArrow(mlir::OpAsmParser &parser, ArrowAttr &arrow);
void printArrow(mlir::OpAsmPrinter &printer, mlir::Operation *op, ArrowAttr arrow);
mlir::ParseResult parseArrows(mlir::OpAsmParser &parser, mlir::ArrayAttr &arrows);
void printArrows(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr arrows);
mlir::ParseResult parseNumber(mlir::OpAsmParser &parser, mlir::FloatAttr &number);
void printNumber(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::FloatAttr number);

/// A loop over pieces, from its argument on: `(%k) -> tensor<f32>, .. attributes {..} { body }`.
/// `elided` are attributes that were printed before it.
mlir::ParseResult parsePieceLoop(mlir::OpAsmParser &parser, mlir::OperationState &result);
void printPieceLoop(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    llvm::ArrayRef<llvm::StringRef> elided);

} // namespace ptlc::ptl

#endif // PTLC_DIALECTS_PTL_SYNTAX_H
