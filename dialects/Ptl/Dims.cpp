//===- Dims.cpp - Tensor types with named dimensions ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Dims.h"
#include "dialects/Ptl/Ptl.h"

using namespace mlir;
using namespace ptlc;

ArrayRef<StringAttr> ptl::getDims(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto dims = tensor ? dyn_cast_or_null<DimsAttr>(tensor.getEncoding()) : DimsAttr();
  return dims ? dims.getNames() : ArrayRef<StringAttr>();
}

RankedTensorType ptl::getTensorType(ArrayRef<int64_t> shape, Type element,
                                    ArrayRef<StringAttr> dims) {
  Attribute encoding = dims.empty() ? Attribute() : DimsAttr::get(element.getContext(), dims);
  return RankedTensorType::get(shape, element, encoding);
}

std::optional<unsigned> ptl::findDim(Type type, StringRef name) {
  for (auto [index, dim] : llvm::enumerate(getDims(type)))
    if (dim.getValue() == name)
      return index;
  return std::nullopt;
}

bool ptl::hasDim(Type type, StringRef name) { return findDim(type, name).has_value(); }

int64_t ptl::getDimSize(Type type, StringRef name) {
  return cast<RankedTensorType>(type).getDimSize(*findDim(type, name));
}

RankedTensorType ptl::withElement(Type type, Type element) {
  return cast<RankedTensorType>(type).clone(element);
}

RankedTensorType ptl::withoutDims(Type type, ArrayRef<StringAttr> names) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> dims;
  for (auto [size, dim] : llvm::zip_equal(tensor.getShape(), getDims(type))) {
    if (llvm::is_contained(names, dim))
      continue;
    shape.push_back(size);
    dims.push_back(dim);
  }
  return getTensorType(shape, tensor.getElementType(), dims);
}

RankedTensorType ptl::replaceDim(Type type, StringAttr from, StringAttr to, int64_t size) {
  auto tensor = cast<RankedTensorType>(type);
  auto shape = llvm::to_vector(tensor.getShape());
  auto dims = llvm::to_vector(getDims(type));
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (dim != from)
      continue;
    dim = to;
    shape[index] = size;
  }
  return getTensorType(shape, tensor.getElementType(), dims);
}

Type ptl::elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

bool ptl::isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

bool ptl::isNamedTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  Type element = tensor.getElementType();
  if (!isa<FloatType>(element) && !element.isSignlessInteger(1) && !element.isSignlessInteger(32) &&
      !element.isSignlessInteger(64))
    return false;
  ArrayRef<StringAttr> dims = getDims(type);
  if (dims.size() != size_t(tensor.getRank()) || (dims.empty() && tensor.getEncoding()))
    return false;
  for (auto [index, dim] : llvm::enumerate(dims))
    if (llvm::is_contained(dims.take_front(index), dim))
      return false;
  return true;
}

std::string ptl::printDims(ArrayRef<StringAttr> names) {
  std::string text = "[";
  for (StringAttr name : names) {
    if (text.size() > 1)
      text += ", ";
    text += name.getValue();
  }
  return text + "]";
}

bool ptl::DimsAttr::contains(StringRef name) const {
  return llvm::any_of(getNames(), [&](StringAttr dim) { return dim.getValue() == name; });
}

LogicalResult ptl::DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                            function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() == getNames().size())
    return success();
  return emitError() << "a tensor of rank " << shape.size() << " needs " << shape.size()
                     << " dimension names, found " << getNames().size();
}
