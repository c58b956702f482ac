//===- BucketSize.cpp - How large a bucket is to be -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/BucketSize.h"

#include "compiler/Analysis/Cost/AxisOrders.h"
#include "compiler/Support/Stages.h"
#include "dialects/Ptl/ByteSize.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

/// Of the rate of endless transfers, what a bucket must reach: a call's start takes the rest.
static constexpr double kShare = 0.9;
/// Buckets that a rank's weights have at least; two of them are whole at a time.
static constexpr int64_t kBuckets = 16;
/// Ranks that are threads of one process: bytes per second of each, and seconds of a call.
static constexpr double kMemoryRate = 8e9, kMemoryCall = 10e-6;

static int64_t bytesOfWeights(func::FuncOp step) {
  int64_t bytes = 0;
  for (BlockArgument argument : step.getArguments()) {
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.role");
    if (role && role.getValue() == "weight")
      bytes += ptl::getByteSize(argument.getType());
  }
  return bytes;
}

/// The links of the plan's cluster; what it leaves out is as in `machine`.
static void readLinks(DictionaryAttr links, cost::Machine &machine) {
  std::pair<StringRef, double &> fields[] = {{"devices", machine.devices},
                                             {"intra", machine.intra},
                                             {"inter", machine.inter},
                                             {"intra_latency", machine.intraLatency},
                                             {"inter_latency", machine.interLatency}};
  for (auto &[name, field] : fields)
    if (auto value = links.getAs<FloatAttr>(name))
      field = value.getValueAsDouble();
}

BucketSizes::BucketSizes(ModuleOp module, func::FuncOp step, const Plan &plan, int64_t least)
    : plan(plan), least(least) {
  auto attribute = module->getAttrOfType<DictionaryAttr>("ptl.plan");
  if (auto cluster = attribute ? attribute.getAs<DictionaryAttr>("cluster") : DictionaryAttr()) {
    links = "cluster '" + cluster.getAs<StringAttr>("name").str() + "'";
    readLinks(cluster, machine);
  } else {
    links = "shared memory";
    machine.devices = static_cast<double>(spmd::groupSize(plan.mesh, plan.attribute(plan.axes())));
    machine.intra = kMemoryRate / constants.intra;
    machine.intraLatency = 0;
    constants.collective = kMemoryCall;
  }
  auto stages = module->getAttrOfType<IntegerAttr>(kStages);
  int64_t ranks = plan.isPipeline() && stages ? stages.getInt() : 1;
  most = bytesOfWeights(step) / ranks / kBuckets;
}

BucketSizes::Size BucketSizes::choose(const Axes &axes) const {
  if (plan.bucketBytes())
    return {plan.bucketBytes(), "as 'bucket' says"};
  std::vector<int64_t> extents;
  std::vector<unsigned> order;
  cost::AxisMask mask = 0;
  spmd::MeshOp mesh = plan.mesh;
  for (spmd::AxisAttr axis : mesh.getAxisRange()) {
    if (llvm::is_contained(axes, axis.getName()))
      mask |= cost::AxisMask(1) << extents.size();
    order.push_back(extents.size());
    extents.push_back(axis.getSize());
  }
  cost::Group group = cost::groupOf(machine, extents, order, mask);
  cost::Times times(machine, constants);
  constexpr double kEndless = 1e15;
  double perByte =
      (times.allGather(2 * kEndless, group) - times.allGather(kEndless, group)) / kEndless;
  auto share = [&](int64_t bytes) {
    return perByte * static_cast<double>(bytes) /
           times.allGather(static_cast<double>(bytes), group);
  };
  int64_t bytes = least;
  while (share(bytes) < kShare && 2 * bytes <= most)
    bytes *= 2;
  std::string reason = llvm::formatv("an all-gather of one reaches {0:f0} % of the rate of {1}",
                                     100 * share(bytes), links);
  if (share(bytes) < kShare)
    reason +=
        bytes == least
            ? "; no bucket is smaller than this"
            : llvm::formatv(", two are at most 1/{0} of a rank's weights", kBuckets / 2).str();
  return {bytes, reason};
}

int64_t BucketSizes::of(const Axes &axes) {
  auto [found, isNew] = sizes.try_emplace(plan.attribute(axes));
  if (isNew)
    found->second = choose(axes);
  return found->second.bytes;
}

ArrayAttr BucketSizes::describe() const {
  Builder builder(plan.attribute({}).getContext());
  SmallVector<Attribute> list;
  for (const auto &[axes, size] : sizes)
    list.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("axes", axes),
         builder.getNamedAttr("bytes", builder.getI64IntegerAttr(size.bytes)),
         builder.getNamedAttr("reason", builder.getStringAttr(size.reason))}));
  return builder.getArrayAttr(list);
}
