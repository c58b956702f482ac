//===- StepsTest.cpp - Reshards, carried out ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Between all shardings of a small tensor the planned steps become operations,
// which the interpreter carries out on simulated ranks, padding being junk. The
// result must be what cutting the tensor anew gives, on every replica.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Reshard.h"
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/EmitStep.h"
#include "dialects/Ptl/Ptl.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "test/lib/ptl-run/Execute.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace ptlc;
using namespace ptlc::sharding;

namespace {

/// All shardings of a tensor of `rank` dimensions in which what is pending is of `kind`.
std::set<Sharding> allShardings(const Mesh &mesh, size_t rank, Fold kind) {
  std::set<Sharding> states = {Sharding(rank)};
  for (AxisId axis = 0; axis < mesh.size(); axis++) {
    std::set<Sharding> longer = states;
    for (const Sharding &state : states) {
      for (size_t dim = 0; dim < rank; dim++)
        for (size_t place = 0; place <= state.dims[dim].size(); place++) {
          AxisList list = state.dims[dim];
          list.insert(list.begin() + place, axis);
          longer.insert(state.withDim(dim, list));
        }
      Sharding pending = state.withPartial(state.partial | axisBit(axis));
      pending.kind = kind;
      longer.insert(pending);
    }
    states = std::move(longer);
  }
  return states;
}

/// A tensor, a mesh, and the interpreter's view of both.
class Simulation {
public:
  Simulation(const Mesh &mesh, llvm::ArrayRef<int64_t> shape)
      : mesh(mesh), planner(mesh), builder(&context) {
    context.loadDialect<ptl::PtlDialect, spmd::SpmdDialect, mlir::func::FuncDialect>();
    llvm::SmallVector<mlir::StringAttr> names;
    for (size_t dim = 0; dim < shape.size(); dim++)
      names.push_back(builder.getStringAttr("d" + std::to_string(dim)));
    type = ptl::getTensorType(shape, builder.getF32Type(), names);
    for (const Axis &axis : mesh.all()) {
      simulated.axes.push_back(axis.name);
      simulated.sizes.push_back(axis.size);
    }
    whole = run::Tensor(run::typeOf(type));
    for (int64_t i = 0; i < whole.count(); i++)
      whole.mutableData()[i] = number(-9, 9);
  }

  /// Returns the number of pairs; `sources` and `targets` are pending in the ways given.
  size_t runAll(Fold sources, Fold targets) {
    size_t pairs = 0;
    for (const Sharding &source : allShardings(mesh, type.getRank(), sources))
      for (const Sharding &target : allShardings(mesh, type.getRank(), targets)) {
        runPair(source, target);
        if (::testing::Test::HasFailure())
          return pairs;
        pairs++;
      }
    return pairs;
  }

private:
  using AllRanks = llvm::SmallVector<run::Tensor>;

  double number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  }
  run::Placement placementOf(const Sharding &sharding) const {
    run::Placement placement;
    for (const AxisList &list : sharding.dims) {
      auto &names = placement.sharding.dims.emplace_back();
      for (AxisId axis : list)
        names.push_back(mesh[axis].name);
    }
    for (AxisId axis = 0; axis < mesh.size(); axis++)
      if (sharding.partial & axisBit(axis))
        placement.sharding.partial.push_back(mesh[axis].name);
    placement.sharding.kind = sharding.kind == Fold::Sum   ? run::Fold::Sum
                              : sharding.kind == Fold::Max ? run::Fold::Max
                                                           : run::Fold::Min;
    return placement;
  }
  mlir::RankedTensorType localType(const Sharding &sharding) const {
    return ptl::getTensorType(localShape(mesh, type.getShape(), sharding), type.getElementType(),
                              ptl::getDims(type));
  }

  /// Tensors whose fold is the whole one.
  AllRanks addends(size_t count, Fold kind) {
    AllRanks parts(count, whole);
    for (int64_t i = 0; i < whole.count(); i++) {
      auto keeper = static_cast<size_t>(number(0, static_cast<int>(count) - 1));
      for (size_t part = 0; part < count; part++) {
        double &value = parts[part].mutableData()[i];
        if (part == keeper)
          continue;
        double other = number(0, 5);
        value = kind == Fold::Sum ? other : kind == Fold::Max ? value - other : value + other;
        if (kind == Fold::Sum)
          parts[keeper].mutableData()[i] -= other;
      }
    }
    return parts;
  }

  /// What each rank holds. Ranks that differ on no pending axis hold parts of one addend.
  AllRanks scatter(const Sharding &sharding) {
    run::Placement placement = placementOf(sharding);
    size_t count = 1;
    for (llvm::StringRef axis : placement.sharding.partial)
      count *= simulated.size(axis);
    AllRanks parts = addends(count, sharding.kind), locals;
    run::Placement cut = placement;
    cut.sharding.partial.clear();
    for (int64_t rank = 0; rank < simulated.ranks(); rank++) {
      size_t part = 0;
      for (llvm::StringRef axis : placement.sharding.partial)
        part = part * simulated.size(axis) + simulated.coordinate(rank, axis);
      locals.push_back(llvm::cantFail(
          run::distribute(simulated, cut, parts[part], run::typeOf(localType(sharding)), rank)));
    }
    return locals;
  }

