//===- Inputs.cpp - Where a run's numbers come from -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Inputs.h"

#include "mlir/IR/BuiltinAttributes.h"
#include <cmath>

namespace ptlc::run {

static constexpr double kDisturbance = 0.1;
static constexpr int64_t kSmallRange = 4;

static double realOf(mlir::DictionaryAttr dictionary, llvm::StringRef name, double otherwise) {
  if (!dictionary)
    return otherwise;
  if (auto real = dictionary.getAs<mlir::FloatAttr>(name))
    return real.getValueAsDouble();
  if (auto integer = dictionary.getAs<mlir::IntegerAttr>(name))
    return static_cast<double>(integer.getInt());
  return otherwise;
}

static llvm::StringRef textOf(mlir::DictionaryAttr dictionary, llvm::StringRef name) {
  auto text = dictionary ? dictionary.getAs<mlir::StringAttr>(name) : mlir::StringAttr();
  return text ? text.getValue() : "";
}

double scheduled(mlir::DictionaryAttr schedule, double base, int64_t step) {
  llvm::StringRef kind = textOf(schedule, "kind");
  double warmup = realOf(schedule, "warmup", 0), total = realOf(schedule, "total", 0);
  double least = realOf(schedule, "min_lr", 0);
  if (kind == "steps") {
    for (mlir::Attribute at : schedule.getAs<mlir::ArrayAttr>("at"))
      if (step >= mlir::cast<mlir::IntegerAttr>(at).getInt())
        base *= realOf(schedule, "factor", 1);
    return base;
  }
  if (kind != "warmup_cosine" && kind != "warmup_linear")
    return base;
  if (step < warmup)
    return base * (step + 1) / warmup;
  double part = std::min(1.0, (step - warmup) / std::max(1.0, total - warmup));
  double left = kind == "warmup_cosine" ? 0.5 * (1 + std::cos(M_PI * part)) : 1 - part;
  return least + (base - least) * left;
}

llvm::Error Inputs::load(mlir::ModuleOp module) {
  train = module->getAttrOfType<mlir::DictionaryAttr>("ptl.train");
  if (textOf(train ? train.getAs<mlir::DictionaryAttr>("data") : train, "tail") == "wrap")
    options.wrap = true;
  if (!options.weights.empty()) {
    auto file = readSafetensors(options.weights);
    if (!file)
      return file.takeError();
    weights = std::move(*file);
  }
  for (const auto &[field, path] : options.data) {
    bool isTokens = isTokenFile(path);
    auto file = isTokens ? readTokens(path) : readNpy(path);
    if (!file)
      return file.takeError();
    if (isTokens)
      tokens = std::move(*file);
    else
      files[field] = std::move(*file);
  }
  return llvm::Error::success();
}

llvm::Expected<Tensor> Inputs::weight(const Port &port) {
  if (auto found = weights.find(port.path); found != weights.end())
    return found->second;
  if (!weights.empty())
    return makeError("the file of weights has no '" + port.path + "'");
  auto init = port.attributes ? port.attributes.getAs<mlir::DictionaryAttr>("ptl.init")
                              : mlir::DictionaryAttr();
  llvm::StringRef kind = init ? textOf(init, "kind") : "uniform";
  double a = realOf(init, "a", init ? 0 : -1), b = realOf(init, "b", init ? 0 : 1);
  RandomStream stream(options.seed, port.path, 0);
  RandomStream noise(options.seed, port.path + "/noise", 0);
  Tensor result(port.global);
  double *out = result.mutableData();
  for (int64_t i = 0; i < result.count(); ++i) {
    double value = kind == "constant"       ? a
                   : kind == "ones"         ? 1
                   : kind == "normal"       ? a * stream.normal(i)
                   : kind == "trunc_normal" ? a * stream.truncatedNormal(i)
                   : kind == "uniform"      ? a + (b - a) * stream.uniform(i)
                                            : 0;
    out[i] = value + (options.disturbed ? kDisturbance * (2 * noise.uniform(i) - 1) : 0);
  }
  return result;
}

/// Integers within the port's range, floats in [-1, 1), bools evenly.
Tensor Inputs::randomData(const Port &port, int64_t step) {
  RandomStream stream(options.seed, port.key(), step);
  Tensor result(port.global);
  double *out = result.mutableData();
  for (int64_t i = 0; i < result.count(); ++i) {
    double u = stream.uniform(i);
    if (port.global.element == Element::I1)
      out[i] = u < 0.5;
    else if (isFloat(port.global.element))
      out[i] = 2 * u - 1;
    else
      out[i] = std::floor(u * port.range.value_or(kSmallRange));
  }
  return result;
}

/// Samples of `stride` elements, `samples` of them in the file, each read `shift` elements later.
llvm::Expected<Tensor> Inputs::batchOf(const Port &port, const Tensor &file, int64_t samples,
                                       int64_t stride, int64_t shift, int64_t step) {
  int64_t batch = port.global.rank() ? port.global.sizes[0] : 1;
  int64_t perPass = samples / batch;
  if (!options.wrap && perPass == 0)
    return makeError("the file of '" + port.path + "' holds " + llvm::Twine(samples) +
                     " samples, a batch needs " + llvm::Twine(batch));
  Tensor result(port.global);
  double *out = result.mutableData();
  int64_t first = options.wrap ? step * batch : step % perPass * batch;
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t sample = (first + i / stride) % samples;
    out[i] = file[sample * stride + i % stride + shift];
  }
  return result;
}

