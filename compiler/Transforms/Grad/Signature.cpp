//===- Signature.cpp - What the loss takes and how it is trained ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Grad/Signature.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::grad;

static constexpr llvm::StringLiteral kAdamWStates[] = {"m", "v"};
static constexpr llvm::StringLiteral kLionStates[] = {"m"};
static constexpr llvm::StringLiteral kMomentum[] = {"momentum"};
static constexpr llvm::StringLiteral kAdamWHypers[] = {"lr", "beta1", "beta2", "eps",
                                                       "weight_decay"};
static constexpr llvm::StringLiteral kLionHypers[] = {"lr", "beta1", "beta2", "weight_decay"};
static constexpr llvm::StringLiteral kMuonHypers[] = {"lr", "momentum", "weight_decay"};
static constexpr llvm::StringLiteral kSgdHypers[] = {"lr", "momentum", "dampening", "weight_decay"};

double Optimizer::number(StringRef name) const {
  auto value = settings.getAs<FloatAttr>(name);
  return value ? value.getValueAsDouble() : 0.0;
}

ArrayRef<llvm::StringLiteral> Optimizer::states() const {
  switch (kind) {
  case ptl::OptimizerKind::AdamW:
  case ptl::OptimizerKind::Lamb:
    return kAdamWStates;
  case ptl::OptimizerKind::Lion:
    return kLionStates;
  case ptl::OptimizerKind::Sgd:
    return number("momentum") == 0 ? ArrayRef<llvm::StringLiteral>() : kMomentum;
  case ptl::OptimizerKind::Muon:
    return kMomentum;
  case ptl::OptimizerKind::Apply:
    break;
  }
  return {};
}

ArrayRef<llvm::StringLiteral> Optimizer::hypers() const {
  switch (kind) {
  case ptl::OptimizerKind::AdamW:
  case ptl::OptimizerKind::Lamb:
    return kAdamWHypers;
  case ptl::OptimizerKind::Lion:
    return kLionHypers;
  case ptl::OptimizerKind::Sgd:
    return kSgdHypers;
  case ptl::OptimizerKind::Muon:
    return kMuonHypers;
  case ptl::OptimizerKind::Apply:
    break;
  }
  return {};
}

LogicalResult Signature::readArguments(func::FuncOp loss) {
  for (BlockArgument argument : loss.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto role = loss.getArgAttrOfType<StringAttr>(index, "ptl.role");
    StringRef kind = role ? role.getValue() : "";
    if (kind == "weight") {
      auto path = loss.getArgAttrOfType<StringAttr>(index, "ptl.path");
      if (!path)
        return loss.emitOpError() << "weight " << index << " has no 'ptl.path'";
      weights.push_back({argument, path.getValue(), bool(loss.getArgAttr(index, "ptl.frozen"))});
    } else if (kind == "data") {
      data.push_back(argument);
    } else if (kind == "step") {
      step = argument;
    } else if (kind == "valid") {
      valid = argument;
    } else {
      return loss.emitOpError() << "argument " << index << " has the role '" << kind
                                << "'; expected weight, data, step or valid";
    }
  }
  return step ? success() : loss.emitOpError("has no argument with the role 'step'");
}

LogicalResult Signature::readOptimizers(ModuleOp module, DictionaryAttr train) {
  llvm::StringMap<unsigned> byPath;
  for (auto [index, weight] : llvm::enumerate(weights))
    byPath[weight.path] = index;
  auto list = train.getAs<ArrayAttr>("optimizers");
  if (!list)
    return module.emitOpError("'ptl.train' has no optimizers");
  for (auto settings : list.getAsRange<DictionaryAttr>()) {
    auto name = settings.getAs<StringAttr>("kind");
    std::optional<ptl::OptimizerKind> kind =
        ptl::symbolizeOptimizerKind(name ? name.getValue() : "");
    auto paths = settings.getAs<ArrayAttr>("weights");
    if (!kind || kind == ptl::OptimizerKind::Apply || !paths)
      return module.emitOpError("an optimizer of 'ptl.train' needs a kind and weights");
    Optimizer optimizer{*kind, settings, {}};
    for (StringRef path : paths.getAsValueRange<StringAttr>()) {
      auto weight = byPath.find(path);
      if (weight == byPath.end())
        return module.emitOpError()
               << "an optimizer updates '" << path << "', which '@loss' doesn't take";
      if (!weights[weight->second].frozen)
        optimizer.weights.push_back(weight->second);
    }
    optimizers.push_back(std::move(optimizer));
  }
  return success();
}

FailureOr<Signature> Signature::read(ModuleOp module, func::FuncOp loss) {
  Signature signature;
  auto train = module->getAttrOfType<DictionaryAttr>("ptl.train");
  if (!train)
    return module.emitOpError("has no 'ptl.train'");
  if (failed(signature.readArguments(loss)) || failed(signature.readOptimizers(module, train)))
    return failure();
  if (auto clip = train.getAs<FloatAttr>("clip"))
    signature.clip = clip.getValueAsDouble();
  if (auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan")) {
    if (auto pieces = plan.getAs<IntegerAttr>("microbatches"))
      signature.microbatches = pieces.getInt();
    if (auto reproducible = plan.getAs<BoolAttr>("reproducible"))
      signature.perUse = reproducible.getValue();
    // Uses of a weight may lie on several stages.
    signature.perUse |= bool(plan.get("pipeline"));
  }
  return signature;
}
