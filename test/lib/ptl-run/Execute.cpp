//===- Execute.cpp - One operation on one rank ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Execute.h"

#include "dialects/Rt/Rt.h"
#include "test/lib/ptl-run/Elementwise.h"
#include "test/lib/ptl-run/Random.h"
#include "test/lib/ptl-run/Shapes.h"
#include "test/lib/ptl-run/Train.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ptlc::run {

static Element elementOf(mlir::Type type) {
  if (type.isF32())
    return Element::F32;
  if (type.isF64())
    return Element::F64;
  if (type.isBF16())
    return Element::BF16;
  if (type.isInteger(1))
    return Element::I1;
  return type.isInteger(32) ? Element::I32 : Element::I64;
}

Names namesOf(llvm::ArrayRef<mlir::StringAttr> names) {
  Names result;
  for (mlir::StringAttr name : names)
    result.push_back(name.getValue());
  return result;
}

Type typeOf(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return {Element::I64, {}, {}};
  return {elementOf(tensor.getElementType()), namesOf(ptl::getDims(type)),
          Sizes(tensor.getShape())};
}

static llvm::Expected<Results> one(llvm::Expected<Tensor> result) {
  if (!result)
    return result.takeError();
  return Results{std::move(*result)};
}

static Fold foldOf(ptl::FoldKind kind) {
  if (kind == ptl::FoldKind::Sum)
    return Fold::Sum;
  return kind == ptl::FoldKind::Max ? Fold::Max : Fold::Min;
}

static llvm::Expected<Results> runRandom(ptl::RandomOp op, const OpState &state) {
  RandomStream stream(state.options->seed, op.getPlace(), static_cast<uint64_t>(state[0].scalar()));
  Distribution distribution =
      op.getKind() == ptl::RandomKind::Uniform ? Distribution::Uniform : Distribution::Normal;
  return Results{random(stream, distribution, typeOf(op.getType()), state.windows)};
}

static llvm::Expected<Results> runReshape(ptl::ReshapeOp op, const OpState &state) {
  llvm::SmallVector<Arrow> arrows;
  for (ptl::ArrowAttr arrow : op.getArrowRange())
    arrows.push_back({namesOf(arrow.getFrom()), namesOf(arrow.getTo())});
  return one(reshape(state[0], arrows, typeOf(op.getType())));
}

static llvm::Expected<Results> runConcat(ptl::ConcatOp op, const OpState &state) {
  Names from;
  for (mlir::Attribute name : op.getFrom())
    from.push_back(mlir::cast<mlir::StringAttr>(name).getValue());
  return one(concat(state.operands, from, op.getTo(), typeOf(op.getType())));
}

static llvm::Expected<Results> runScatter(ptl::ScatterAddOp op, const OpState &state) {
  std::optional<Tensor> init;
  if (op.getInit())
    init = state[2];
  return one(
      scatterAdd(state[0], state[1], op.getDim(), init, typeOf(op.getType()), state.windows));
}

static llvm::Expected<Results> runTopK(ptl::TopKOp op, const OpState &state) {
  llvm::Expected<TopK> result =
      topK(state[0], op.getFrom(), op.getTo(), typeOf(op.getValues().getType()),
           typeOf(op.getIndices().getType()));
  if (!result)
    return result.takeError();
  return Results{result->values, result->indices};
}

static llvm::Expected<Results> runMicrobatch(ptl::MicrobatchOp op, const OpState &state) {
  int64_t size = typeOf(op.getType()).size(op.getDim());
  int64_t number = static_cast<int64_t>(state[1].scalar());
  return Results{block(state[0], op.getDim(), number * size, size)};
}

static Optimizer optimizerOf(ptl::OptimizerKind kind) {
  switch (kind) {
  case ptl::OptimizerKind::AdamW:
    return Optimizer::AdamW;
  case ptl::OptimizerKind::Sgd:
    return Optimizer::Sgd;
  case ptl::OptimizerKind::Lion:
    return Optimizer::Lion;
  case ptl::OptimizerKind::Muon:
    return Optimizer::Muon;
  case ptl::OptimizerKind::Lamb:
    return Optimizer::Lamb;
  case ptl::OptimizerKind::Apply:
    return Optimizer::Apply;
  }
  llvm_unreachable("a kind of optimizer");
}

