//===- Directives.cpp - What a plan says about single values --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Import/Directives.h"

#include "compiler/Import/ProgramAttributes.h"
#include "lang/Sema/Paths.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::import;
using namespace mlir;
using Target = sema::PathRef::Target;

void Directives::collect() {
  isWide = llvm::any_of(plan.mesh, [](const sema::MeshAxis &axis) { return axis.size > 1; });
  for (const sema::ShardRule &rule : plan.shards)
    if (!plan.isVoid(rule.axes))
      addRule(rule);
  if (!isWide)
    return;
  for (const sema::Weight &weight : program.weights)
    for (const sema::Advice &advice : weight.advice)
      if (Entry *entry = advised(advice))
        entry->weights.push_back(weight.path);
  for (const sema::Parameter &parameter : program.loss.parameters)
    for (const sema::Advice &advice : parameter.advice)
      if (Entry *entry = advised(advice))
        entry->fields.push_back(parameter.name);
  for (const sema::NamedValue &value : program.loss.names)
    for (const sema::Advice &advice : value.advice)
      advised(advice);
}

void Directives::addRule(const sema::ShardRule &rule) {
  for (const sema::PathRef &path : rule.in)
    addPath(rule, path);
  if (!rule.in.empty())
    return;
  Entry entry{rule.dim, rule.dims, plan.wide(rule.axes), "dimension", 0, "", rule.range, {}, {}};
  if (rule.between) {
    entry.strength = "between";
    entry.where = ", between: " + rule.between->text;
    stacks[entries.size()] = &*rule.between;
  }
  entries.push_back(std::move(entry));
}

void Directives::addPath(const sema::ShardRule &rule, const sema::PathRef &path) {
  Entry entry{rule.dim,
              rule.dims,
              plan.wide(rule.axes),
              "path",
              path.strength,
              ", in: " + path.text,
              rule.range,
              {},
              {}};
  for (uint32_t weight : path.weights)
    entry.weights.push_back(program.weights[weight].path);
  paths[entries.size()] = &path;
  entries.push_back(std::move(entry));
}

static bool samePlace(lang::SourceRange a, lang::SourceRange b) {
  return a.file == b.file && a.begin.line == b.begin.line && a.begin.column == b.begin.column;
}

/// Returns the entry for the place of an advice, which all parts of a stack share, or null where
/// the mesh has no such axis of more than one device to split over; stages share no values.
Directives::Entry *Directives::advised(const sema::Advice &advice) {
  for (Entry &entry : entries)
    if (entry.strength == "advice" && samePlace(entry.range, advice.range))
      return &entry;
  Entry entry{
      program.dims[advice.dim].name, {advice.dim}, {}, "advice", 0, "", advice.range, {}, {}};
  auto isStages = [&](unsigned axis) {
    return plan.pipeline && llvm::is_contained(plan.pipeline->over.axes, axis);
  };
  for (const std::string &name : advice.axes)
    for (auto [index, axis] : llvm::enumerate(plan.mesh))
      if (axis.name == name && axis.size > 1 && !isStages(index))
        entry.axes.push_back(index);
  if (entry.axes.empty() && !advice.axes.empty())
    return nullptr;
  entries.push_back(std::move(entry));
  return &entries.back();
}

ArrayAttr Directives::attribute(OpBuilder &builder, const lang::SourceManager &sources) const {
  auto texts = [&](const std::vector<std::string> &list) -> Attribute {
    SmallVector<Attribute> attributes;
    for (const std::string &text : list)
      attributes.push_back(builder.getStringAttr(text));
    return builder.getArrayAttr(attributes);
  };
  SmallVector<Attribute> list;
  for (const Entry &entry : entries) {
    std::vector<std::string> dims, axes;
    for (sema::DimId dim : entry.dims)
      dims.push_back(program.dims[dim].qualified);
    for (unsigned axis : entry.axes)
      axes.push_back(plan.mesh[axis].name);
    NamedAttrList attributes;
    attributes.set("dim", builder.getStringAttr(entry.dim));
    attributes.set("dims", texts(dims));
    attributes.set("axes", texts(axes));
    attributes.set("line", builder.getStringAttr(placeOf(entry.range, sources)));
    if (entry.strength != "dimension") {
      attributes.set("strength", builder.getStringAttr(entry.strength));
      attributes.set("length", builder.getI64IntegerAttr(entry.length));
      attributes.set("where", builder.getStringAttr(entry.where));
      attributes.set("weights", texts(entry.weights));
      attributes.set("fields", texts(entry.fields));
    }
    list.push_back(attributes.getDictionary(builder.getContext()));
  }
  return builder.getArrayAttr(list);
}

void Directives::constrain(const sema::Graph &graph, sema::ValueId value, size_t rule, bool held,
                           Constraints &found) const {
  if (!llvm::any_of(entries[rule].dims,
                    [&](sema::DimId dim) { return graph.type(value).has(dim); }))
    return;
  Constraint &constraint = found[value];
  if (!llvm::is_contained(constraint.rules, int64_t(rule)))
    constraint.rules.push_back(rule);
  constraint.held |= held;
}

/// All that is computed inside of the parts, or what is called by the name there.
void Directives::constrainPart(const sema::Program &of, const sema::Graph &graph, size_t rule,
                               const sema::PathRef &path, Constraints &found) const {
  if (path.target == Target::Value)
    for (const sema::NamedValue &value : graph.names)
      if (value.name == path.valueName && llvm::is_contained(path.parts, value.part))
        constrain(graph, value.value, rule, /*held=*/true, found);
  if (path.target != Target::Part)
    return;
  SmallVector<bool> inside;
  for (const sema::Call &call : graph.calls)
    inside.push_back(sema::isInside(of, call.part, path.parts));
  for (const sema::Node &node : graph.nodes)
    if (node.call < inside.size() && inside[node.call])
      constrain(graph, node.results[0], rule, /*held=*/false, found);
}

/// The first argument and the results of each part, where it is called from outside.
void Directives::constrainStack(const sema::Graph &graph, size_t rule, const sema::StackRef &stack,
                                Constraints &found) const {
  for (const sema::Call &call : graph.calls) {
    bool isEntry = call.parent != sema::kNone && llvm::is_contained(stack.parts, call.part) &&
                   graph.calls[call.parent].part != call.part;
    if (!isEntry)
      continue;
    if (!call.arguments.empty())
      constrain(graph, call.arguments.front(), rule, /*held=*/true, found);
    for (sema::ValueId result : call.results)
      constrain(graph, result, rule, /*held=*/true, found);
  }
}

Constraints Directives::constraintsOf(const sema::Program &of, const sema::Graph &graph) const {
  Constraints found;
  if (!isWide)
    return found;
  for (size_t rule = 0; rule < entries.size(); rule++) {
    if (auto path = paths.find(rule); path != paths.end())
      constrainPart(of, graph, rule, *path->second, found);
    else if (auto stack = stacks.find(rule); stack != stacks.end())
      constrainStack(graph, rule, *stack->second, found);
    if (entries[rule].strength != "advice")
      continue;
    for (const sema::NamedValue &value : graph.names)
      for (const sema::Advice &advice : value.advice)
        if (samePlace(entries[rule].range, advice.range))
          constrain(graph, value.value, rule, /*held=*/false, found);
  }
  return found;
}
