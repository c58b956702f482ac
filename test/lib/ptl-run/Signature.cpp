//===- Signature.cpp - What a function takes and returns ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Signature.h"

#include "dialects/Ptl/Ptl.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace ptlc::run {

static constexpr llvm::StringLiteral kGlobalType = "spmd.global_type", kSharding = "spmd.sharding",
                                     kPieces = "spmd.pieces", kBatch = "batch";

static Sharding shardingOf(spmd::ShardingAttr attribute) {
  Sharding sharding;
  for (unsigned i = 0; i < attribute.getDims().size(); ++i)
    sharding.dims.push_back(namesOf(attribute.getAxes(i)));
  sharding.partial = namesOf(attribute.getPartial());
  sharding.kind = attribute.getKind() == ptl::FoldKind::Sum   ? Fold::Sum
                  : attribute.getKind() == ptl::FoldKind::Max ? Fold::Max
                                                              : Fold::Min;
  return sharding;
}

static std::string textOf(mlir::DictionaryAttr attributes, llvm::StringRef name) {
  auto text = attributes ? attributes.getAs<mlir::StringAttr>(name) : mlir::StringAttr();
  return text ? text.str() : "";
}

/// `local` says that types are those of one device.
static Port readPort(mlir::Type type, mlir::DictionaryAttr attributes, unsigned number,
                     bool local) {
  Port port;
  port.attributes = attributes;
  port.role = textOf(attributes, "ptl.role");
  port.path = textOf(attributes, "ptl.path");
  if (port.path.empty())
    port.path = textOf(attributes, "ptl.name");
  if (port.role.empty())
    port.role = "value";
  if (port.path.empty() && port.role == "value")
    port.path = std::to_string(number);
  port.local = port.global = typeOf(type);
  if (!local || !attributes)
    return port;
  if (auto global = attributes.getAs<mlir::TypeAttr>(kGlobalType))
    port.global = typeOf(global.getValue());
  if (auto sharding = attributes.getAs<spmd::ShardingAttr>(kSharding))
    port.placement.sharding = shardingOf(sharding);
  if (auto pieces = attributes.getAs<mlir::IntegerAttr>(kPieces)) {
    port.placement.pieces = pieces.getInt();
    port.placement.microDim = kBatch;
  }
  return port;
}

static bool hasAttribute(mlir::func::FuncOp function, llvm::StringRef name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, name))
      return true;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, name))
      return true;
  return false;
}

/// Whether the function is the program of one device of a mesh.
static bool isPerDevice(mlir::func::FuncOp function) {
  if (hasAttribute(function, kGlobalType))
    return true;
  // The masks of uneven micro-batches occur before a program is cut, too.
  bool cut = false;
  function.walk([&](mlir::Operation *op) {
    auto mask = mlir::dyn_cast<spmd::MaskOp>(op);
    if (!mask)
      cut |= isCollective(op);
    else
      for (spmd::CutAttr entry : mask.getCuts().getCuts())
        cut |= !entry.getAxes().empty();
  });
  return cut;
}

static Mesh meshOf(mlir::func::FuncOp function) {
  Mesh mesh;
  auto module = function->getParentOfType<mlir::ModuleOp>();
  spmd::MeshOp op = spmd::findMesh(module);
  if (!op || !isPerDevice(function))
    return mesh;
  for (spmd::AxisAttr axis : op.getAxisRange()) {
    mesh.axes.push_back(axis.getName().getValue());
    mesh.sizes.push_back(axis.getSize());
  }
  return mesh;
}

/// How an argument is cut into micro-batches: what its first ptl.microbatch says.
static void findPieces(mlir::BlockArgument argument, Port &port) {
  for (mlir::Operation *user : argument.getUsers())
    if (auto microbatch = mlir::dyn_cast<ptl::MicrobatchOp>(user)) {
      port.placement.pieces = static_cast<int64_t>(microbatch.getPieces());
      port.placement.microDim = microbatch.getDim();
    }
}