static llvm::Expected<Results> runOptimize(ptl::OptimizeOp op, const OpState &state) {
  Optimizer kind = optimizerOf(op.getKind());
  size_t count = op.getWeights().size(), perWeight = op.getStatesPerWeight();
  size_t hyper = 2 * count + count * perWeight;
  Hypers hypers;
  for (llvm::StringRef name : hyperNames(kind))
    setHyper(hypers, name, state[hyper++].scalar());
  hypers.step = static_cast<int64_t>(state[hyper].scalar());
  hypers.nesterov = op.getNesterov();
  Results results(count * (1 + perWeight));
  for (size_t i = 0; i < count; ++i) {
    Update before{state[i], {}};
    for (size_t s = 0; s < perWeight; ++s)
      before.states.push_back(state[2 * count + s * count + i]);
    Update after = optimize(kind, before, state[count + i], hypers);
    results[i] = after.weight;
    for (size_t s = 0; s < perWeight; ++s)
      results[count + s * count + i] = after.states[s];
  }
  return results;
}

static llvm::Expected<Results> unknown(mlir::Operation *op) {
  return makeError("ptl-run can't execute '" + op->getName().getStringRef() + "'");
}

llvm::Expected<Results> execute(mlir::Operation *op, const OpState &s) {
  if (std::optional<llvm::Expected<Results>> result = executeComposite(op, s))
    return std::move(*result);
  Type type = op->getNumResults() ? typeOf(op->getResult(0).getType()) : Type();
  using Result = llvm::Expected<Results>;
  return llvm::TypeSwitch<mlir::Operation *, Result>(op)
      .Case([&](ptl::ConstantOp op) -> Result {
        return Results{Tensor(type, op.getValue().convertToDouble())};
      })
      .Case([&](ptl::IotaOp) -> Result { return Results{iota(type, s.windows)}; })
      .Case([&](ptl::RandomOp op) { return runRandom(op, s); })
      .Case([&](ptl::ElementwiseOp op) {
        return one(elementwise(ptl::stringifyElementwiseKind(op.getKind()), s.operands, type));
      })
      .Case<ptl::StopGradientOp, rt::OptimizationBarrierOp>(
          [&](mlir::Operation *) -> Result { return Results{s[0]}; })
      .Case([&](rt::WaitOp op) -> Result {
        // What has been started is finished at once here.
        return Results(s.operands.begin(), s.operands.begin() + op.getValues().size());
      })
      .Case([&](ptl::BroadcastOp) { return one(broadcast(s[0], type)); })
      .Case([&](ptl::DotOp op) {
        return one(dot(s[0], s[1], namesOf(op.getOver().getNames()), type, s.options->accumulate));
      })
      .Case([&](ptl::ReduceOp op) {
        return one(reduce(foldOf(op.getKind()), s[0], namesOf(op.getOver().getNames()), type,
                          s.options->accumulate));
      })
      .Case([&](ptl::GatherOp op) { return one(gather(s[0], op.getDim(), s[1], type, s.windows)); })
      .Case([&](ptl::ScatterAddOp op) { return runScatter(op, s); })
      .Case([&](ptl::ReshapeOp op) { return runReshape(op, s); })
      .Case([&](ptl::ConcatOp op) { return runConcat(op, s); })
      .Case([&](ptl::SliceOp op) {
        return one(slice(s[0], op.getFrom(), op.getTo(), op.getOffset(), type));
      })
      .Case([&](ptl::PadOp op) {
        return one(pad(s[0], op.getFrom(), op.getTo(), op.getOffset(),
                       op.getValue().convertToDouble(), type));
      })
      .Case([&](ptl::ArgmaxOp op) { return one(argmax(s[0], op.getOver(), type)); })
      .Case([&](ptl::TopKOp op) { return runTopK(op, s); })
      .Case([&](ptl::MicrobatchOp op) { return runMicrobatch(op, s); })
      .Case([&](ptl::GlobalNormOp) -> Result {
        return Results{Tensor(type, globalNorm(s.operands))};
      })
      .Case([&](ptl::OptimizeOp op) { return runOptimize(op, s); })
      .Default([](mlir::Operation *op) { return unknown(op); });
}

} // namespace ptlc::run
