//===- LoopHints.cpp - What LLVM is told about loops ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelToLoops/LoopHints.h"

#include "compiler/Conversion/KernelToLoops/KernelToLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

SmallVector<FoldPart> kernel::foldPartsOf(int64_t size) {
  static constexpr std::pair<int64_t, int64_t> kShapes[] = {{16, 2}, {16, 1}, {4, 1}, {1, 1}};
  SmallVector<FoldPart> parts;
  int64_t begin = 0;
  for (auto [lanes, copies] : kShapes) {
    int64_t end = begin + (size - begin) / (lanes * copies) * lanes * copies;
    if (end > begin)
      parts.push_back({begin, end, lanes, copies});
    begin = end;
  }
  return parts;
}

/// A loop that may not be copied.
static LLVM::LoopUnrollAttr noUnrolling(MLIRContext *context) {
  return LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
}

void kernel::fixLanes(Operation *loop, const FoldPart &part) {
  MLIRContext *context = loop->getContext();
  Builder builder(context);
  bool isVector = part.lanes > 1;
  auto vectorize = LLVM::LoopVectorizeAttr::get(
      context, /*disable=*/builder.getBoolAttr(!isVector), {}, {},
      isVector ? builder.getI32IntegerAttr(part.lanes) : IntegerAttr(), {}, {}, {});
  auto interleave = LLVM::LoopInterleaveAttr::get(context, builder.getI32IntegerAttr(part.copies));
  // A short loop would be unrolled before it is seen by the vectoriser, and added up in order.
  auto unroll = isVector ? noUnrolling(context) : LLVM::LoopUnrollAttr();
  loop->setAttr(kLoopAnnotation,
                LLVM::LoopAnnotationAttr::get(context, {}, vectorize, interleave, unroll, {}, {},
                                              {}, {}, {}, {}, {}, {}, {}, {}, {}));
}

void kernel::disableUnrolling(Operation *loop) {
  MLIRContext *context = loop->getContext();
  auto unroll = noUnrolling(context);
  loop->setAttr(kLoopAnnotation, LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {},
                                                               {}, {}, {}, {}, {}, {}, {}, {}, {}));
}