/// Follows integers to the table that they index or the classes that they name.
static void findRange(mlir::Value value, Port &port, int depth = 0) {
  auto note = [&](int64_t size) { port.range = std::min(size, port.range.value_or(size)); };
  if (depth > 16)
    return;
  for (mlir::OpOperand &use : value.getUses()) {
    mlir::Operation *op = use.getOwner();
    if (auto gather = mlir::dyn_cast<ptl::GatherOp>(op); gather && use.getOperandNumber() == 1) {
      auto cuts = mlir::dyn_cast_or_null<spmd::CutsAttr>(gather->getAttr("cut"));
      auto cut = cuts ? cuts.find(gather.getDim()) : spmd::CutAttr();
      note(cut ? cut.getGlobal() : ptl::getDimSize(gather.getTable(), gather.getDim()));
    } else if (auto loss = mlir::dyn_cast<ptl::CrossEntropyOp>(op);
               loss && use.getOperandNumber() == 1) {
      note(ptl::getDimSize(loss.getLogits(), loss.getOver()));
    } else if (op->getName().getStringRef() == "rt.kernel") {
      findRange(op->getRegion(0).getArgument(use.getOperandNumber()), port, depth + 1);
    } else if (mlir::isa<ptl::MicrobatchOp, ptl::ReshapeOp, ptl::BroadcastOp, ptl::SliceOp>(op) ||
               isCollective(op)) {
      for (mlir::Value result : op->getResults())
        findRange(result, port, depth + 1);
    }
  }
}

llvm::FailureOr<Signature> readSignature(mlir::func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitError("ptl-run runs functions of one block");
  Signature signature;
  signature.function = function;
  signature.mesh = meshOf(function);
  bool local = isPerDevice(function);
  for (mlir::BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    Port port = readPort(argument.getType(), function.getArgAttrDict(i), i, local);
    if (local)
      findPieces(argument, port);
    if (port.global.element == Element::I32)
      findRange(argument, port);
    if (auto limit = function.getArgAttrOfType<mlir::IntegerAttr>(i, "ptl.limit");
        limit && limit.getInt() > 0)
      port.range = std::min(limit.getInt(), port.range.value_or(limit.getInt()));
    signature.arguments.push_back(std::move(port));
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    signature.results.push_back(readPort(type, function.getResultAttrDict(i), i, local));
  return signature;
}

llvm::FailureOr<mlir::func::FuncOp> findFunction(mlir::ModuleOp module, llvm::StringRef name) {
  if (!name.empty()) {
    if (auto function = module.lookupSymbol<mlir::func::FuncOp>(name))
      return function;
    return module.emitError("there is no function '") << name << "'";
  }
  for (llvm::StringRef usual : {"step", "loss"})
    if (auto function = module.lookupSymbol<mlir::func::FuncOp>(usual))
      return function;
  auto functions = module.getOps<mlir::func::FuncOp>();
  if (std::distance(functions.begin(), functions.end()) != 1)
    return module.emitError("say which function to run with --function");
  return *functions.begin();
}

static llvm::FailureOr<PerRank> cutInput(const Signature &signature, const Port &port,
                                         const Tensors &inputs, const RunOptions &options) {
  auto input = inputs.find(port.key());
  mlir::func::FuncOp function = signature.function;
  if (input == inputs.end())
    return function.emitError("no value for ") << port.key();
  Tensor global = input->second.as(port.global);
  if (input->second.type().sizes != port.global.sizes)
    return function.emitError() << port.key() << " has shape " << input->second.type().str()
                                << ", should have " << port.global.str();
  roundToElement(global, options.f64);
  PerRank tensors;
  for (int64_t rank = 0; rank < signature.mesh.ranks(); ++rank) {
    auto local = distribute(signature.mesh, port.placement, global, port.local, rank);
    if (!local)
      return function.emitError() << port.key() << ": " << llvm::toString(local.takeError());
    tensors.push_back(std::move(*local));
  }
  return tensors;
}

llvm::FailureOr<GlobalOutcome> runGlobal(const Signature &signature, const Tensors &inputs,
                                         const RunOptions &options) {
  std::vector<PerRank> arguments;
  for (const Port &port : signature.arguments) {
    llvm::FailureOr<PerRank> tensors = cutInput(signature, port, inputs, options);
    if (failed(tensors))
      return llvm::failure();
    arguments.push_back(std::move(*tensors));
  }
  Interpreter interpreter(signature.function, signature.mesh, options);
  llvm::FailureOr<Outcome> outcome = interpreter.run(arguments);
  if (failed(outcome))
    return llvm::failure();
  GlobalOutcome result;
  mlir::func::FuncOp function = signature.function;
  for (auto [port, locals] : llvm::zip(signature.results, outcome->results)) {
    auto global = collect(signature.mesh, port.placement, locals, port.global);
    if (!global)
      return function.emitError() << "result " << port.key() << ": "
                                  << llvm::toString(global.takeError());
    roundToElement(*global, options.f64);
    result.results[port.key()] = std::move(*global);
  }
  if (signature.mesh.ranks() == 1)
    for (auto &[path, tensors] : outcome->gradients)
      result.gradients[path] = tensors[0];
  return result;
}

} // namespace ptlc::run
