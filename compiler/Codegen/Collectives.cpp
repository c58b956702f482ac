//===- Collectives.cpp - What ranks do together, for the runtime ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The runtime divides a dimension into ceil(length / n) elements for each of the
// n members of a group. The program divides by one axis after the other. Both
// give shards of one size, but they start alike only where all blocks but those
// of the last axis divide evenly.
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Collectives.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"
#include "compiler/Support/Location.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ptlc;
namespace json = llvm::json;

static constexpr const char *kFolds[] = {"sum", "max", "min"};

json::Object codegen::layoutOf(Value value, const Places &places) {
  Place place = places.of(value);
  return json::Object{{"offset", place.offset},
                      {"rows", place.layout.rows},
                      {"cols", place.layout.cols},
                      {"stride", place.layout.stride}};
}

static const char *elementName(Type tensor) {
  switch (kernel::elementOf(tensor)) {
  case kernel::Elem::F32:
    return "f32";
  case kernel::Elem::I32:
    return "i32";
  case kernel::Elem::I64:
    return "i64";
  case kernel::Elem::I1:
    return "i1";
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
       llvm::zip_equal(op.getMembersAttr().getAsRange<spmd::MemberAttr>(), op.getOutputs()))
    members.push_back(
        json::Object{{"line", member.getLine().str()},
                     {"reason", member.getReason().str()},
                     {"elements", cast<RankedTensorType>(value.getType()).getNumElements()},
                     {"bytes", reduceBytes(bytesOf(value.getType()), ranks)}});
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

json::Object codegen::describeCollective(Operation *op, const Places &places, int64_t times) {
  json::Object object{{"times", times}, {"line", lineOf(op->getLoc())}};
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
      });
  return object;
}

/// Whether cutting `dim` of `whole` by one axis after the other is cutting it by their product.
template <typename Op> static LogicalResult checkAlong(Op op, Value whole) {
  spmd::MeshOp mesh = spmd::findMesh(op->template getParentOfType<ModuleOp>());
  int64_t length = ptl::getDimSize(whole, op.getDimAttr()), block = length;
  int64_t piece = ptl::getDimSize(op.getX() == whole ? op.getResult() : op.getX(), op.getDimAttr());
  ArrayRef<StringAttr> axes = op.getAxes().getNames();
  int64_t ranks = 1;
  for (StringAttr axis : axes)
    ranks *= mesh.getAxisSize(axis).value_or(1);
  for (StringAttr axis : axes) {
    int64_t size = mesh.getAxisSize(axis).value_or(1);
    block = llvm::divideCeil(block, size);
    ranks /= size;
    if (block != piece * ranks)
      return op.emitError("'") << op.getDim() << "' of size " << length
                               << " can't be joined over several axes that don't divide it evenly";
  }
  return success();
}

LogicalResult codegen::checkCollective(Operation *op) {
  if (auto gather = dyn_cast<spmd::AllGatherOp>(op))
    return checkAlong(gather, gather.getResult());
  if (auto scatter = dyn_cast<spmd::ReduceScatterOp>(op))
    return checkAlong(scatter, scatter.getX());
  auto reduce = dyn_cast<spmd::AllReduceOp>(op);
  if (!reduce)
    return op->emitError("'") << op->getName() << "' isn't supported on CPUs yet";
  for (Value output : reduce.getOutputs())
    if (ptl::elementType(output) != ptl::elementType(reduce.getOutputs()[0]))
      return reduce.emitError("one collective can't reduce several element types");
  return success();
}
