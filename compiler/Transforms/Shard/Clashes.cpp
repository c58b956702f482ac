//===- Clashes.cpp - Rules that want one axis for two dimensions ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A price is what a partitioned copy of the function sends; the copy is thrown
// away. Pairs of rules are decided one after another, so n pairs cost 2 n
// partitionings, and only where something clashes.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Clashes.h"

#include "compiler/Support/SignatureAttributes.h"
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/ExpandCut.h"
#include "compiler/Transforms/Shard/Partitioner.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace mlir;

/// Returns the origins of the cut dimensions as one text.
static std::string explain(const ValueSharding &value) {
  std::string text;
  for (auto [dim, axes] : llvm::enumerate(value.sharding.dims)) {
    const std::string &origin = value.origins[dim].text;
    if (!axes.empty() && text.find(origin) == std::string::npos)
      text += (text.empty() ? "" : "; ") + origin;
  }
  return text;
}

static void writeShardings(func::FuncOp function, const Mesh &mesh,
                           const Propagation &propagation) {
  MLIRContext *context = function.getContext();
  auto attributeOf = [&](Value value) {
    return shard::toAttribute(context, mesh, propagation.get(value).sharding);
  };
  SignatureAttributes arguments = SignatureAttributes::ofArguments(function);
  for (auto [i, argument] : llvm::enumerate(function.getArguments()))
    arguments.set(i, shard::kSharding, attributeOf(argument));
  arguments.commit();
  function.walk([&](Operation *op) {
    if (op == function || op->getNumResults() == 0)
      return;
    SmallVector<Attribute> shardings, origins;
    for (Value result : op->getResults()) {
      shardings.push_back(attributeOf(result));
      origins.push_back(StringAttr::get(context, explain(propagation.get(result))));
    }
    op->setAttr(shard::kShardings, ArrayAttr::get(context, shardings));
    op->setAttr(shard::kOrigins, ArrayAttr::get(context, origins));
  });
}

/// Returns a pair of rules that nobody has decided.
static std::optional<Clash> openClash(const Propagation &propagation, const Decisions &decided) {
  for (const Clash &clash : propagation.getClashes())
    if (!decided.contains({clash.first, clash.second}))
      return clash;
  return std::nullopt;
}

LogicalResult shard::Annotator::annotate(func::FuncOp function, const Decisions &decided,
                                         std::optional<Clash> &open) {
  // An expansion may hold composites, so until nothing is expanded.
  for (;;) {
    Propagation propagation(function, mesh);
    if (failed(propagation.run(rules, decided)))
      return failure();
    if ((open = openClash(propagation, decided)))
      return success();
    if (expandCut(function, propagation))
      continue;
    writeShardings(function, mesh, propagation);
    return success();
  }
}

FailureOr<Traffic> shard::Annotator::priceOf(func::FuncOp function, const Decisions &decided) {
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfter(function);
  auto copy = cast<func::FuncOp>(builder.clone(*function));
  // Of other pairs that clash the first is taken until their turn comes.
  Decisions all = decided;
  std::optional<Clash> open;
  do {
    if (open)
      all[{open->first, open->second}] = false;
    if (failed(annotate(copy, all, open))) {
      copy.erase();
      return failure();
    }
  } while (open);
  Partitioner partitioner(copy, planner, cutDims);
  LogicalResult done = partitioner.run();
  function->getNextNode()->erase(); // the copy, or what it became
  if (failed(done))
    return failure();
  return partitioner.getTraffic();
}

LogicalResult shard::Annotator::decide(func::FuncOp function, const Clash &clash) {
  Decisions other = decisions;
  std::pair<size_t, size_t> pair(clash.first, clash.second);
  decisions[pair] = false;
  other[pair] = true;
  FailureOr<Traffic> first = priceOf(function, decisions), second = priceOf(function, other);
  if (failed(first) || failed(second))
    return failure();
  bool takesSecond = second->cost < first->cost;
  decisions[pair] = takesSecond;
  const DimRule &winner = rules[takesSecond ? clash.second : clash.first];
  const DimRule &loser = rules[takesSecond ? clash.first : clash.second];
  auto price = [](const Traffic &traffic) {
    return std::to_string(traffic.bytes) + " B in " + std::to_string(traffic.messages) +
           " messages";
  };
  emitRemark(clash.value.getLoc())
      << "'" << winner.text << "' (" << winner.line << ") and '" << loser.text << "' ("
      << loser.line << ") would cut two dimensions of one value by the same axis; the first is "
      << "taken, for " << price(takesSecond ? *second : *first) << " a step and rank instead of "
      << price(takesSecond ? *first : *second);
  return success();
}

LogicalResult shard::Annotator::run(func::FuncOp function) {
  std::optional<Clash> open;
  do {
    if (open && failed(decide(function, *open)))
      return failure();
    if (failed(annotate(function, decisions, open)))
      return failure();
  } while (open);
  return success();
}
