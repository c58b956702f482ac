//===- RtEnums.td - Enumerations of the rt dialect -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_RT_RTENUMS_TD
#define PTLC_DIALECTS_RT_RTENUMS_TD

include "mlir/IR/EnumAttr.td"

class Rt_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ptlc::rt";
}

def Rt_KernelKind : Rt_Enum<"KernelKind", "form of a kernel", [
  I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Flat", 1, "flat">, I32EnumAttrCase<"Matmul", 2, "matmul">,
  I32EnumAttrCase<"Attention", 3, "attention">, I32EnumAttrCase<"Single", 4, "single">]>;

def Rt_MemoryLevel : Rt_Enum<"MemoryLevel", "how long a buffer lives", [
  I32EnumAttrCase<"Persistent", 0, "persistent">, I32EnumAttrCase<"Micro", 1, "micro">,
  I32EnumAttrCase<"Scratch", 2, "scratch">]>;

#endif // PTLC_DIALECTS_RT_RTENUMS_TD
