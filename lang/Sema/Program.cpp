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

llvm::SmallVector<unsigned, 2> PlanSpec::wide(const AxisList &list) const {
  llvm::SmallVector<unsigned, 2> axes;
  for (unsigned axis : list.axes)
    if (mesh[axis].size > 1)
      axes.push_back(axis);
  return axes;
}

llvm::StringRef opName(Op op) {
  switch (op) {
#define PTLC_SEMA_OP(NAME, TEXT)                                                                   \
  case Op::NAME:                                                                                   \
    return TEXT;
#include "lang/Sema/Ops.def"
#undef PTLC_SEMA_OP
  }
  return "";
}

} // namespace ptlc::sema
