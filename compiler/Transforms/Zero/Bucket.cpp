//===- Bucket.cpp - Weights that are stored and updated together ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Bucket.h"

#include "compiler/Support/Location.h"
#include "compiler/Transforms/Zero/Gather.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

/// "blocks.3" of "blocks.3.attn.wq", "head" of "head.w": what is computed at one time.
static StringRef layerOf(StringRef path) {
  size_t end = path.find('.');
  for (size_t begin = 0; end != StringRef::npos; begin = end + 1, end = path.find('.', begin)) {
    StringRef name = path.slice(end + 1, path.find('.', end + 1));
    if (!name.empty() && llvm::all_of(name, llvm::isDigit))
      return path.take_front(end + 1 + name.size());
    if (name.empty())
      break;
  }
  return path.split('.').first;
}

static int64_t elementsOf(const Member &member) {
  return cast<RankedTensorType>(member.type).getNumElements();
}

NamedAttrList Bucket::weightAttributes() const {
  Builder builder(part.getContext());
  SmallVector<Attribute> list;
  for (const Member &member : members) {
    NamedAttrList entry(member.attributes);
    entry.set("type", TypeAttr::get(member.type));
    if (!member.line.empty())
      entry.set("line", builder.getStringAttr(member.line));
    list.push_back(entry.getDictionary(part.getContext()));
  }
  NamedAttrList attributes;
  attributes.set("ptl.path", builder.getStringAttr(name()));
  attributes.set("ptl.role", builder.getStringAttr("weight"));
  attributes.set("ptl.members", builder.getArrayAttr(list));
  return attributes;
}

namespace {
/// Members that are split alike, in order.
struct Alike {
  Rule rule;
  Axes pending;
  Type read;
  SmallVector<Member, 0> members;
};
} // namespace

static void close(std::vector<Bucket> &buckets, const Alike &alike, SmallVector<Member, 0> members,
                  const zero::Plan &plan, unsigned &next) {
  if (members.empty())
    return;
  Bucket bucket;
  bucket.number = next++;
  bucket.level = alike.rule.level;
  bucket.axes = alike.rule.axes;
  bucket.pending = alike.pending;
  bucket.place = alike.rule.place;
  bucket.read = alike.read;
  int64_t elements = 0;
  for (const Member &member : members)
    elements += elementsOf(member);
  MLIRContext *context = alike.rule.place.getContext();
  int64_t ranks = spmd::groupSize(plan.mesh, plan.attribute(bucket.axes));
  auto weight = cast<RankedTensorType>(members.front().type);
  bucket.part =
      ptl::getTensorType({int64_t(llvm::divideCeil(elements, ranks))}, weight.getElementType(),
                         {StringAttr::get(context, bucket.name())});
  bucket.members = std::move(members);
  buckets.push_back(std::move(bucket));
}

/// What is gathered or scattered at one time are whole layers of a bucket's size, or what the
/// plan's `bucket` says; at level 1 all of it if the plan doesn't say, nothing runs beside it, and
/// nothing of it should not be whole at one time: directions, and sums that are rounded.
static void cutLayers(std::vector<Bucket> &buckets, Alike &alike, const zero::Plan &plan,
                      BucketSizes &sizes, unsigned &next, bool isOfDirections = false) {
  bool makesCopies = isOfDirections || !alike.read.isF32();
  if (alike.rule.level < 2 && !makesCopies && !plan.bucketBytes() && !plan.overlaps())
    return close(buckets, alike, std::move(alike.members), plan, next);
  int64_t least = sizes.of(alike.rule.axes);
  SmallVector<Member, 0> now;
  int64_t bytes = 0;
  for (Member &member : alike.members) {
    int64_t own = elementsOf(member) * alike.read.getIntOrFloatBitWidth() / 8;
    bool isNewLayer = !now.empty() && layerOf(now.back().path) != layerOf(member.path);
    bool isFull = plan.bucketBytes() && bytes + own > plan.bucketBytes();
    if (!now.empty() && (isFull || (isNewLayer && bytes >= least))) {
      close(buckets, alike, std::exchange(now, {}), plan, next);
      bytes = 0;
    }
    bytes += own;
    now.push_back(std::move(member));
  }
  close(buckets, alike, std::move(now), plan, next);
}

std::vector<Bucket> zero::divideFrozen(func::FuncOp step, const Plan &plan, BucketSizes &sizes,
                                       unsigned &next) {
  llvm::MapVector<Attribute, Alike> groups;
  MLIRContext *context = step.getContext();
  for (BlockArgument argument : step.getArguments()) {
    unsigned number = argument.getArgNumber();
    Rule rule = plan.ruleFor(argument);
    if (rule.level < 3 || !step.getArgAttr(number, "ptl.frozen") || argument.use_empty())
      continue;
    Type read = elementRead(argument);
    SmallVector<Attribute> key = {plan.attribute(rule.axes), plan.attribute(plan.cutAxes(argument)),
                                  DenseI64ArrayAttr::get(context, plan.stagesOf(argument)),
                                  TypeAttr::get(ptl::elementType(argument)), TypeAttr::get(read)};
    Alike &alike = groups[ArrayAttr::get(context, key)];
    alike.rule = rule;
    alike.read = read;
    alike.members.push_back({0,
                             argument,
                             argument.getType(),
                             step.getArgAttrDict(number),
                             step.getArgAttrOfType<StringAttr>(number, "ptl.path").getValue(),
                             lineOf(argument.getLoc()),
                             {}});
  }
  std::vector<Bucket> buckets;
  for (auto &[key, alike] : groups)
    cutLayers(buckets, alike, plan, sizes, next);
  return buckets;
}

Division zero::divide(ptl::OptimizeOp op, const Plan &plan, BucketSizes &sizes, unsigned &next) {
  Division division;
  llvm::MapVector<Attribute, Alike> groups;
  MLIRContext *context = op.getContext();
  for (auto [number, weight] : llvm::enumerate(op.getWeights())) {
    auto argument = dyn_cast<BlockArgument>(weight);
    Rule rule = argument ? plan.ruleFor(argument) : Rule();
    if (!rule.level) {
      division.rest.push_back(number);
      continue;
    }
    Member member{unsigned(number),
                  argument,
                  argument.getType(),
                  cast<func::FuncOp>(op->getParentOp()).getArgAttrDict(argument.getArgNumber()),
                  cast<StringAttr>(op.getNames()[number]).getValue(),
                  lineOf(argument.getLoc()),
                  traceGradient(op.getGrads()[number], plan)};
    bool splits = llvm::all_of(
        rule.axes, [&](StringAttr axis) { return llvm::is_contained(member.gradient.axes, axis); });
    Axes pending = splits ? member.gradient.axes : Axes();
    Type read = elementRead(argument);
    SmallVector<Attribute> key = {IntegerAttr::get(IntegerType::get(context, 64), rule.level),
                                  plan.attribute(rule.axes),
                                  plan.attribute(pending),
                                  plan.attribute(plan.cutAxes(argument)),
                                  DenseI64ArrayAttr::get(context, plan.stagesOf(argument)),
                                  TypeAttr::get(ptl::elementType(argument)),
                                  TypeAttr::get(read)};
    Alike &alike = groups[ArrayAttr::get(context, key)];
    alike.rule = rule;
    alike.pending = pending;
    alike.read = read;
    alike.members.push_back(std::move(member));
  }
  for (auto &[key, alike] : groups)
    cutLayers(division.buckets, alike, plan, sizes, next, op.makesDirections());
  return division;
}
