//===- NormKernels.cpp - Global norms as row kernels ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/NormKernels.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

/// Elements between two sums of squares, so that each begins at a multiple of 16 bytes.
static constexpr int64_t kSpacing = 4;

static Node *input(Graph &graph, Elem elem, DimList dims, Location loc) {
  Node *node = graph.add(NodeKind::Input, elem, dims, loc);
  node->argument = graph.arguments.size();
  graph.arguments.push_back({elem, dims});
  return node;
}

static Node *sumOver(Graph &graph, Node *node, DimList over, Location loc) {
  Node *sum = graph.add(NodeKind::Reduce, Elem::F32, {}, loc);
  sum->operands = {node};
  sum->operandDims = node->dims;
  sum->over = std::move(over);
  return sum;
}

/// The sum of the squares of a matrix.
static Graph squares(const MatrixLayout &layout, Elem elem, Location loc) {
  Graph graph;
  DimList dims = {graph.dim("row", layout.rows), graph.dim("column", layout.cols)};
  graph.iterate = {dims[0]};
  Node *x = input(graph, elem, dims, loc);
  Node *square = graph.add(NodeKind::Map, Elem::F32, dims, loc);
  square->map = Map::Mul;
  square->operands = {x, x};
  graph.outputs.push_back({sumOver(graph, square, dims, loc), {}, loc});
  return graph;
}

/// The root of a sum of `count` elements.
static Graph rootOfSum(int64_t count, Location loc) {
  Graph graph;
  DimId part = graph.dim("part", count);
  Node *root = graph.add(NodeKind::Map, Elem::F32, {}, loc);
  root->map = Map::Sqrt;
  root->operands = {sumOver(graph, input(graph, Elem::F32, {part}, loc), {part}, loc)};
  graph.outputs.push_back({root, {}, loc});
  return graph;
}

FailureOr<std::vector<codegen::KernelCall>> cuda::normKernels(ptl::GlobalNormOp op,
                                                              const codegen::Places &places,
                                                              codegen::RowKernels &kernels) {
  std::vector<codegen::KernelCall> calls;
  auto add = [&](Graph graph, const codegen::Place &operand, const codegen::Place &result) {
    auto call = kernels.callGraph(std::move(graph), {operand}, {result}, op);
    if (succeeded(call))
      calls.push_back(*call);
    return succeeded(call);
  };
  int64_t count = op.getOperands().size(), behind = places.arena.total();
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    codegen::Place place = places.of(operand);
    codegen::Place sum;
    sum.offset = behind + int64_t(i) * kSpacing * byteSize(Elem::F32);
    if (!add(squares(place.layout, elementOf(operand.getType()), op.getLoc()), place, sum))
      return failure();
  }
  codegen::Place sums;
  sums.offset = behind;
  sums.layout = {count, 1, kSpacing};
  if (!add(rootOfSum(count, op.getLoc()), sums, places.of(op.getResult())))
    return failure();
  return calls;
}
