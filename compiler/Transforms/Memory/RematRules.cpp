//===- RematRules.cpp - What a plan lets be computed again ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/RematRules.h"

#include "compiler/Support/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::memory;

static unsigned kindOf(StringRef word) {
  return llvm::StringSwitch<unsigned>(word)
      .Case("pointwise", kPointwise)
      .Case("scores", kScores)
      .Case("attention", kScores | kAttention)
      .Case("everything", kEverything)
      .Case("gathers", kGathers)
      .Default(kNothing);
}

RematRules::RematRules(ModuleOp module) {
  auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan");
  auto list = plan ? plan.getAs<ArrayAttr>("remat") : ArrayAttr();
  if (!list)
    return;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    Rule rule;
    for (auto word : entry.getAs<ArrayAttr>("kinds").getAsRange<StringAttr>())
      rule.kinds |= kindOf(word.getValue());
    rule.length = entry.getAs<IntegerAttr>("length").getInt();
    for (auto name : entry.getAs<ArrayAttr>("values").getAsRange<StringAttr>())
      byValue[name.getValue()].push_back(rules.size());
    for (auto part : entry.getAs<ArrayAttr>("parts").getAsRange<StringAttr>())
      byPart[part.getValue()].push_back(rules.size());
    rules.push_back(std::move(rule));
  }
}

RematChoice RematRules::of(Operation *op) const {
  RematChoice choice;
  int64_t strongest = -1;
  StringRef own = partOf(op->getLoc());
  auto apply = [&](ArrayRef<unsigned> numbers, StringRef segment) {
    for (unsigned number : numbers) {
      const Rule &rule = rules[number];
      if (rule.length > strongest) {
        strongest = rule.length;
        choice.kinds = rule.kinds;
      }
      if (rule.kinds != kNothing)
        choice.segment = segment;
    }
  };
  if (auto name = op->getAttrOfType<StringAttr>("ptl.name"))
    if (auto found = byValue.find(name.getValue()); found != byValue.end())
      apply(found->second, own);
  // From the operation's part outwards, so that the outermost part with a rule is the segment.
  for (StringRef part = own; !part.empty(); part = part.rsplit('.').first) {
    if (auto found = byPart.find(part); found != byPart.end())
      apply(found->second, found->first());
    if (!part.contains('.'))
      break;
  }
  return choice;
}
