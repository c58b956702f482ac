//===- Infer.cpp - Result types of operations -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Infer.h"

using namespace mlir;
using namespace ptlc;

SmallVector<StringAttr> ptl::unionDims(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b,
                                       ArrayRef<StringAttr> without) {
  SmallVector<StringAttr> dims;
  for (ArrayRef<StringAttr> names : {a, b})
    for (StringAttr name : names)
      if (!llvm::is_contained(without, name) && !llvm::is_contained(dims, name))
        dims.push_back(name);
  return dims;
}

RankedTensorType ptl::collectType(ArrayRef<StringAttr> dims, ValueRange sources, Type element) {
  SmallVector<int64_t> shape;
  for (StringAttr dim : dims) {
    auto source =
        llvm::find_if(sources, [&](Value value) { return hasDim(value, dim.getValue()); });
    shape.push_back(getDimSize(*source, dim.getValue()));
  }
  return getTensorType(shape, element, dims);
}

RankedTensorType ptl::inferReshape(Type x, ArrayRef<ArrowAttr> arrows, ArrayRef<int64_t> sizes) {
  auto tensor = cast<RankedTensorType>(x);
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> dims;
  for (auto [size, dim] : llvm::zip_equal(tensor.getShape(), getDims(x))) {
    ArrayRef<int64_t> rest = sizes;
    bool replaced = false;
    for (ArrowAttr arrow : arrows) {
      ArrayRef<int64_t> own = rest.take_front(arrow.getTo().size());
      rest = rest.drop_front(arrow.getTo().size());
      if (!llvm::is_contained(arrow.getFrom(), dim))
        continue;
      replaced = true;
      if (dim != arrow.getFrom().front())
        continue;
      dims.append(arrow.getTo().begin(), arrow.getTo().end());
      shape.append(own.begin(), own.end());
    }
    if (replaced)
      continue;
    dims.push_back(dim);
    shape.push_back(size);
  }
  return getTensorType(shape, tensor.getElementType(), dims);
}

RankedTensorType ptl::inferGather(Type table, Type ids, StringAttr dim) {
  auto tensor = cast<RankedTensorType>(table);
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> dims;
  for (auto [size, name] : llvm::zip_equal(tensor.getShape(), getDims(table))) {
    if (name == dim) {
      llvm::append_range(dims, getDims(ids));
      llvm::append_range(shape, cast<RankedTensorType>(ids).getShape());
    } else if (!hasDim(ids, name.getValue())) {
      dims.push_back(name);
      shape.push_back(size);
    }
  }
  return getTensorType(shape, tensor.getElementType(), dims);
}
