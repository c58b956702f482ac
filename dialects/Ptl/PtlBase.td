//===- PtlBase.td - What the operations of ptl are made of -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLBASE_TD
#define PTLC_DIALECTS_PTL_PTLBASE_TD

include "dialects/Ptl/PtlAttrs.td"
include "dialects/Interfaces/ShardingRule.td"
include "dialects/Interfaces/Differentiable.td"
include "dialects/Interfaces/Cost.td"
include "dialects/Interfaces/Expand.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// The interfaces that almost every operation implements.
defvar Ptl_Sharded = DeclareOpInterfaceMethods<ShardingRuleInterface>;
defvar Ptl_Differentiable = DeclareOpInterfaceMethods<DifferentiableInterface>;
defvar Ptl_Counted = DeclareOpInterfaceMethods<CostInterface>;
defvar Ptl_Composite = DeclareOpInterfaceMethods<ExpandInterface>;

/// A pure operation on tensors with all rules.
class Ptl_MathOp<string mnemonic, list<Trait> traits = []>
    : Ptl_Op<mnemonic, !listconcat([Pure, Ptl_Sharded, Ptl_Differentiable, Ptl_Counted], traits)> {
  let hasVerifier = 1;
}

/// A gradient or another operation that isn't differentiated itself.
class Ptl_PlainOp<string mnemonic, list<Trait> traits = []>
    : Ptl_Op<mnemonic, !listconcat([Pure, Ptl_Sharded, Ptl_Counted], traits)> {
  let hasVerifier = 1;
}

#endif // PTLC_DIALECTS_PTL_PTLBASE_TD
