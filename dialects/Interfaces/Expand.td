//===- Expand.td - Composites as primitives --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_INTERFACES_EXPAND_TD
#define PTLC_DIALECTS_INTERFACES_EXPAND_TD

include "mlir/IR/OpBase.td"

def ExpandInterface : OpInterface<"ExpandInterface"> {
  let description = [{
    A composite operation is defined by its expansion into primitives: sharding
    rules, masks and gradients of the cut form follow from it.
  }];
  let cppNamespace = "::ptlc";
  let methods = [
    InterfaceMethod<[{
      Builds the definition at the builder's insertion point and returns one value per result, of its
      type. The operation itself is left alone.
    }], "::llvm::SmallVector<::mlir::Value>", "expand", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif // PTLC_DIALECTS_INTERFACES_EXPAND_TD
