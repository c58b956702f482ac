//===- Binding.cpp - How a row kernel meets memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/Binding.h"

#include "llvm/Support/raw_ostream.h"

using namespace ptlc;
using namespace ptlc::kernel;

std::string Binding::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto print = [&](const std::vector<Strides> &all, const std::vector<unsigned> &numbers) {
    for (auto [strides, slot] : llvm::zip_equal(all, numbers)) {
      os << "\nslot " << slot << ':';
      llvm::interleave(strides, os, ",");
    }
  };
  print(arguments, argumentSlots);
  print(outputs, outputSlots);
  os << "\naligned ";
  for (bool isAligned : aligned)
    os << isAligned;
  os << "\nadds ";
  for (bool accumulate : accumulates)
    os << accumulate;
  return text;
}
