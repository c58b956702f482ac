//===- PtlEnums.td - Enumerations of the ptl dialect -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLENUMS_TD
#define PTLC_DIALECTS_PTL_PTLENUMS_TD

include "mlir/IR/EnumAttr.td"

class Ptl_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ptlc::ptl";
}

def Ptl_ElementwiseKind : Ptl_Enum<"ElementwiseKind", "element-wise function", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">,
  I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Div", 3, "div">,
  I32EnumAttrCase<"Mod", 4, "mod">, I32EnumAttrCase<"Pow", 5, "pow">,
  I32EnumAttrCase<"Max", 6, "max">, I32EnumAttrCase<"Min", 7, "min">,
  I32EnumAttrCase<"Neg", 8, "neg">, I32EnumAttrCase<"Exp", 9, "exp">,
  I32EnumAttrCase<"Log", 10, "log">, I32EnumAttrCase<"Sqrt", 11, "sqrt">,
  I32EnumAttrCase<"Rsqrt", 12, "rsqrt">, I32EnumAttrCase<"Sin", 13, "sin">,
  I32EnumAttrCase<"Cos", 14, "cos">, I32EnumAttrCase<"Tanh", 15, "tanh">,
  I32EnumAttrCase<"Sigmoid", 16, "sigmoid">, I32EnumAttrCase<"Abs", 17, "abs">,
  I32EnumAttrCase<"Relu", 18, "relu">, I32EnumAttrCase<"Gelu", 19, "gelu">,
  I32EnumAttrCase<"Silu", 20, "silu">, I32EnumAttrCase<"Floor", 21, "floor">,
  I32EnumAttrCase<"Ceil", 22, "ceil">, I32EnumAttrCase<"Recip", 23, "recip">,
  I32EnumAttrCase<"Sign", 24, "sign">, I32EnumAttrCase<"GeluGrad", 25, "gelu_grad">,
  I32EnumAttrCase<"SiluGrad", 26, "silu_grad">, I32EnumAttrCase<"Eq", 27, "eq">,
  I32EnumAttrCase<"Ne", 28, "ne">, I32EnumAttrCase<"Lt", 29, "lt">,
  I32EnumAttrCase<"Le", 30, "le">, I32EnumAttrCase<"Gt", 31, "gt">,
  I32EnumAttrCase<"Ge", 32, "ge">, I32EnumAttrCase<"And", 33, "and">,
  I32EnumAttrCase<"Or", 34, "or">, I32EnumAttrCase<"Not", 35, "not">,
  I32EnumAttrCase<"Select", 36, "select">, I32EnumAttrCase<"Cast", 37, "cast">]>;

def Ptl_FoldKind : Ptl_Enum<"FoldKind", "how elements are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;

def Ptl_RandomKind : Ptl_Enum<"RandomKind", "distribution", [
  I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Normal", 1, "normal">]>;

def Ptl_OptimizerKind : Ptl_Enum<"OptimizerKind", "optimizer", [
  I32EnumAttrCase<"AdamW", 0, "adamw">, I32EnumAttrCase<"Sgd", 1, "sgd">, I32EnumAttrCase<"Lion", 2, "lion">,
  I32EnumAttrCase<"Muon", 3, "muon">, I32EnumAttrCase<"Lamb", 4, "lamb">, I32EnumAttrCase<"Apply", 5, "apply">]>;

#endif // PTLC_DIALECTS_PTL_PTLENUMS_TD
