//===- OptimizerGraph.cpp - Update rules as kernel graphs -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// AdamW, SGD and the momentum of Muon as in PyTorch, Lion and LAMB as in their
// papers (Chen et al., "Symbolic discovery of optimization algorithms", 2023; You
// et al., "Large batch optimization for deep learning", 2020). The gradient is multiplied by
// the clip factor here: a pass of its own over all gradients would cost as much
// as the update itself.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/OptimizerGraph.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"

using namespace ptlc;
using namespace ptlc::kernel;

namespace {
class Builder {
public:
  Builder(ptl::OptimizeOp op, int64_t rows, int64_t cols) : op(op), loc(op.getLoc()) {
    full = {graph.dim("row", rows), graph.dim("column", cols)};
    graph.iterate = {full[0]};
    weight = input(full);
    Node *raw = input(full, elementOf(op.getGrads().front().getType()));
    for (unsigned i = 0; i < op.getStatesPerWeight(); ++i)
      states.push_back(input(full));
    for (mlir::Value hyper : op.getHypers()) {
      auto known = hyper.getDefiningOp<ptl::ConstantOp>();
      hypers.push_back(known ? constant(known.getValue().convertToDouble()) : input({}));
    }
    step = input({}, Elem::I64);
    gradient = map(Map::Mul, {raw, hypers.back()});
  }

  Graph build() {
    switch (op.getKind()) {
    case ptl::OptimizerKind::AdamW:
      addAdamW();
      break;
    case ptl::OptimizerKind::Sgd:
      addSgd();
      break;
    case ptl::OptimizerKind::Lion:
      addLion();
      break;
    case ptl::OptimizerKind::Muon:
      addMuon();
      break;
    case ptl::OptimizerKind::Lamb:
      addLamb();
      break;
    case ptl::OptimizerKind::Apply:
      output(sub(decayed(hypers[0], hypers[1]), mul(hypers[0], gradient)));
      break;
    }
    return std::move(graph);
  }

private:
  Node *input(DimList dims, Elem elem = Elem::F32) {
    Node *node = graph.add(NodeKind::Input, elem, dims, loc);
    node->argument = graph.arguments.size();
    graph.arguments.push_back({elem, dims});
    return node;
  }
  Node *map(Map kind, llvm::ArrayRef<Node *> operands, Elem elem = Elem::F32) {
    DimList dims;
    for (Node *operand : operands)
      if (operand->dims.size() > dims.size())
        dims = operand->dims;
    Node *node = graph.add(NodeKind::Map, elem, dims, loc);
    node->map = kind;
    node->operands.assign(operands.begin(), operands.end());
    return node;
  }
  Node *constant(double value, Elem elem = Elem::F32) {
    Node *node = graph.add(NodeKind::Constant, elem, {}, loc);
    node->value = value;
    return node;
  }
  Node *add(Node *x, Node *y) { return map(Map::Add, {x, y}); }
  Node *sub(Node *x, Node *y) { return map(Map::Sub, {x, y}); }
  Node *mul(Node *x, Node *y) { return map(Map::Mul, {x, y}); }
  Node *oneMinus(Node *x) { return sub(constant(1), x); }
  void output(Node *node) { graph.outputs.push_back({node, full, loc}); }
  /// weight * (1 - lr * decay)
  Node *decayed(Node *lr, Node *decay) { return mul(weight, oneMinus(mul(lr, decay))); }

  /// What AdamW and LAMB have in common: new moments, and what they are divided by.
  struct Moments {
    Node *m, *v, *correction, *root; ///< `correction` is that of m
  };
  Moments moments(Node *beta1, Node *beta2, Node *eps) {
    Node *count = map(Map::Add, {step, constant(1, Elem::I64)}, Elem::I64);
    Node *correction1 = map(Map::OneMinusPower, {beta1, count}),
         *correction2 = map(Map::OneMinusPower, {beta2, count});
    Node *m = add(states[0], mul(sub(gradient, states[0]), oneMinus(beta1)));
    Node *v = add(mul(states[1], beta2), mul(mul(gradient, gradient), oneMinus(beta2)));
    Node *scale = map(Map::Recip, {map(Map::Sqrt, {correction2})});
    return {m, v, correction1, add(mul(map(Map::Sqrt, {v}), scale), eps)};
  }

  void addAdamW() {
    Node *lr = hypers[0], *decay = hypers[4];
    Moments next = moments(hypers[1], hypers[2], hypers[3]);
    Node *size = map(Map::Div, {lr, next.correction});
    output(sub(decayed(lr, decay), map(Map::Div, {mul(size, next.m), next.root})));
    output(next.m);
    output(next.v);
  }

  void addLamb() {
    Moments next = moments(hypers[0], hypers[1], hypers[2]);
    Node *size = map(Map::Recip, {next.correction});
    output(add(map(Map::Div, {mul(size, next.m), next.root}), mul(hypers[3], weight)));
    output(next.m);
    output(next.v);
  }

  void addMuon() {
    Node *rest = oneMinus(hypers[0]);
    Node *m = add(states[0], mul(sub(gradient, states[0]), rest));
    output(op.getNesterov() ? add(m, mul(sub(gradient, m), rest)) : m);
    output(m);
  }

  void addSgd() {
    Node *lr = hypers[0], *momentum = hypers[1], *dampening = hypers[2], *decay = hypers[3];
    Node *g = add(gradient, mul(decay, weight));
    if (states.empty())
      return output(sub(weight, mul(lr, g)));
    Node *first = map(Map::Eq, {step, constant(0, Elem::I64)}, Elem::I1);
    Node *moved = add(mul(momentum, states[0]), mul(oneMinus(dampening), g));
    Node *buffer = map(Map::Select, {first, g, moved});
    Node *direction = op.getNesterov() ? add(g, mul(momentum, buffer)) : buffer;
    output(sub(weight, mul(lr, direction)));
    output(buffer);
  }

  void addLion() {
    Node *lr = hypers[0], *beta1 = hypers[1], *beta2 = hypers[2], *decay = hypers[3],
         *m = states[0];
    Node *direction = map(Map::Sign, {add(mul(beta1, m), mul(oneMinus(beta1), gradient))});
    output(sub(decayed(lr, decay), mul(lr, direction)));
    output(add(mul(beta2, m), mul(oneMinus(beta2), gradient)));
  }

  ptl::OptimizeOp op;
  mlir::Location loc;
  Graph graph;
  DimList full;
  Node *weight = nullptr, *gradient = nullptr, *step = nullptr;
  llvm::SmallVector<Node *> states, hypers;
};
} // namespace

Graph kernel::optimizerGraph(ptl::OptimizeOp op, int64_t rows, int64_t cols) {
  return Builder(op, rows, cols).build();
}
