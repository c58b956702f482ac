//===- Collapse.cpp - Neighbouring dimensions as one ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/Collapse.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::kernel;

namespace {
/// Tries to merge `outer` and `inner`.
class Pair {
public:
  Pair(Graph &graph, StrideLists &arguments, StrideLists &outputs, DimId outer, DimId inner)
      : graph(graph), arguments(arguments), outputs(outputs), outer(outer), inner(inner) {}
  bool isOne() const;
  void merge();

private:
  /// Both are absent, or `inner` follows `outer`.
  bool together(llvm::ArrayRef<DimId> dims) const {
    auto first = llvm::find(dims, outer), second = llvm::find(dims, inner);
    if (first == dims.end() || second == dims.end())
      return first == second;
    return first + 1 == second;
  }
  bool absent(llvm::ArrayRef<DimId> dims) const {
    return !llvm::is_contained(dims, outer) && !llvm::is_contained(dims, inner);
  }
  bool contiguous(llvm::ArrayRef<DimId> dims, llvm::ArrayRef<int64_t> strides) const;
  bool allows(const Node &node) const;
  void shorten(DimList &dims, llvm::SmallVector<int64_t, 4> *strides = nullptr) const;

  Graph &graph;
  StrideLists &arguments, &outputs;
  DimId outer, inner;
  DimId merged = 0;
};
} // namespace

bool Pair::contiguous(llvm::ArrayRef<DimId> dims, llvm::ArrayRef<int64_t> strides) const {
  auto first = llvm::find(dims, outer);
  if (first == dims.end())
    return true;
  size_t i = first - dims.begin();
  return strides[i] == strides[i + 1] * graph.dims[inner].size;
}

bool Pair::allows(const Node &node) const {
  if (!together(node.dims) || !together(node.operandDims))
    return false;
  if (node.kind == NodeKind::Reduce)
    return together(node.over);
  if (node.kind == NodeKind::Iota || node.kind == NodeKind::Random ||
      node.kind == NodeKind::ScatterAdd)
    return absent(node.dims) && absent(node.operandDims) && absent(node.over);
  for (const ReindexGroup &group : node.groups)
    if (!absent(group.from) || !absent(group.to))
      return false;
  for (const Cut &cut : node.cuts)
    if (!absent(cut.dim))
      return false;
  return absent(node.over);
}

bool Pair::isOne() const {
  if (graph.isRow(outer) != graph.isRow(inner) || !together(graph.iterate))
    return false;
  for (const std::unique_ptr<Node> &node : graph.nodes)
    if (!allows(*node))
      return false;
  for (auto [argument, strides] : llvm::zip_equal(graph.arguments, arguments))
    if (!together(argument.dims) || !contiguous(argument.dims, strides))
      return false;
  for (auto [output, strides] : llvm::zip_equal(graph.outputs, outputs))
    if (!together(output.dims) || !contiguous(output.dims, strides))
      return false;
  return true;
}

void Pair::shorten(DimList &dims, llvm::SmallVector<int64_t, 4> *strides) const {
  auto first = llvm::find(dims, outer);
  if (first == dims.end())
    return;
  size_t i = first - dims.begin();
  dims[i] = merged;
  dims.erase(dims.begin() + i + 1);
  if (strides)
    strides->erase(strides->begin() + i);
}

void Pair::merge() {
  graph.dims.push_back({graph.dims[outer].name + "." + graph.dims[inner].name,
                        graph.dims[outer].size * graph.dims[inner].size});
  merged = graph.dims.size() - 1;
  shorten(graph.iterate);
  for (const std::unique_ptr<Node> &node : graph.nodes)
    for (DimList *dims : {&node->dims, &node->operandDims, &node->over})
      shorten(*dims);
  for (auto [argument, strides] : llvm::zip_equal(graph.arguments, arguments))
    shorten(argument.dims, &strides);
  for (auto [output, strides] : llvm::zip_equal(graph.outputs, outputs))
    shorten(output.dims, &strides);
}

void kernel::collapseDims(Graph &graph, StrideLists &arguments, StrideLists &outputs) {
  for (bool changed = true; std::exchange(changed, false);) {
    // Candidates are neighbours in some result or argument.
    llvm::SmallVector<std::pair<DimId, DimId>> candidates;
    auto look = [&](llvm::ArrayRef<DimId> dims) {
      for (size_t i = 0; i + 1 < dims.size(); ++i)
        candidates.push_back({dims[i], dims[i + 1]});
    };
    for (const Output &output : graph.outputs)
      look(output.dims);
    for (const Argument &argument : graph.arguments)
      look(argument.dims);
    for (auto [outer, inner] : candidates) {
      Pair pair(graph, arguments, outputs, outer, inner);
      if (!pair.isOne())
        continue;
      pair.merge();
      changed = true;
      break;
    }
  }
}
