//===- Tensor.cpp - Named tensors of the reference interpreter ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Tensor.h"

#include "llvm/ADT/Twine.h"
#include <cmath>
#include <cstdio>
#include <limits>

namespace ptlc::run {

int64_t Type::count() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

int64_t Type::find(Name name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return static_cast<int64_t>(i);
  return -1;
}

Sizes Type::strides() const {
  Sizes strides(sizes.size(), 1);
  for (int64_t i = rank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * sizes[i + 1];
  return strides;
}

Sizes Type::stridesAlong(llvm::ArrayRef<Name> iteration) const {
  Sizes own = strides(), result;
  for (Name name : iteration) {
    int64_t dim = find(name);
    result.push_back(dim < 0 ? 0 : own[dim]);
  }
  return result;
}

std::string Type::str() const {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i)
      text += ", ";
    if (i < names.size())
      text += names[i].str() + "=";
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

Tensor::Tensor(Type type, double fill)
    : type_(std::move(type)), data_(std::make_shared<std::vector<double>>(type_.count(), fill)) {}

Tensor::Tensor(Type type, std::vector<double> values)
    : type_(std::move(type)), data_(std::make_shared<std::vector<double>>(std::move(values))) {}

double *Tensor::mutableData() {
  if (data_.use_count() > 1)
    data_ = std::make_shared<std::vector<double>>(*data_);
  return data_->data();
}

Tensor Tensor::as(Type type) const {
  Tensor result = *this;
  result.type_ = std::move(type);
  return result;
}

double poison() { return std::numeric_limits<double>::quiet_NaN(); }

static double wrapToI32(double value) {
  if (std::isnan(value) || std::isinf(value))
    return poison();
  if (std::fabs(value) < 9e15)
    return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(value)));
  return poison();
}

bool isFloat(Element element) {
  return element == Element::F32 || element == Element::F64 || element == Element::BF16;
}

/// The nearest number with 8 bits of significand, ties to even, of the range of f32.
static double roundToBf16(float value) {
  if (!std::isfinite(value) || value == 0)
    return value;
  // Below 2^-126 all numbers have the same distance.
  int exponent = std::max(std::ilogb(value), -126);
  double unit = std::ldexp(1.0, exponent - 7), rounded = std::nearbyint(value / unit) * unit;
  double largest = std::ldexp(255.0, 120);
  return std::fabs(rounded) > largest ? std::copysign(INFINITY, rounded) : rounded;
}

void roundToElement(Tensor &tensor, bool f64) {
  Element element = tensor.type().element;
  bool exact = element == Element::I64 || element == Element::F64;
  if (exact || (isFloat(element) && f64))
    return;
  double *data = tensor.mutableData();
  for (int64_t i = 0, n = tensor.count(); i < n; ++i) {
    if (element == Element::F32)
      data[i] = static_cast<float>(data[i]);
    else if (element == Element::BF16)
      data[i] = roundToBf16(static_cast<float>(data[i]));
    else if (element == Element::I32)
      data[i] = wrapToI32(data[i]);
    else if (!std::isnan(data[i]))
      data[i] = data[i] != 0;
  }
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return std::isnan(value) ? "nan" : text;
}

llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

} // namespace ptlc::run
