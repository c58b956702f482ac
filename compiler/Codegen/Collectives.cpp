//===- Collectives.cpp - What ranks do together, for the runtime ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors are described as the runtime walks them: row-major, what is around the
// dimension that is cut or joined folded to one number on each side.
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Collectives.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"
#include "compiler/Support/Location.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::codegen;
namespace json = llvm::json;

static constexpr const char *kFolds[] = {"sum", "max", "min"};

json::Object codegen::layoutOf(Value value, const Places &places) {
  Place place = places.of(value);
  return json::Object{{"offset", place.offset},
                      {"rows", place.layout.rows},
                      {"cols", place.layout.cols},
                      {"stride", place.layout.stride}};
}

const char *codegen::elementName(Type tensor) {
  switch (kernel::elementOf(tensor)) {
  case kernel::Elem::F32:
    return "f32";
  case kernel::Elem::I32:
    return "i32";
  case kernel::Elem::I64:
    return "i64";
  case kernel::Elem::I1:
    return "i1";
  case kernel::Elem::BF16:
    return "bf16";
  }
  return "";
}

/// Axes, and the number of ranks in a group.
static int64_t addAxes(json::Object &object, spmd::AxesAttr axes, Operation *op) {
  spmd::MeshOp mesh = spmd::findMesh(op->getParentOfType<ModuleOp>());
  json::Array names;
  int64_t ranks = 1;
  for (StringAttr axis : axes.getNames()) {
    names.push_back(axis.getValue().str());
    ranks *= mesh.getAxisSize(axis).value_or(1);
  }
  object["axes"] = std::move(names);
  return ranks;
}

static double bytesOf(Type tensor) {
  return static_cast<double>(kernel::byteSize(kernel::elementOf(tensor))) *
         cast<RankedTensorType>(tensor).getNumElements();
}

/// Each rank receives what the others hold of its share, and the finished shares of the others.
static double reduceBytes(double payload, double ranks) {
  return 2 * payload * (ranks - 1) / ranks;
}

/// Why each operand of a merged collective travels.
static json::Array describeMembers(spmd::AllReduceOp op, double ranks) {
  json::Array members;
  for (auto [member, value] :
       llvm::zip_equal(op.getMembersAttr().getAsRange<spmd::MemberAttr>(), op.getOutputs())) {
    json::Object entry{{"line", member.getLine().str()},
                       {"reason", member.getReason().str()},
                       {"elements", cast<RankedTensorType>(value.getType()).getNumElements()},
                       {"bytes", reduceBytes(bytesOf(value.getType()), ranks)}};
    if (member.getInstead())
      entry["instead_of"] = member.getInstead().str();
    members.push_back(std::move(entry));
  }
  return members;
}

static void describeReduce(json::Object &object, spmd::AllReduceOp op,
                           const codegen::Places &places) {
  double ranks = static_cast<double>(addAxes(object, op.getAxes(), op)), bytes = 0;
  json::Array segments;
  int64_t elements = 0;
  for (Value output : op.getOutputs()) {
    segments.push_back(codegen::layoutOf(output, places));
    elements += cast<RankedTensorType>(output.getType()).getNumElements();
    bytes += bytesOf(output.getType());
  }
  object["kind"] = "all_reduce";
  object["reduce"] = kFolds[unsigned(op.getKind())];
  object["type"] = op.getOutputs().empty() ? "f32" : elementName(op.getOutputs()[0].getType());
  object["segments"] = std::move(segments);
  object["elements"] = elements;
  object["bytes"] = reduceBytes(bytes, ranks);
  if (op.getMembersAttr())
    object["members"] = describeMembers(op, ranks);
}

