//===- Signature.cpp - Parts of buckets as arguments ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For the rest of the compiler such an argument is a flat tensor that the axes of
// the bucket cut; `ptl.members` says of whose states it consists.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Signature.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

/// "m" of "blocks.0.w#m".
static StringRef kindOf(func::FuncOp step, Value state) {
  auto path =
      step.getArgAttrOfType<StringAttr>(cast<BlockArgument>(state).getArgNumber(), "ptl.path");
  return path.getValue().rsplit('#').second;
}

NamedAttrList Signature::stateAttributes(const Bucket &bucket, ValueRange old) {
  SmallVector<StringRef> members;
  for (const Member &member : bucket.members)
    members.push_back(member.path);
  Builder builder(step.getContext());
  NamedAttrList list(step.getArgAttrDict(cast<BlockArgument>(old.front()).getArgNumber()));
  list.set("ptl.path",
           builder.getStringAttr(bucket.name() + "#" + kindOf(step, old.front()).str()));
  list.set("ptl.members", builder.getStrArrayAttr(members));
  return list;
}

Value Signature::add(const Bucket &bucket, const Plan &plan, ValueRange old,
                     NamedAttrList attributes) {
  spmd::AxesAttr axes = plan.attribute(bucket.axes);
  int64_t ranks = spmd::groupSize(plan.mesh, axes);
  Type whole = ptl::getTensorType({bucket.part.getDimSize(0) * ranks}, bucket.part.getElementType(),
                                  ptl::getDims(bucket.part));
  attributes.set("spmd.global_type", TypeAttr::get(whole));
  attributes.set("spmd.sharding",
                 spmd::ShardingAttr::get(step.getContext(), {axes}, {}, ptl::FoldKind::Sum));
  for (Value each : old)
    oldArguments.push_back(cast<BlockArgument>(each));
  auto first = cast<BlockArgument>(old.front());
  unsigned place = first.getArgNumber();
  if (failed(step.insertArgument(place, bucket.part, attributes.getDictionary(step.getContext()),
                                 first.getLoc())))
    llvm_unreachable("functions of ours have a block");
  return step.getArgument(place);
}

void Signature::returns(Value argument, Value value, ValueRange old) {
  NamedAttrList list;
  unsigned number = cast<BlockArgument>(argument).getArgNumber();
  for (StringRef name :
       {"ptl.path", "ptl.role", "ptl.members", "spmd.global_type", "spmd.sharding"})
    if (Attribute attribute = step.getArgAttr(number, name))
      list.set(name, attribute);
  added.push_back({value, list.getDictionary(step.getContext())});
  llvm::append_range(oldResults, old);
}

void Signature::finish() {
  Operation *end = step.getBody().front().getTerminator();
  llvm::BitVector results(end->getNumOperands());
  unsigned place = end->getNumOperands();
  for (auto [number, value] : llvm::enumerate(end->getOperands()))
    if (llvm::is_contained(oldResults, value)) {
      results.set(number);
      place = std::min<unsigned>(place, number);
    }
  SmallVector<unsigned> places(added.size(), place);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Value> values;
  for (const Result &result : added) {
    types.push_back(result.value.getType());
    attributes.push_back(result.attributes);
    values.push_back(result.value);
  }
  if (failed(step.eraseResults(results)))
    llvm_unreachable("results can be erased");
  end->eraseOperands(results);
  if (failed(step.insertResults(places, types, attributes)))
    llvm_unreachable("results can be added");
  end->insertOperands(place, values);
}

void Signature::eraseArguments() {
  llvm::BitVector arguments(step.getNumArguments());
  for (BlockArgument argument : oldArguments)
    arguments.set(argument.getArgNumber());
  if (failed(step.eraseArguments(arguments)))
    llvm_unreachable("nothing reads these arguments");
}
