//===- Explain.cpp - Why ranks communicate, and values lie as they do -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Collectives are read from the metadata that goes into the executable, as in the
// report. Why a value is cut is asked of the propagation, run once more on the
// program that it has annotated.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Explain.h"

#include "compiler/Codegen/Target.h"
#include "compiler/Driver/Report.h"
#include "compiler/Import/ProgramAttributes.h"
#include "compiler/Support/Location.h"
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/Rules.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace ptlc;
using namespace mlir;
namespace json = llvm::json;

Expressions::Expressions(const sema::Program &program, const lang::SourceManager &sources) {
  for (const sema::Node &node : program.loss.nodes) {
    lang::SourceRange range = program.userPlace(program.loss, node);
    if (!range.file.isValid())
      continue;
    std::string text, operation = "ptl." + sema::opName(node.op).str();
    for (char c : sources.text(range))
      if (!isspace(static_cast<unsigned char>(c)) || (!text.empty() && text.back() != ' '))
        text += isspace(static_cast<unsigned char>(c)) ? ' ' : c;
    auto &list = entries[import::placeOf(range, sources)];
    if (llvm::none_of(list, [&](const Entry &known) {
          return known.operation == operation && known.text == text;
        }))
      list.push_back({operation, text});
  }
}

std::string Expressions::at(StringRef place, StringRef reason) const {
  auto found = entries.find(place);
  if (found == entries.end())
    return "";
  const Entry *best = nullptr;
  for (const Entry &entry : found->second) {
    bool named = reason.contains("'" + entry.operation + "'");
    if (named)
      return entry.text;
    if (!best || entry.text.size() < best->text.size())
      best = &entry;
  }
  return best->text;
}

/// The reason as a sentence about the expression: "`h @ w2` sums over 'hidden', which is split over
/// tp".
static std::string sentence(const Collective &part, const Expressions &expressions) {
  std::string text = expressions.at(part.line, part.reason);
  StringRef reason = part.reason;
  if (text.empty())
    return reason.str();
  // The operation's name stands for the expression.
  if (reason.starts_with("'ptl."))
    return "`" + text + "`" + reason.drop_front(reason.find("' ") + 1).str();
  return "`" + text + "`: " + reason.str();
}

/// Prints the reason of all that travels in a collective, and what was weighed, too.
static void printReasons(const Collective &collective, const Expressions &expressions,
                         llvm::raw_ostream &os) {
  ArrayRef<Collective> parts(collective.members);
  for (const Collective &part : parts.empty() ? ArrayRef(collective) : parts) {
    os << "      ";
    if (!parts.empty())
      os << bytesText(part.stepBytes()) << " of it, " << part.line << ": ";
    os << sentence(part, expressions) << "\n";
    if (!part.insteadOf.empty())
      os << "        rather than " << part.insteadOf << "\n";
  }
}

/// The axes of a collective; those on slower links say by how much.
static std::string linksText(const Collective &collective, const sharding::Mesh &mesh) {
  std::string text;
  for (const std::string &name : collective.axes) {
    text += (text.empty() ? "" : ", ") + name;
    int axis = mesh.find(name);
    if (axis >= 0 && mesh[axis].weight > 1)
      text += llvm::formatv(" ({0:f1}x)", mesh[axis].weight).str();
  }
  return text;
}

void ptlc::explainCollectives(ModuleOp module, const Expressions &expressions,
                              llvm::raw_ostream &os) {
  size_t number = 0;
  double total = 0;
  bool slow = false;
  sharding::Mesh mesh = shard::readMesh(module);
  for (const sharding::Axis &axis : mesh.all())
    slow |= axis.weight > 1;
  for (const Collective &collective : collectivesOf(module)) {
    total += collective.stepBytes();
    os << llvm::formatv("{0,4}  {1,-14} over {2,-8} {3,12}, {4} x {5}   {6}\n", ++number,
                        collective.kind, linksText(collective, mesh),
                        bytesText(collective.stepBytes()), collective.times,
                        bytesText(collective.bytes), collective.line);
    printReasons(collective, expressions, os);
  }
  if (number == 0)
    os << "ranks don't communicate\n";
  else
    os << llvm::formatv("{0} collectives a step, {1} per rank\n", number, bytesText(total));
  printBuckets(module, os);
  if (slow && number > 0)
    os << "axes marked (2.0x) have links on which a byte costs 2.0 times as much as on the "
          "fastest\n";
}

/// Returns the weight, field or named value of the step, or null.
static Value findValue(func::FuncOp function, StringRef name,
                       SmallVectorImpl<StringRef> &candidates) {
  Value found;
  for (BlockArgument argument : function.getArguments()) {
    auto path = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.path");
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.role");
    if (!path || !role || (role.getValue() != "weight" && role.getValue() != "data"))
      continue;
    candidates.push_back(path.getValue());
    if (path.getValue() == name && !found)
      found = argument;
  }
  function.walk([&](Operation *op) {
    auto named = op->getAttrOfType<StringAttr>("ptl.name");
    if (!named)
      return;
    candidates.push_back(named.getValue());
    if (named.getValue() == name && !found)
      found = op->getResult(0);
  });
  return found;
}

static void printDim(StringRef dim, const sharding::ValueSharding &value, size_t index,
                     const sharding::Mesh &mesh, ArrayRef<sharding::DimRule> rules,
                     llvm::raw_ostream &os) {
  std::string axes = shard::axesText(mesh, value.sharding.dims[index]);
  os << llvm::formatv("  {0,-12} {1,-10}", dim, axes.empty() ? "whole" : axes);
  const sharding::Origin &origin = value.origins[index];
  if (!origin.text.empty()) {
    os << " '" << origin.text << "'";
    os << " (" << rules[origin.rule].line << ")";
    if (origin.via)
      os << ", through '" << origin.via->getName() << "' (" << lineOf(origin.via->getLoc()) << ")";
  } else {
    os << " no rule reaches it";
  }
  os << "\n";
}

bool ptlc::explainName(ModuleOp module, StringRef name, llvm::raw_ostream &os,
                       llvm::raw_ostream &errors) {
  auto function = module.lookupSymbol<func::FuncOp>("step");
  SmallVector<StringRef> candidates;
  Value value = function ? findValue(function, name, candidates) : Value();
  if (!value) {
    errors << "ptlc: error: there is no weight, field or named value '" << name << "'"
           << lang::didYouMean(name, candidates) << "\n";
    return false;
  }
  sharding::Mesh mesh = shard::readMesh(module);
  auto rules = shard::readRules(mesh, module->getAttrOfType<DictionaryAttr>("ptl.plan"));
  sharding::Propagation propagation(function, mesh);
  if (failed(propagation.run(rules)))
    return false;
  os << name << "  " << lineOf(value.getLoc()) << "\n";
  for (auto [index, dim] : llvm::enumerate(ptl::getDims(value)))
    printDim(dim.getValue(), propagation.get(value), index, mesh, rules, os);
  return true;
}
