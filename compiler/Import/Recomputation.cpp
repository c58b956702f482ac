//===- Recomputation.cpp - Rules of `remat` as attributes -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Import/Recomputation.h"

#include "compiler/Import/ProgramAttributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace mlir;
using Target = sema::PathRef::Target;

/// What the words of the language let be computed again, in those of `memory-recompute`.
static SmallVector<StringRef, 2> kindsOf(sema::Remat remat) {
  switch (remat) {
  case sema::Remat::None:
    return {};
  case sema::Remat::Attention:
    return {"attention"};
  case sema::Remat::Selective:
    return {"scores", "gathers"};
  case sema::Remat::Full:
    return {"everything"};
  case sema::Remat::Auto:
    return {"auto"};
  }
  return {};
}

/// The parts that a rule without a path speaks of: of stacks within stacks the outer ones.
static std::vector<std::string> blocksOf(const sema::Program &program) {
  std::vector<std::string> blocks;
  SmallVector<sema::PartId> inStacks;
  for (const sema::PartStack &stack : program.stacks)
    llvm::append_range(inStacks, stack.parts);
  for (const auto &[id, part] : llvm::enumerate(program.parts)) {
    bool isBlock = inStacks.empty() ? part.parent == 0 : llvm::is_contained(inStacks, id);
    for (sema::PartId at = part.parent; isBlock && at != sema::kNone; at = program.parts[at].parent)
      isBlock = !llvm::is_contained(inStacks, at);
    if (isBlock)
      blocks.push_back(part.path);
  }
  return blocks;
}

namespace {
/// One entry of the list.
struct Entry {
  int64_t length = 0;
  std::vector<std::string> parts, values;
};
} // namespace

/// The name that the importer gives the operation of a value, which is the first that it has.
static std::string nameOf(const sema::Program &program, sema::ValueId value) {
  for (const sema::NamedValue &named : program.loss.names)
    if (named.value == value) {
      const std::string &part = program.parts[named.part].path;
      return part.empty() ? named.name : part + "." + named.name;
    }
  return "";
}

static Entry entryOf(const sema::Program &program, const sema::PathRef &path) {
  Entry entry{static_cast<int64_t>(path.strength), {}, {}};
  if (path.target == Target::Part)
    for (sema::PartId id : path.parts)
      entry.parts.push_back(program.parts[id].path);
  if (path.target == Target::Value)
    for (const sema::NamedValue &named : program.loss.names)
      if (named.name == path.valueName && llvm::is_contained(path.parts, named.part))
        entry.values.push_back(nameOf(program, named.value));
  return entry;
}

ArrayAttr import::rematAttribute(OpBuilder &builder, const sema::Program &program,
                                 const sema::PlanSpec &plan, const lang::SourceManager &sources) {
  auto texts = [&](const std::vector<std::string> &list) {
    SmallVector<StringRef> views(list.begin(), list.end());
    return builder.getStrArrayAttr(views);
  };
  SmallVector<Attribute> list;
  for (const sema::RematRule &rule : plan.remats) {
    std::vector<Entry> entries;
    for (const sema::PathRef &path : rule.in)
      entries.push_back(entryOf(program, path));
    if (rule.in.empty())
      entries.push_back({0, blocksOf(program), {}});
    SmallVector<StringRef, 2> kinds = kindsOf(rule.remat);
    for (const Entry &entry : entries) {
      NamedAttrList attributes;
      attributes.set("kinds", builder.getStrArrayAttr(kinds));
      attributes.set("length", builder.getI64IntegerAttr(entry.length));
      attributes.set("parts", texts(entry.parts));
      attributes.set("values", texts(entry.values));
      attributes.set("line", builder.getStringAttr(placeOf(rule.range, sources)));
      list.push_back(attributes.getDictionary(builder.getContext()));
    }
  }
  return builder.getArrayAttr(list);
}
