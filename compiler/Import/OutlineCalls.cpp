//===- OutlineCalls.cpp - Functions as they are written -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Analysis has expanded every call, and has kept which call each node belongs to.
// Calls are numbered in the order in which they begin, so going backwards meets
// inner ones first; the operations of one lie together, and become the body of a
// function whose inputs are what they read from outside. Equal functions are
// found by comparing bodies, places aside.
//===----------------------------------------------------------------------===//
#include "compiler/Import/OutlineCalls.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/SetVector.h"

using namespace ptlc;
using namespace ptlc::import;
using namespace mlir;

namespace {
class Outliner {
public:
  Outliner(func::FuncOp function, const sema::Program &program, const sema::Graph &graph,
           CallOf callOf, Outlined &known)
      : function(function), program(program), graph(graph), callOf(std::move(callOf)), known(known),
        builder(function) {}
  void run();

private:
  bool isWhole(sema::CallId id, ArrayRef<Operation *> body);
  void outline(sema::CallId id, ArrayRef<Operation *> body);
  func::FuncOp declare(sema::CallId id, ArrayRef<Operation *> body, ArrayRef<Value> inputs,
                       ArrayRef<Value> outputs);
  func::FuncOp findEqual(func::FuncOp made, StringRef name);
  StringAttr pathOf(Value input, StringRef part);

  func::FuncOp function;
  const sema::Program &program;
  const sema::Graph &graph;
  CallOf callOf;
  Outlined &known;
  OpBuilder builder;
};
} // namespace

/// The path of a weight below `part`, or null for another value.
StringAttr Outliner::pathOf(Value input, StringRef part) {
  auto argument = dyn_cast<BlockArgument>(input);
  if (!argument || argument.getOwner() != &function.getBody().front())
    return {};
  auto text = [&](StringRef name) {
    return function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), name);
  };
  if (!text("ptl.role") || text("ptl.role") != "weight")
    return {};
  StringRef path = text("ptl.path").getValue();
  if (!part.empty() && path.consume_front(part))
    path.consume_front(".");
  return StringAttr::get(function.getContext(), path);
}

/// Names and places of random numbers say where in the model a value is. In a function that all
/// parts of a stack share they are relative, and the name that the next part gives to a result is
/// left out.
static void makeRelative(Operation *op, StringRef part) {
  for (StringRef name : {"ptl.name", "place"}) {
    auto text = op->getAttrOfType<StringAttr>(name);
    if (!text || part.empty())
      continue;
    StringRef path = text.getValue();
    if (path.consume_front(part) && (path.consume_front(".") || name == "place"))
      op->setAttr(name, StringAttr::get(op->getContext(), path));
    else if (name == "ptl.name")
      op->removeAttr(name);
  }
}

func::FuncOp Outliner::declare(sema::CallId id, ArrayRef<Operation *> body, ArrayRef<Value> inputs,
                               ArrayRef<Value> outputs) {
  const sema::Call &call = graph.calls[id];
  StringRef part = program.parts[call.part].path;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  auto type =
      builder.getFunctionType(ValueRange(inputs).getTypes(), ValueRange(outputs).getTypes());
  auto made = func::FuncOp::create(builder, body.front()->getLoc(), "outlined", type);
  made.setPrivate();
  Block *block = made.addEntryBlock();
  IRMapping map;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    map.map(input, block->getArgument(number));
    block->getArgument(number).setLoc(input.getLoc());
    if (StringAttr path = pathOf(input, part))
      made.setArgAttr(number, "ptl.path", path);
  }
  builder.setInsertionPointToStart(block);
  for (Operation *op : body)
    makeRelative(builder.clone(*op, map), part);
  SmallVector<Value> returned;
  for (Value output : outputs)
    returned.push_back(map.lookup(output));
  func::ReturnOp::create(builder, made.getLoc(), returned);
  return made;
}

/// Returns the function that computes the same as `made`, which then goes, or `made` under its
/// name.
func::FuncOp Outliner::findEqual(func::FuncOp made, StringRef name) {
  SmallVector<func::FuncOp> &others = known[name];
  for (func::FuncOp other : others)
    if (other.getFunctionType() == made.getFunctionType() &&
        other.getArgAttrsAttr() == made.getArgAttrsAttr() &&
        OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &made.getBody(),
                                                   OperationEquivalence::IgnoreLocations)) {
      made.erase();
      return other;
    }
  std::string symbol = name.str();
  if (!others.empty())
    symbol += "." + std::to_string(others.size());
  made.setSymName(symbol);
  others.push_back(made);
  return made;
}

/// Whether whatever reads a result stands behind the call, so that it can be one operation.
bool Outliner::isWhole(sema::CallId id, ArrayRef<Operation *> body) {
  return llvm::all_of(body, [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return callOf.lookup(user) == id || body.back()->isBeforeInBlock(user);
    });
  });
}

void Outliner::outline(sema::CallId id, ArrayRef<Operation *> body) {
  const sema::Call &call = graph.calls[id];
  llvm::SetVector<Value> inputs, outputs;
  llvm::SmallPtrSet<Operation *, 16> inside(body.begin(), body.end());
  for (Operation *op : body) {
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        inputs.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        outputs.insert(result);
  }
  func::FuncOp made = declare(id, body, inputs.getArrayRef(), outputs.getArrayRef());
  std::string name = call.module.empty() ? call.function : call.module + "." + call.function;
  func::FuncOp target = findEqual(made, name);
  builder.setInsertionPointAfter(body.back());
  auto invoke = func::CallOp::create(builder, body.back()->getLoc(), target, inputs.getArrayRef());
  callOf[invoke] = call.parent;
  for (auto [number, output] : llvm::enumerate(SmallVector<Value>(outputs.getArrayRef())))
    Value(output).replaceAllUsesWith(invoke.getResult(number));
  for (Operation *op : llvm::reverse(body)) {
    callOf.erase(op);
    op->erase();
  }
}

void Outliner::run() {
  for (sema::CallId id = graph.calls.size(); id-- > 1;) {
    SmallVector<Operation *> body;
    for (Operation &op : function.getBody().front())
      if (auto found = callOf.find(&op); found != callOf.end() && found->second == id)
        body.push_back(&op);
    if (!body.empty() && isWhole(id, body))
      outline(id, body);
    else // what is left is shown where it is called
      for (Operation *op : body)
        callOf[op] = graph.calls[id].parent;
  }
}

void ptlc::import::outlineCalls(func::FuncOp function, const sema::Program &program,
                                const sema::Graph &graph, CallOf callOf, Outlined &outlined) {
  Outliner(function, program, graph, std::move(callOf), outlined).run();
}
