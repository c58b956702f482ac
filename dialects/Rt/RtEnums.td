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
  I32EnumAttrCase<"Scratch", 2, "scratch">, I32EnumAttrCase<"Slots", 3, "slots">]>;

// What a slot of a pipeline's table holds; the numbers are those of ptlrt/schedule.h.
def Rt_SlotKind : Rt_Enum<"SlotKind", "what a slot holds", [
  I32EnumAttrCase<"Input", 0, "input">, I32EnumAttrCase<"Stash", 1, "stash">, I32EnumAttrCase<"Output", 2, "output">,
  I32EnumAttrCase<"Gradient", 3, "gradient">, I32EnumAttrCase<"InputGradient", 4, "input_gradient">,
  I32EnumAttrCase<"Context", 5, "context">]>;

// What a loop over micro-batches does for a stage of a pipeline; the numbers are those of ptlrt/schedule.h.
def Rt_PhaseKind : Rt_Enum<"PhaseKind", "part of a stage's work", [
  I32EnumAttrCase<"Forward", 1, "forward">, I32EnumAttrCase<"Backward", 2, "backward">,
  I32EnumAttrCase<"WeightGradient", 3, "weight_gradient">, I32EnumAttrCase<"WholeBackward", 4, "whole_backward">,
  I32EnumAttrCase<"Loss", 5, "loss">]>;

#endif // PTLC_DIALECTS_RT_RTENUMS_TD