/// A gather or a scatter along one dimension of `whole`.
template <typename Op>
static void describeAlong(json::Object &object, Op op, Value whole, const codegen::Places &places) {
  auto ranks = static_cast<double>(addAxes(object, op.getAxes(), op));
  auto type = cast<RankedTensorType>(whole.getType());
  int64_t outer = 1, length = 1, inner = 1;
  for (auto [name, size] : llvm::zip_equal(ptl::getDims(type), type.getShape())) {
    if (name == op.getDimAttr()) {
      length = size;
      outer = std::exchange(inner, 1);
    } else {
      inner *= size;
    }
  }
  object["type"] = elementName(type);
  object["segments"] = json::Array{json::Object{{"in", codegen::layoutOf(op.getX(), places)},
                                                {"out", codegen::layoutOf(op.getResult(), places)},
                                                {"outer", outer},
                                                {"length", length},
                                                {"inner", inner}}};
  object["elements"] = type.getNumElements();
  object["bytes"] = bytesOf(type) * (ranks - 1) / ranks;
}

/// Bytes that a rank receives in the mean when each keeps its own block of `from` and `to`.
static double exchangedBytes(spmd::AllToAllOp op, ArrayRef<int64_t> sizes, int64_t from, int64_t to,
                             double bytes) {
  int64_t ranks = llvm::product_of(sizes);
  double kept = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    SmallVector<int64_t> coordinates(sizes.size());
    for (int64_t i = sizes.size(), rest = rank; i-- > 0; rest /= sizes[i])
      coordinates[i] = rest % sizes[i];
    kept += double(spmd::shardExtent(from, sizes, coordinates).valid) *
            double(spmd::shardExtent(to, sizes, coordinates).valid);
  }
  return bytes * (1 - kept / (double(from) * double(to))) / double(ranks);
}

static void describeExchange(json::Object &object, spmd::AllToAllOp op,
                             const codegen::Places &places) {
  addAxes(object, op.getAxes(), op);
  spmd::MeshOp mesh = spmd::findMesh(op->getParentOfType<ModuleOp>());
  SmallVector<int64_t> sizes;
  for (StringAttr axis : op.getAxes().getNames())
    sizes.push_back(mesh.getAxisSize(axis).value_or(1));
  int64_t from = ptl::getDimSize(op.getResult(), op.getFrom()),
          to = ptl::getDimSize(op.getX(), op.getTo());
  bool fromFirst = *ptl::findDim(op.getX().getType(), op.getFrom()) <
                   *ptl::findDim(op.getX().getType(), op.getTo());
  int64_t parts[3] = {1, 1, 1}; // outer, middle, inner
  unsigned part = 0;
  auto type = cast<RankedTensorType>(op.getX().getType());
  for (auto [name, size] : llvm::zip_equal(ptl::getDims(type), type.getShape()))
    if (name == op.getFromAttr() || name == op.getToAttr())
      ++part;
    else
      parts[part] *= size;
  int64_t elements = parts[0] * parts[1] * parts[2] * from * to;
  object["kind"] = "all_to_all";
  object["reason"] = op.getReason().value_or("").str();
  object["type"] = elementName(type);
  object["segments"] = json::Array{json::Object{{"in", codegen::layoutOf(op.getX(), places)},
                                                {"out", codegen::layoutOf(op.getResult(), places)},
                                                {"outer", parts[0]},
                                                {"length", fromFirst ? from : to},
                                                {"middle", parts[1]},
                                                {"other", fromFirst ? to : from},
                                                {"inner", parts[2]},
                                                {"joins_second", !fromFirst}}};
  object["elements"] = elements;
  double bytes = double(elements) * double(kernel::byteSize(kernel::elementOf(type)));
  object["bytes"] = exchangedBytes(op, sizes, from, to, bytes);
}

/// A rank that keeps its shard receives nothing.
static void describePermute(json::Object &object, spmd::PermuteOp op,
                            const codegen::Places &places) {
  auto ranks = static_cast<double>(addAxes(object, op.getAxes(), op));
  json::Array sources;
  int64_t movers = 0;
  auto list = op.getSources(spmd::findMesh(op->getParentOfType<ModuleOp>()));
  for (auto [place, source] : llvm::enumerate(list)) {
    sources.push_back(source);
    movers += source != static_cast<int64_t>(place);
  }
  object["kind"] = "permute";
  object["reason"] = op.getReason().value_or("").str();
  object["type"] = elementName(op.getX().getType());
  object["sources"] = std::move(sources);
  object["segments"] =
      json::Array{json::Object{{"in", codegen::layoutOf(op.getX(), places)},
                               {"out", codegen::layoutOf(op.getResult(), places)}}};
  object["elements"] = cast<RankedTensorType>(op.getX().getType()).getNumElements();
  object["bytes"] = bytesOf(op.getX().getType()) * static_cast<double>(movers) / ranks;
}

