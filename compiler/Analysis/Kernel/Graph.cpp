//===- Graph.cpp - Construction and text of kernel graphs -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The text of a graph leaves out names and locations, so that the kernels of
// equal layers are equal.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/Graph.h"

#include "llvm/Support/raw_ostream.h"

using namespace ptlc;
using namespace ptlc::kernel;

int64_t kernel::byteSize(Elem elem) {
  switch (elem) {
  case Elem::F32:
  case Elem::I32:
    return 4;
  case Elem::BF16:
    return 2;
  case Elem::I1:
    return 1;
  case Elem::I64:
    return 8;
  }
  return 0;
}

bool kernel::sameSet(llvm::ArrayRef<DimId> a, llvm::ArrayRef<DimId> b) {
  return a.size() == b.size() &&
         llvm::all_of(a, [&](DimId dim) { return llvm::is_contained(b, dim); });
}

DimId Graph::dim(llvm::StringRef name, int64_t size) {
  for (DimId i = 0; i < dims.size(); ++i)
    if (dims[i].name == name && dims[i].size == size)
      return i;
  dims.push_back({name.str(), size});
  return dims.size() - 1;
}

Node *Graph::add(NodeKind kind, Elem elem, DimList list, mlir::Location loc) {
  nodes.push_back(std::make_unique<Node>(kind, elem, std::move(list), loc));
  nodes.back()->id = nodes.size() - 1;
  return nodes.back().get();
}

unsigned Graph::scalar(ScalarSource source) {
  for (unsigned i = 0; i < scalars.size(); ++i)
    if (scalars[i] == source)
      return i;
  scalars.push_back(std::move(source));
  return scalars.size() - 1;
}

int64_t Graph::volume(llvm::ArrayRef<DimId> list) const {
  int64_t result = 1;
  for (DimId dim : list)
    result *= dims[dim].size;
  return result;
}

DimList Graph::inner(llvm::ArrayRef<DimId> list) const {
  DimList result;
  for (DimId dim : list)
    if (!isRow(dim))
      result.push_back(dim);
  return result;
}

static void print(llvm::raw_ostream &os, llvm::ArrayRef<DimId> list) {
  os << '[';
  llvm::interleave(list, os, ",");
  os << ']';
}

static void print(llvm::raw_ostream &os, const Node &node) {
  os << '\n' << node.id << '=' << unsigned(node.kind) << ' ' << unsigned(node.elem);
  print(os, node.dims);
  for (const Node *operand : node.operands)
    os << " %" << operand->id;
  // Bits, not digits: nearby constants must not look equal.
  os << ' ' << node.argument << ' ' << llvm::bit_cast<uint64_t>(node.value) << ' '
     << unsigned(node.map) << unsigned(node.combine) << ' ' << node.offset << ' ' << node.result
     << node.normal << ' ' << node.place;
  print(os, node.over);
  print(os, node.operandDims);
  for (const ReindexGroup &group : node.groups) {
    print(os, group.from);
    print(os, group.to);
    os << group.offset;
  }
  for (const Cut &cut : node.cuts)
    os << " cut " << cut.dim << ',' << cut.global << ',' << cut.start << ',' << cut.valid;
}

std::string Graph::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Dim &dim : dims)
    os << dim.size << ' ';
  print(os, iterate);
  for (const Argument &argument : arguments) {
    os << "\narg " << unsigned(argument.elem);
    print(os, argument.dims);
  }
  os << "\nscalars " << scalars.size();
  for (const std::unique_ptr<Node> &node : nodes)
    print(os, *node);
  for (const Output &output : outputs) {
    os << "\nout %" << output.node->id;
    print(os, output.dims);
  }
  return text;
}
