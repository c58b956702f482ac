//===- Program.cpp - The result of semantic analysis ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes and names of types, names of operations.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Program.h"

#include "llvm/ADT/STLExtras.h"

namespace ptlc::sema {

bool Type::has(DimId dim) const { return llvm::is_contained(dims, dim); }

llvm::SmallVector<int64_t, 4> Program::shape(const Type &type) const {
  llvm::SmallVector<int64_t, 4> sizes;
  for (DimId dim : type.dims)
    sizes.push_back(size(dim));
  return sizes;
}

int64_t Program::elements(const Type &type) const {
  int64_t count = 1;
  for (DimId dim : type.dims)
    count *= size(dim);
  return count;
}

std::string Program::typeName(const Type &type) const {
  std::string text = type.kind == Kind::Float ? "[" : type.kind == Kind::Int ? "int[" : "bool[";
  for (DimId dim : type.dims)
    text += (text.back() == '[' ? "" : ", ") + dims[dim].name;
  return text + "]";
}

lang::SourceRange Program::userPlace(const Graph &graph, const Node &node) const {
  lang::SourceRange place = node.range;
  for (CallId call = node.call; call != kNone; call = graph.calls[call].parent) {
    if (!llvm::is_contained(libraryFiles, place.file))
      return place;
    place = graph.calls[call].range;
  }
  return place;
}

int64_t PlanSpec::ranks() const {
  int64_t count = 1;
  for (const MeshAxis &axis : mesh)
    count *= axis.size;
  return count;
}

llvm::StringRef opName(Op op) {
  switch (op) {
#define PTLC_OP(NAME, TEXT)                                                                        \
  case Op::NAME:                                                                                   \
    return TEXT;
    PTLC_OP(Constant, "constant")
    PTLC_OP(Add, "add")
    PTLC_OP(Sub, "sub")
    PTLC_OP(Mul, "mul")
    PTLC_OP(Div, "div")
    PTLC_OP(Mod, "mod")
    PTLC_OP(Pow, "pow")
    PTLC_OP(Max2, "max2")
    PTLC_OP(Min2, "min2")
    PTLC_OP(Eq, "eq")
    PTLC_OP(Ne, "ne")
    PTLC_OP(Lt, "lt")
    PTLC_OP(Le, "le")
    PTLC_OP(Gt, "gt")
    PTLC_OP(Ge, "ge")
    PTLC_OP(And, "and")
    PTLC_OP(Or, "or")
    PTLC_OP(Where, "where")
    PTLC_OP(Neg, "neg")
    PTLC_OP(Not, "not")
    PTLC_OP(Abs, "abs")
    PTLC_OP(Exp, "exp")
    PTLC_OP(Log, "log")
    PTLC_OP(Sqrt, "sqrt")
    PTLC_OP(Rsqrt, "rsqrt")
    PTLC_OP(Sin, "sin")
    PTLC_OP(Cos, "cos")
    PTLC_OP(Tanh, "tanh")
    PTLC_OP(Sigmoid, "sigmoid")
    PTLC_OP(Relu, "relu")
    PTLC_OP(Gelu, "gelu")
    PTLC_OP(Silu, "silu")
    PTLC_OP(Floor, "floor")
    PTLC_OP(Ceil, "ceil")
    PTLC_OP(ToFloat, "float")
    PTLC_OP(ToInt, "int")
    PTLC_OP(StopGradient, "stop_gradient")
    PTLC_OP(Dropout, "dropout")
    PTLC_OP(Dot, "dot")
    PTLC_OP(Sum, "sum")
    PTLC_OP(Mean, "mean")
    PTLC_OP(Max, "max")
    PTLC_OP(Min, "min")
    PTLC_OP(ArgMax, "argmax")
    PTLC_OP(Softmax, "softmax")
    PTLC_OP(LogSoftmax, "log_softmax")
    PTLC_OP(LayerNorm, "layer_norm")
    PTLC_OP(RmsNorm, "rms_norm")
    PTLC_OP(Rope, "rope")
    PTLC_OP(IndexNumber, "index")
    PTLC_OP(Gather, "gather")
    PTLC_OP(Reshape, "reshape")
    PTLC_OP(Reorder, "reorder")
    PTLC_OP(Concat, "concat")
    PTLC_OP(Slice, "slice")
    PTLC_OP(Pad, "pad")
    PTLC_OP(Expand, "expand")
    PTLC_OP(Stack, "stack")
    PTLC_OP(OneHot, "one_hot")
    PTLC_OP(Iota, "iota")
    PTLC_OP(TopK, "top_k")
    PTLC_OP(CrossEntropy, "cross_entropy")
    PTLC_OP(Mse, "mse")
    PTLC_OP(Attention, "attention")
    PTLC_OP(RandomNormal, "random_normal")
    PTLC_OP(RandomUniform, "random_uniform")
#undef PTLC_OP
  }
  return "";
}

} // namespace ptlc::sema
