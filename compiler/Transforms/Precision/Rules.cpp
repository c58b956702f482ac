//===- Rules.cpp - What is stored in bf16 ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Precision/Rules.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ptlc::precision;

Rules::Rules(ModuleOp module) {
  auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan");
  auto list = plan ? plan.getAs<ArrayAttr>("precision") : ArrayAttr();
  if (!list)
    return;
  for (DictionaryAttr entry : list.getAsRange<DictionaryAttr>()) {
    Rule rule;
    rule.bf16 = entry.getAs<StringAttr>("type") == "bf16";
    if (auto strength = entry.getAs<IntegerAttr>("strength"))
      rule.strength = strength.getInt();
    if (auto parts = entry.getAs<ArrayAttr>("parts"))
      llvm::append_range(rule.parts, parts.getAsValueRange<StringAttr>());
    if (auto weights = entry.getAs<ArrayAttr>("weights"))
      for (StringRef path : weights.getAsValueRange<StringAttr>())
        rule.weights.insert(path);
    rules.push_back(std::move(rule));
  }
  llvm::stable_sort(rules, [](const Rule &a, const Rule &b) { return a.strength < b.strength; });
}

bool Rules::isBf16Part(StringRef part) const {
  auto isInside = [&](StringRef outer) {
    return part == outer || (part.starts_with(outer) && part[outer.size()] == '.');
  };
  bool result = false;
  for (const Rule &rule : rules)
    if (rule.strength == 0 || llvm::any_of(rule.parts, isInside))
      result = rule.bf16;
  return result;
}

bool Rules::isBf16Weight(StringRef path) const {
  bool result = false;
  for (const Rule &rule : rules)
    if (rule.strength == 0 || rule.weights.contains(path))
      result = rule.bf16;
  return result;
}
