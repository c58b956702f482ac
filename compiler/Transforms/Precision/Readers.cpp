//===- Readers.cpp - How often values are read ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Precision/Readers.h"

#include "compiler/Support/Stages.h"
#include "mlir/IR/Block.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::precision;

/// What equal operations have in common. `leaders` are those of operands.
static SmallVector<const void *> keyOf(Operation &op, ArrayRef<Value> operands) {
  NamedAttrList attributes(op.getAttrDictionary());
  attributes.erase(kPart);
  SmallVector<const void *> key = {op.getName().getAsOpaquePointer(),
                                   attributes.getDictionary(op.getContext()).getAsOpaquePointer()};
  for (Type type : op.getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Value operand : operands)
    key.push_back(operand.getAsOpaquePointer());
  return key;
}

void Readers::count(Block &block) {
  std::map<SmallVector<const void *>, Operation *> known;
  auto leaderOf = [&](Value value) {
    auto found = leaders.find(value);
    return found == leaders.end() ? value : found->second;
  };
  for (Operation &op : block) {
    SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), leaderOf);
    if (op.getNumResults() > 0 && op.getNumRegions() == 0 && isPure(&op)) {
      auto [first, isNew] = known.try_emplace(keyOf(op, operands), &op);
      if (!isNew) {
        for (auto [value, leader] : llvm::zip_equal(op.getResults(), first->second->getResults()))
          leaders[value] = leader;
        continue;
      }
    }
    for (Value operand : operands)
      ++counts[operand];
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (inner != &op)
          ++counts[leaderOf(operand)];
    });
  }
}

bool Readers::isOne(Value value) const {
  auto found = leaders.find(value);
  Value leader = found == leaders.end() ? value : found->second;
  auto count = counts.find(leader);
  return value.hasOneUse() && (count == counts.end() || count->second == 1);
}
