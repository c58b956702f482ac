//===- Syntax.h - Assembly of axes ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_SYNTAX_H
#define PTLC_DIALECTS_SPMD_SYNTAX_H

#include "dialects/Ptl/Syntax.h"
#include "dialects/Spmd/Spmd.h"

namespace ptlc::spmd {

// custom<MeshAxes>: `[dp = 2, tp = 2]`; custom<AxisList>: `[dp, tp]`.
mlir::ParseResult parseMeshAxes(mlir::OpAsmParser &parser, mlir::ArrayAttr &axes);
void printMeshAxes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr axes);
mlir::ParseResult parseAxisList(mlir::OpAsmParser &parser, AxesAttr &axes);
void printAxisList(mlir::OpAsmPrinter &printer, mlir::Operation *op, AxesAttr axes);

// Shared with the ptl dialect.
using ptl::parseDimName;
using ptl::parseNumber;
using ptl::printDimName;
using ptl::printNumber;

} // namespace ptlc::spmd

#endif // PTLC_DIALECTS_SPMD_SYNTAX_H
