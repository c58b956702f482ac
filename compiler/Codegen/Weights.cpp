//===- Weights.cpp - What the runtime reads about weights -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A weight, a gradient or a state is a value of its own or one tensor of a bucket;
// of that a rank has a part, which says whose it is (`ptl.members`) and how they
// lie in the bucket (`rt.members`).
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Weights.h"

#include "compiler/Codegen/Collectives.h"
#include "compiler/Support/Location.h"
#include "dialects/Spmd/Spmd.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::codegen;
namespace json = llvm::json;

json::Value codegen::toJson(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue().str();
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getInt();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    json::Array array;
    for (Attribute element : list)
      array.push_back(toJson(element));
    return array;
  }
  json::Object object;
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute))
    for (NamedAttribute entry : dictionary)
      object[entry.getName().getValue()] = toJson(entry.getValue());
  return object;
}

void codegen::describeTensor(json::Object &object, DictionaryAttr attributes, Type local) {
  auto global = attributes.getAs<TypeAttr>("spmd.global_type");
  auto type = cast<RankedTensorType>(global ? global.getValue() : local);
  auto sharding = attributes.getAs<spmd::ShardingAttr>("spmd.sharding");
  json::Array dims, cuts;
  for (auto [number, name] : llvm::enumerate(ptl::getDims(type))) {
    dims.push_back(name.getValue().str());
    json::Array axes;
    if (sharding)
      for (StringAttr axis : sharding.getAxes(number))
        axes.push_back(axis.getValue().str());
    cuts.push_back(std::move(axes));
  }
  object["shape"] = json::Array(type.getShape());
  object["dims"] = std::move(dims);
  object["sharding"] = std::move(cuts);
}

/// Layouts of the tensors of a bucket of which a rank has the part at `part`, in its place among
/// the others or by itself.
static std::vector<json::Object> layoutsIn(const Place &part, ArrayAttr members) {
  std::vector<json::Object> layouts;
  for (const Place &tensor : Places::inBucket(part, members)) {
    json::Array axes;
    for (auto axis : tensor.axes.getAsRange<StringAttr>())
      axes.push_back(axis.getValue().str());
    layouts.push_back(json::Object{{"offset", tensor.offset},
                                   {"rows", tensor.layout.rows},
                                   {"cols", tensor.layout.cols},
                                   {"stride", tensor.layout.stride},
                                   {"bucket", part.offset},
                                   {"part", tensor.part},
                                   {"packed", part.part == 0},
                                   {"type", part.bf16 ? "bf16" : "f32"},
                                   {"axes", std::move(axes)}});
  }
  return layouts;
}

/// What the step makes of a weight in bf16, for all that computes with it; null if nothing.
static Value copyOf(Value weight) {
  for (Operation *user : weight.getUsers())
    if (auto kernel = dyn_cast<rt::KernelOp>(user); kernel && kernel.getInputs().size() == 1)
      for (Value result : kernel.getOutputs())
        if (result.getType() ==
            ptl::withElement(weight.getType(), BFloat16Type::get(weight.getContext())))
          return result;
  return {};
}

namespace {
class Describer {
public:
  Describer(func::FuncOp step, const Places &places) : step(step), places(places) {}
  json::Array describe();

private:
  void findGradients();
  void findStates();
  json::Object typedLayout(Value value) const;
  void addWeight(StringRef path, DictionaryAttr attributes, Type local, std::string line,
                 json::Object layout);
  StringRef text(unsigned argument, StringRef name) const {
    func::FuncOp function = step;
    auto attribute = function.getArgAttrOfType<StringAttr>(argument, name);
    return attribute ? attribute.getValue() : StringRef();
  }

  func::FuncOp step;
  const Places &places;
  llvm::StringMap<json::Object> gradients; ///< layouts by path of the weight, here and below
  llvm::StringMap<json::Array> states;
  llvm::StringMap<json::Object> weights;
  SmallVector<StringRef> order;
};
} // namespace

json::Object Describer::typedLayout(Value value) const {
  json::Object place = layoutOf(value, places);
  place["type"] = elementName(value.getType());
  return place;
}

