//===- ShardingRule.td - How an operation may be cut -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_INTERFACES_SHARDINGRULE_TD
#define PTLC_DIALECTS_INTERFACES_SHARDINGRULE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleInterface : OpInterface<"ShardingRuleInterface"> {
  let description = [{
    Says how the dimensions of an operation may be divided among devices: see
    `ShardingRule`. An operation without this interface can't be partitioned.
  }];
  let cppNamespace = "::ptlc";
  let methods = [
    InterfaceMethod<"Returns the factors of every operand and result.",
                    "::ptlc::ShardingRule", "getShardingRule", (ins)>
  ];
}

#endif // PTLC_DIALECTS_INTERFACES_SHARDINGRULE_TD