/// A bucket in one piece, or a part of it.
static json::Object flat(const Place &place, int64_t elements) {
  return json::Object{
      {"offset", place.offset}, {"rows", 1}, {"cols", elements}, {"stride", elements}};
}

/// `tensor` is the first of the bucket. The part lies in the bucket or by itself.
static void describeBucket(json::Object &object, Operation *op, spmd::AxesAttr axes, Value part,
                           Value tensor, bool gathers, const codegen::Places &places) {
  int64_t ranks = addAxes(object, axes, op);
  auto type = cast<RankedTensorType>(part.getType());
  int64_t elements = type.getNumElements(), whole = elements * ranks;
  Place partPlace = places.of(part);
  json::Object inPart = flat(partPlace, elements), inWhole = flat(places.of(tensor), whole);
  json::Object segment{{"outer", 1}, {"length", whole}, {"inner", 1}, {"step", partPlace.part}};
  segment["in"] = gathers ? std::move(inPart) : std::move(inWhole);
  segment["out"] = gathers ? std::move(inWhole) : std::move(inPart);
  object["kind"] = gathers ? "all_gather" : "reduce_scatter";
  object["type"] = elementName(type);
  object["segments"] = json::Array{std::move(segment)};
  object["elements"] = whole;
  object["bytes"] = bytesOf(type) * static_cast<double>(ranks - 1);
}

json::Object codegen::describeCollective(Operation *op, const Places &places, int64_t times) {
  json::Object object{{"times", times}, {"line", lineOf(op->getLoc())}};
  if (auto other = op->getAttrOfType<StringAttr>(spmd::kInsteadOf))
    object["instead_of"] = other.str();
  if (op->hasAttr(rt::kStarted))
    object["overlaps"] = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](spmd::AllReduceOp reduce) {
        describeReduce(object, reduce, places);
        object["reason"] = reduce.getReason().value_or("").str();
      })
      .Case([&](spmd::AllGatherOp gather) {
        describeAlong(object, gather, gather.getResult(), places);
        object["kind"] = "all_gather";
        object["reason"] = gather.getReason().value_or("").str();
      })
      .Case([&](spmd::ReduceScatterOp scatter) {
        describeAlong(object, scatter, scatter.getX(), places);
        object["kind"] = "reduce_scatter";
        object["reduce"] = kFolds[unsigned(scatter.getKind())];
        object["reason"] = scatter.getReason().value_or("").str();
      })
      .Case([&](spmd::BucketReduceScatterOp scatter) {
        describeBucket(object, op, scatter.getAxes(), scatter.getPart(), scatter.getInputs()[0],
                       /*gathers=*/false, places);
        object["reduce"] = kFolds[unsigned(scatter.getKind())];
        object["reason"] = scatter.getReason().value_or("").str();
      })
      .Case([&](spmd::BucketAllGatherOp gather) {
        describeBucket(object, op, gather.getAxes(), gather.getPart(), gather.getOutputs()[0],
                       /*gathers=*/true, places);
        object["reason"] = gather.getReason().value_or("").str();
      })
      .Case([&](spmd::AllToAllOp exchange) { describeExchange(object, exchange, places); })
      .Case([&](spmd::PermuteOp permute) { describePermute(object, permute, places); });
  return object;
}

LogicalResult codegen::checkCollective(Operation *op) {
  auto reduce = dyn_cast<spmd::AllReduceOp>(op);
  if (!reduce)
    return success();
  for (Value output : reduce.getOutputs())
    if (ptl::elementType(output) != ptl::elementType(reduce.getOutputs()[0]))
      return reduce.emitError("one collective can't reduce several element types");
  return success();
}
