//===- Cost.td - Work and traffic of operations ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_INTERFACES_COST_TD
#define PTLC_DIALECTS_INTERFACES_COST_TD

include "mlir/IR/OpBase.td"

def CostInterface : OpInterface<"CostInterface"> {
  let description = [{
    Counts what one execution costs, for the types at hand (local ones after
    partitioning).
  }];
  let cppNamespace = "::ptlc";
  let methods = [
    InterfaceMethod<[{
      Floating-point operations; a fused multiply-add counts two, a transcendental function one.
    }], "int64_t", "getFlops", (ins)>,
    InterfaceMethod<"Bytes read and written if nothing stays in a cache: operands plus results.",
                    "int64_t", "getBytes", (ins)>
  ];
}

#endif // PTLC_DIALECTS_INTERFACES_COST_TD