llvm::Expected<Tensor> Inputs::data(const Port &port, int64_t step) {
  int64_t batch = port.global.rank() ? port.global.sizes[0] : 1;
  int64_t stride = port.global.count() / std::max<int64_t>(batch, 1);
  if (auto found = files.find(port.path); found != files.end()) {
    int64_t samples = found->second.type().rank() ? found->second.type().sizes[0] : 1;
    if (found->second.count() != samples * stride)
      return makeError("the file of '" + port.path + "' has shape " + found->second.type().str() +
                       ", a batch is " + port.global.str());
    return batchOf(port, found->second, samples, stride, 0, step);
  }
  if (tokens && (port.path == "tokens" || port.path == "targets"))
    return batchOf(port, *tokens, (tokens->count() - 1) / stride, stride, port.path == "targets",
                   step);
  return randomData(port, step);
}

llvm::Expected<double> Inputs::hyper(const Port &port, int64_t step) {
  if (auto given = options.hypers.find(port.path); given != options.hypers.end())
    return given->second;
  auto written =
      port.attributes ? port.attributes.getAs<mlir::FloatAttr>("ptl.value") : mlir::FloatAttr();
  if (!train && written)
    return written.getValueAsDouble();
  if (!train)
    return makeError("no value for hyper-parameter '" + port.path + "'; use --hyper " + port.path +
                     "=...");
  llvm::StringRef name = port.path;
  auto optimizers = train.getAs<mlir::ArrayAttr>("optimizers");
  unsigned number = 0;
  if (auto [group, rest] = name.split('.');
      group.consume_front("opt") && !rest.empty() && !group.getAsInteger(10, number))
    name = rest;
  mlir::DictionaryAttr optimizer;
  if (optimizers && number < optimizers.size())
    optimizer = mlir::dyn_cast<mlir::DictionaryAttr>(optimizers[number]);
  if (name == "lr")
    return scheduled(train.getAs<mlir::DictionaryAttr>("schedule"), realOf(optimizer, name, 0),
                     step);
  double missing = std::nan("");
  double value = realOf(optimizer, name, realOf(train, name, missing));
  if (std::isnan(value) && written)
    return written.getValueAsDouble();
  if (std::isnan(value))
    return makeError("no value for hyper-parameter '" + port.path + "'");
  return value;
}

llvm::Expected<Tensor> Inputs::make(const Port &port, int64_t step) {
  if (port.role == "weight")
    return weight(port);
  if (port.role == "data")
    return data(port, step);
  if (port.role == "step")
    return Tensor(port.global, static_cast<double>(step));
  if (port.role == "valid")
    return Tensor(port.global, realOf(train, "batch", 0));
  if (port.role == "hyper") {
    llvm::Expected<double> value = hyper(port, step);
    if (!value)
      return value.takeError();
    return Tensor(port.global, *value);
  }
  if (port.role != "state")
    return randomData(port, step);
  Tensor state(port.global);
  RandomStream stream(options.seed, port.path, 0);
  double *out = state.mutableData();
  for (int64_t i = 0; options.disturbed && i < state.count(); ++i)
    out[i] = kDisturbance * stream.uniform(i);
  return state;
}

/// The numbers of an attribute `run.value`, repeated to fill the type.
static std::optional<Tensor> written(const Port &port) {
  auto list =
      port.attributes ? port.attributes.getAs<mlir::ArrayAttr>("run.value") : mlir::ArrayAttr();
  if (!list || list.empty())
    return std::nullopt;
  Tensor result(port.global);
  double *out = result.mutableData();
  for (int64_t i = 0; i < result.count(); ++i) {
    mlir::Attribute number = list[i % list.size()];
    if (auto real = mlir::dyn_cast<mlir::FloatAttr>(number))
      out[i] = real.getValueAsDouble();
    else if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(number))
      out[i] = integer.getType().isInteger(1)
                   ? integer.getValue().getBoolValue()
                   : static_cast<double>(integer.getValue().getSExtValue());
  }
  return result;
}

llvm::Error Inputs::fill(const Signature &signature, int64_t step, Tensors &values) {
  for (const Port &port : valuesOf(signature.arguments)) {
    if (values.count(port.key()))
      continue;
    if (std::optional<Tensor> value = written(port)) {
      values[port.key()] = *value;
      continue;
    }
    llvm::Expected<Tensor> value = make(port, step);
    if (!value)
      return value.takeError();
    values[port.key()] = std::move(*value);
  }
  return llvm::Error::success();
}

} // namespace ptlc::run
