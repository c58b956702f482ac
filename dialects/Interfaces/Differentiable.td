//===- Differentiable.td - Gradient rules of operations --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_INTERFACES_DIFFERENTIABLE_TD
#define PTLC_DIALECTS_INTERFACES_DIFFERENTIABLE_TD

include "mlir/IR/OpBase.td"

def DifferentiableInterface : OpInterface<"DifferentiableInterface"> {
  let description = [{
    Builds the reverse-mode derivative of one operation on the global view. An
    operation that has gradients of none of its operands implements it, too, and
    leaves every entry null; one without the interface can't be differentiated.
  }];
  let cppNamespace = "::ptlc";
  let methods = [
    InterfaceMethod<[{
      Adds to `gradOperands`, which has one null entry per operand, the gradient of each operand that
      has one, of the operand's type. `gradResults` are the gradients of the results, null where a
      result has none; at least one isn't null. Entries of operands for which `needed` is false may
      stay null. Fails, with a diagnostic, where a derivative isn't supported.
    }], "::mlir::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$gradResults,
         "::llvm::ArrayRef<bool>":$needed, "::llvm::MutableArrayRef<::mlir::Value>":$gradOperands)>
  ];
}

#endif // PTLC_DIALECTS_INTERFACES_DIFFERENTIABLE_TD
