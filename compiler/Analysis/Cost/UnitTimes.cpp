//===- UnitTimes.cpp - How long a unit's operations take ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/StepTime.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::cost;

Placement::Placement(const Profile &profile, const Layout &layout, const Machine &machine)
    : profile(profile), machine(machine), strides(profile.axes.size(), 1),
      dataRanks(layout.dataRanks) {
  std::vector<int> order = layout.order;
  if (order.empty()) {
    for (size_t axis = profile.axes.size(); axis-- > 0;)
      if (!(profile.dataAxes >> axis & 1))
        order.push_back(static_cast<int>(axis));
    order.push_back(Layout::kData);
    order.push_back(Layout::kStages);
  }
  double next = 1;
  for (int axis : order) {
    if (axis == Layout::kData) {
      dataStride = next;
      next *= layout.dataRanks;
    } else if (axis == Layout::kStages) {
      stageStride = next;
      next *= layout.stages;
    } else {
      strides[static_cast<size_t>(axis)] = next;
      next *= static_cast<double>(profile.axes[static_cast<size_t>(axis)].size);
    }
  }
  // Unless a whole block of neighbours lies in one node, some transfers leave it.
  crosses = layout.stages > 1 && stageStride * 2 > machine.devices;
}

Group Placement::group(AxisMask mask) const {
  double size = 1, stride = 0;
  if (mask & profile.dataAxes) {
    size = dataRanks;
    stride = dataStride;
  }
  for (size_t axis = 0; axis < profile.axes.size(); ++axis)
    if ((mask & ~profile.dataAxes) >> axis & 1) {
      size *= static_cast<double>(profile.axes[axis].size);
      stride = stride > 0 ? std::min(stride, strides[axis]) : strides[axis];
    }
  return groupOf(machine, std::max(stride, 1.0), size);
}

Group Placement::data(double size, bool outer) const {
  return outer ? groupOf(machine, dataStride * size, dataRanks / size)
               : groupOf(machine, dataStride, size);
}

namespace {
/// Adds up the times of a unit's tasks.
class UnitTimer {
public:
  UnitTimer(const Unit &unit, const Placement &placement, const Layout &layout, const Times &times)
      : unit(unit), placement(placement), layout(layout), times(times) {}
  UnitTime run();

private:
  double computing(const Task &task) const;
  double transferTime(const Task &task) const;
  double hiding(const std::vector<unsigned> &beside) const;
  void addTransfer(const Task &task);
  void addGathers();

  const Unit &unit;
  const Placement &placement;
  const Layout &layout;
  const Times &times;
  UnitTime result;
};
} // namespace

double UnitTimer::computing(const Task &task) const {
  switch (task.work) {
  case Work::Product:
    return times.product(task.m, task.n, task.k, task.batch,
                         task.activations ? times.constants.batched : 1, task.width);
  case Work::Attention:
    return times.attention(task.flops, task.bytes, task.backward ? 2 : 1, task.width);
  case Work::Stream:
    return times.stream(task.bytes);
  case Work::Transfer:
    return 0;
  }
  return 0;
}

double UnitTimer::transferTime(const Task &task) const {
  Group group = placement.group(task.axes);
  switch (task.transfer) {
  case TransferKind::AllReduce:
    return times.allReduce(task.bytes, group);
  case TransferKind::AllGather:
  case TransferKind::ReduceScatter:
    return times.allGather(task.bytes, group) * (1 + times.constants.sequenceTax);
  case TransferKind::AllToAll:
    return times.allToAll(task.bytes, group);
  case TransferKind::Permute:
    return times.point(task.bytes, group.nodes() > 1);
  }
  return 0;
}

static double sentBytes(const Task &task, double ranks) {
  double share = ranks > 1 ? (ranks - 1) / ranks : 0;
  if (task.transfer == TransferKind::AllReduce)
    return 2 * share * task.bytes;
  return task.transfer == TransferKind::Permute ? (ranks > 1 ? task.bytes : 0) : share * task.bytes;
}

double UnitTimer::hiding(const std::vector<unsigned> &beside) const {
  double sum = 0;
  for (unsigned place : beside)
    sum += computing(unit.tasks[place]);
  return sum;
}

void UnitTimer::addTransfer(const Task &task) {
  double time = transferTime(task), sent = sentBytes(task, placement.group(task.axes).size);
  result.tensorBytes += sent;
  if (!task.backward) {
    result.forward += time;
    result.forwardTensorBytes += sent;
    return;
  }
  double hidden = layout.overlapTensor ? hiding(task.beside) : 0;
  result.backward += std::max(0.0, time - hidden);
  result.weight += times.constants.overlapTax * std::min(time, hidden);
}

/// Inputs of products that are gathered again, beside the products that give input gradients.
void UnitTimer::addGathers() {
  for (const Kept &value : unit.kept) {
    if (value.shardBytes <= 0)
      continue;
    double time = times.allGather(value.bytes, placement.group(value.axes)) *
                  (1 + times.constants.sequenceTax);
    double hidden = layout.overlapTensor ? hiding(value.beside) : 0;
    result.gather +=
        std::max(0.0, time - hidden) + times.constants.overlapTax * std::min(time, hidden);
  }
}

UnitTime UnitTimer::run() {
  for (const Task &task : unit.tasks) {
    if (task.work == Work::Transfer) {
      addTransfer(task);
      continue;
    }
    double time = computing(task), flops = 0;
    if (task.work == Work::Product)
      flops = 2 * task.batch * task.m * task.n * task.k;
    else if (task.work == Work::Attention)
      flops = task.flops;
    result.flops += flops;
    (task.weightGradient ? result.weight
     : task.backward     ? result.backward
                         : result.forward) += time;
    if (task.backward)
      continue;
    result.forwardFlops += flops;
    result.core += task.core ? time : 0;
    result.coreFlops += task.core ? flops : 0;
    result.attends += task.attends ? time : 0;
    result.attendFlops += task.attends ? flops : 0;
  }
  addGathers();
  return result;
}

std::vector<UnitTime> ptlc::cost::unitTimes(const Profile &profile, const Layout &layout,
                                            const Times &times) {
  Placement placement(profile, layout, times.machine);
  std::vector<UnitTime> result;
  for (const Unit &unit : profile.units)
    result.push_back(UnitTimer(unit, placement, layout, times).run());
  return result;
}
