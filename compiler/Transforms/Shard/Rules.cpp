//===- Rules.cpp - The plan's shard rules ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Rules.h"

#include "llvm/ADT/StringSwitch.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace mlir;

static Strength strengthOf(DictionaryAttr entry) {
  auto name = entry.getAs<StringAttr>("strength");
  return llvm::StringSwitch<Strength>(name ? name.getValue() : "dimension")
      .Case("path", Strength::Path)
      .Case("between", Strength::Between)
      .Case("advice", Strength::Advice)
      .Default(Strength::Dimension);
}

static void addNames(DictionaryAttr entry, StringRef key, llvm::StringSet<> &names) {
  if (auto list = entry.getAs<ArrayAttr>(key))
    for (auto name : list.getAsRange<StringAttr>())
      names.insert(name.getValue());
}

SmallVector<DimRule> ptlc::shard::readRules(const Mesh &mesh, DictionaryAttr plan) {
  SmallVector<DimRule> rules;
  for (auto entry : plan.getAs<ArrayAttr>("shard").getAsRange<DictionaryAttr>()) {
    DimRule rule;
    std::string axes;
    for (auto dim : entry.getAs<ArrayAttr>("dims").getAsRange<StringAttr>())
      rule.dims.push_back(dim.str());
    for (auto name : entry.getAs<ArrayAttr>("axes").getAsRange<StringAttr>()) {
      axes += (axes.empty() ? "" : ", ") + name.str();
      if (int axis = mesh.find(name.getValue()); axis >= 0)
        rule.axes.push_back(axis);
    }
    axes = axes.empty() ? "none" : axes;
    rule.strength = strengthOf(entry);
    if (auto length = entry.getAs<IntegerAttr>("length"))
      rule.length = length.getInt();
    addNames(entry, "weights", rule.weights);
    addNames(entry, "fields", rule.fields);
    auto where = entry.getAs<StringAttr>("where");
    std::string dim = entry.getAs<StringAttr>("dim").str();
    rule.text = rule.strength == Strength::Advice
                    ? "advice " + dim + " @ " + axes
                    : "shard " + dim + ": " + axes + (where ? where.str() : "");
    rule.line = entry.getAs<StringAttr>("line").str();
    rules.push_back(rule);
  }
  return rules;
}

llvm::StringSet<> ptlc::shard::cutEverywhere(const Mesh &mesh, ModuleOp module) {
  llvm::StringSet<> dims;
  if (auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan"))
    for (const DimRule &rule : readRules(mesh, plan))
      if (rule.strength == Strength::Dimension && !rule.axes.empty())
        dims.insert(rule.dims.begin(), rule.dims.end());
  return dims;
}