  /// A module with a function that takes the steps of the plan.
  mlir::OwningOpRef<mlir::ModuleOp> emit(const Sharding &source, const Plan &plan) {
    mlir::Location loc = builder.getUnknownLoc();
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    builder.setInsertionPointToStart(module->getBody());
    llvm::SmallVector<mlir::Attribute> axes;
    for (const Axis &axis : mesh.all())
      axes.push_back(spmd::AxisAttr::get(&context, builder.getStringAttr(axis.name), axis.size,
                                         mlir::FloatAttr()));
    spmd::MeshOp::create(builder, loc, "mesh", builder.getArrayAttr(axes));
    auto function = mlir::func::FuncOp::create(builder, loc, "f",
                                               builder.getFunctionType({localType(source)}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    mlir::Value local = function.getArgument(0);
    for (const Step &step : plan)
      local = shard::emitStep(builder, loc, mesh, step, local, type, builder.getStringAttr(""));
    mlir::func::ReturnOp::create(builder, loc);
    return module;
  }

  void runPair(const Sharding &source, const Sharding &target) {
    SCOPED_TRACE(toString(mesh, source) + " -> " + toString(mesh, target));
    auto module = emit(source, planner.plan(type.getShape(), source, target));
    ASSERT_TRUE(succeeded(mlir::verify(*module)));
    AllRanks now = scatter(source);
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    for (mlir::Operation &op : function.getBody().front().without_terminator()) {
      std::vector<run::OpState> states(now.size());
      for (size_t rank = 0; rank < now.size(); rank++) {
        states[rank].operands.push_back(now[rank]);
        states[rank].options = &options;
      }
      auto results = run::executeCollective(&op, simulated, states);
      ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
      for (size_t rank = 0; rank < now.size(); rank++)
        now[rank] = (*results)[rank][0];
    }
    auto joined = run::collect(simulated, placementOf(target), now, run::typeOf(type));
    ASSERT_TRUE(bool(joined)) << llvm::toString(joined.takeError());
    for (int64_t i = 0; i < whole.count(); i++)
      ASSERT_EQ((*joined)[i], whole[i]) << "element " << i;
  }

  Mesh mesh;
  ReshardPlanner planner;
  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::RankedTensorType type;
  run::Mesh simulated;
  run::Tensor whole;
  run::RunOptions options;
  std::mt19937 random{1};
};

/// Axes x, y, z, of which y is slow.
Mesh meshOf(llvm::ArrayRef<int64_t> sizes) {
  static constexpr const char *kNames[] = {"x", "y", "z"};
  llvm::SmallVector<Axis, 4> axes;
  for (size_t i = 0; i < sizes.size(); i++)
    axes.push_back({kNames[i], sizes[i], i == 1 ? 4.0 : 1.0, i == 1 ? 256.0 : 64.0});
  return Mesh(axes);
}

TEST(Steps, LeadToTheTargetOnTwoAxes) {
  for (const std::vector<int64_t> &sizes : {std::vector<int64_t>{2, 2}, {2, 3}}) {
    EXPECT_EQ(Simulation(meshOf(sizes), {7, 6}).runAll(Fold::Sum, Fold::Sum), 324u);
    EXPECT_EQ(Simulation(meshOf(sizes), {4, 6, 8}).runAll(Fold::Sum, Fold::Sum), 784u);
    EXPECT_EQ(Simulation(meshOf(sizes), {5}).runAll(Fold::Sum, Fold::Sum), 100u);
  }
}

TEST(Steps, FoldMaximaAndMinima) {
  for (Fold kind : {Fold::Max, Fold::Min}) {
    EXPECT_EQ(Simulation(meshOf({2, 2}), {7, 6}).runAll(kind, kind), 324u);
    EXPECT_EQ(Simulation(meshOf({2, 2}), {5}).runAll(kind, Fold::Sum), 100u);
  }
}

TEST(Steps, LeadToTheTargetOnThreeAxes) {
  EXPECT_EQ(Simulation(meshOf({2, 2, 2}), {7, 6}).runAll(Fold::Sum, Fold::Sum), 8464u);
  EXPECT_EQ(Simulation(meshOf({2, 2, 2}), {5}).runAll(Fold::Sum, Fold::Sum), 1444u);
  EXPECT_EQ(Simulation(meshOf({2, 2, 2}), {4, 6, 8}).runAll(Fold::Sum, Fold::Sum), 30976u);
}

} // namespace
