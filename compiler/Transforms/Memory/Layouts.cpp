//===- Layouts.cpp - How tensors are folded to matrices -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/Layouts.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::memory;

int64_t memory::elementBytes(Type tensor) { return kernel::byteSize(kernel::elementOf(tensor)); }

Layouts::Layouts(ModuleOp module) {
  module.walk([&](ptl::DotOp op) {
    if (op->getParentOfType<rt::KernelOp>().getKind() == rt::KernelKind::Matmul)
      followDot(op);
  });
  for (bool changed = true; std::exchange(changed, false);)
    module.walk([&](ptl::ReshapeOp op) {
      if (!op->getParentOfType<rt::KernelOp>())
        changed |= followReshape(op);
    });
  findBuckets(module);
}

void Layouts::want(Type tensor, unsigned count) {
  unsigned &now = columns[cast<RankedTensorType>(tensor).getEncoding()];
  now = std::max(now, count);
}

void Layouts::followDot(ptl::DotOp op) {
  for (Value value : {op.getLhs(), op.getRhs(), op.getResult()}) {
    ArrayRef<StringAttr> dims = ptl::getDims(value);
    auto group = [&](StringAttr name) {
      return std::tuple(ptl::hasDim(op.getLhs(), name), ptl::hasDim(op.getRhs(), name));
    };
    unsigned count = 0;
    while (count < dims.size() && group(dims[dims.size() - 1 - count]) == group(dims.back()))
      ++count;
    // A tensor that is one row has nothing to pad, but an equally named one may have.
    if (count)
      want(value.getType(), std::min<unsigned>(count, std::max<size_t>(dims.size() - 1, 1)));
  }
}

/// Returns whether a fold became known: that of the other side, if it is a view then.
bool Layouts::followReshape(ptl::ReshapeOp op) {
  RankedTensorType from = cast<RankedTensorType>(op.getX().getType()),
                   to = op.getResult().getType();
  bool knowsFrom = columns.contains(from.getEncoding()),
       knowsTo = columns.contains(to.getEncoding());
  if (knowsFrom == knowsTo || !from.getRank() || !to.getRank())
    return false;
  RankedTensorType known = knowsFrom ? from : to, other = knowsFrom ? to : from;
  int64_t cols = of(known).cols, product = 1;
  for (unsigned count = 1; count <= other.getRank(); ++count) {
    product *= other.getDimSize(other.getRank() - count);
    if (product != cols)
      continue;
    columns[other.getEncoding()] = count;
    return true;
  }
  return false;
}

kernel::MatrixLayout Layouts::of(Type tensor) const {
  auto type = cast<RankedTensorType>(tensor);
  if (!type.getRank())
    return {};
  auto it = columns.find(type.getEncoding());
  unsigned count = it == columns.end() ? 1 : it->second;
  return kernel::foldShape(type.getShape(), type.getRank() - count, elementBytes(type),
                           /*padded=*/true);
}

int64_t Layouts::bytes(Type tensor) const { return of(tensor).elements() * elementBytes(tensor); }

bool Layouts::isView(ptl::ReshapeOp op) const {
  ArrayRef<StringAttr> dims = ptl::getDims(op.getX());
  for (ptl::ArrowAttr arrow : op.getArrowRange()) {
    // Row-major order is kept only if the old dimensions are neighbours.
    auto first = llvm::find(dims, arrow.getFrom().front());
    if (size_t(dims.end() - first) < arrow.getFrom().size() ||
        !std::equal(arrow.getFrom().begin(), arrow.getFrom().end(), first))
      return false;
  }
  return of(op.getX().getType()) == of(op.getResult().getType());
}