void Describer::findGradients() {
  step.walk([&](ptl::OptimizeOp op) {
    if (!op.readsGradients())
      return;
    auto kernel = op->getParentOfType<rt::KernelOp>();
    auto outside = [&](Value gradient) {
      return kernel.getInputs()[cast<BlockArgument>(gradient).getArgNumber()];
    };
    if (auto paths = op->getAttrOfType<ArrayAttr>("ptl.members")) {
      for (auto [path, tensor] :
           llvm::zip_equal(paths.getAsRange<StringAttr>(),
                           layoutsIn(places.of(outside(op.getGrads()[0])),
                                     kernel->getAttrOfType<ArrayAttr>("rt.members"))))
        gradients[path.getValue()] = std::move(tensor);
      return;
    }
    for (auto [name, gradient] :
         llvm::zip_equal(op.getNames().getAsRange<StringAttr>(), op.getGrads()))
      if (kernel && isa<BlockArgument>(gradient))
        gradients[name.getValue()] = typedLayout(outside(gradient));
  });
}

void Describer::findStates() {
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    if (text(i, "ptl.role") != "state")
      continue;
    auto [path, name] = text(i, "ptl.path").rsplit('#');
    auto add = [&, name = name](StringRef weight, json::Object layout) {
      states[weight].push_back(json::Object{{"name", name.str()}, {"layout", std::move(layout)}});
    };
    auto paths = step.getArgAttrOfType<ArrayAttr>(i, "ptl.members");
    if (!paths) {
      add(path, layoutOf(step.getArgument(i), places));
      continue;
    }
    for (auto [weight, tensor] :
         llvm::zip_equal(paths.getAsRange<StringAttr>(),
                         layoutsIn(places.of(step.getArgument(i)),
                                   step.getArgAttrOfType<ArrayAttr>(i, "rt.members"))))
      add(weight.getValue(), std::move(tensor));
  }
}

void Describer::addWeight(StringRef path, DictionaryAttr attributes, Type local, std::string line,
                          json::Object layout) {
  json::Object weight{{"path", path.str()}, {"frozen", attributes.contains("ptl.frozen")}};
  describeTensor(weight, attributes, local);
  weight["layout"] = std::move(layout);
  if (!line.empty())
    weight["line"] = std::move(line);
  json::Array arguments;
  json::Object init{{"kind", "zeros"}};
  if (auto attribute = attributes.getAs<DictionaryAttr>("ptl.init")) {
    init["kind"] = toJson(attribute.get("kind"));
    arguments.push_back(toJson(attribute.get("a")));
    arguments.push_back(toJson(attribute.get("b")));
  }
  init["args"] = std::move(arguments);
  weight["init"] = std::move(init);
  if (auto gradient = gradients.find(path); gradient != gradients.end())
    weight["grad"] = std::move(gradient->second);
  auto own = states.find(path);
  weight["states"] = own == states.end() ? json::Array() : std::move(own->second);
  order.push_back(path);
  weights[path] = std::move(weight);
}

json::Array Describer::describe() {
  findGradients();
  findStates();
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    if (text(i, "ptl.role") != "weight")
      continue;
    BlockArgument argument = step.getArgument(i);
    auto members = step.getArgAttrOfType<ArrayAttr>(i, "ptl.members");
    if (!members) {
      addWeight(text(i, "ptl.path"), step.getArgAttrDict(i), argument.getType(),
                lineOf(argument.getLoc()), layoutOf(argument, places));
      if (Value copy = copyOf(argument))
        weights[text(i, "ptl.path")]["copy"] = typedLayout(copy);
      continue;
    }
    for (auto [member, layout] : llvm::zip_equal(
             members.getAsRange<DictionaryAttr>(),
             layoutsIn(places.of(argument), step.getArgAttrOfType<ArrayAttr>(i, "rt.members")))) {
      auto line = member.getAs<StringAttr>("line");
      addWeight(member.getAs<StringAttr>("ptl.path").getValue(), member,
                member.getAs<TypeAttr>("type").getValue(), line ? line.str() : "",
                std::move(layout));
    }
    if (Value copy = copyOf(argument))
      for (auto [member, layout] :
           llvm::zip_equal(members.getAsRange<DictionaryAttr>(),
                           layoutsIn(places.of(copy),
                                     copy.getDefiningOp()->getAttrOfType<ArrayAttr>("rt.members"))))
        weights[member.getAs<StringAttr>("ptl.path").getValue()]["copy"] = std::move(layout);
  }
  // Buckets come in an order of their own; a rank of a pipeline has some of the weights.
  if (auto declared = step->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>("ptl.weights")) {
    order.clear();
    for (auto path : declared.getAsRange<StringAttr>())
      if (weights.contains(path.getValue()))
        order.push_back(path.getValue());
  }
  json::Array list;
  for (StringRef path : order)
    list.push_back(std::move(weights[path]));
  return list;
}

json::Array codegen::describeWeights(func::FuncOp step, const Places &places) {
  return Describer(step, places).describe();
}
