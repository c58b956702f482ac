//===- Signature.cpp - What a function takes and returns ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Signature.h"

#include "dialects/Ptl/Ptl.h"
#include "dialects/Spmd/Spmd.h"
#include "test/lib/ptl-run/Buckets.h"
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

std::vector<Port> valuesOf(llvm::ArrayRef<Port> ports) {
  std::vector<Port> values;
  for (const Port &port : ports)
    if (port.members.empty())
      values.push_back(port);
    else
      values.insert(values.end(), port.members.begin(), port.members.end());
  return values;
}

namespace {
/// Fills in what buckets consist of.
class Buckets {
public:
  explicit Buckets(mlir::func::FuncOp function);
  llvm::LogicalResult fill(Port &port) const;

private:
  mlir::func::FuncOp function;
  std::map<std::string, Port> weights; ///< by path; those of buckets, too
};
} // namespace

static mlir::ArrayAttr membersOf(const Port &port) {
  return port.attributes ? port.attributes.getAs<mlir::ArrayAttr>("ptl.members")
                         : mlir::ArrayAttr();
}

/// A weight of a bucket, by its entry.
static Port readMember(mlir::DictionaryAttr entry) {
  return readPort(entry.getAs<mlir::TypeAttr>("type").getValue(), entry, 0, /*local=*/true);
}

Buckets::Buckets(mlir::func::FuncOp function) : function(function) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    mlir::DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
    Port port = readPort(argument.getType(), attributes, 0, /*local=*/true);
    if (port.role != "weight")
      continue;
    if (!membersOf(port))
      weights[port.path] = port;
    else
      for (auto entry : membersOf(port).getAsRange<mlir::DictionaryAttr>())
        weights[textOf(entry, "ptl.path")] = readMember(entry);
  }
}

/// Members of weights are entries, those of states paths of weights.
llvm::LogicalResult Buckets::fill(Port &port) const {
  mlir::ArrayAttr list = membersOf(port);
  mlir::func::FuncOp at = function;
  for (mlir::Attribute entry : list ? list : mlir::ArrayAttr::get(at.getContext(), {})) {
    auto path = mlir::dyn_cast<mlir::StringAttr>(entry);
    auto found = weights.find(path ? path.str()
                                   : textOf(mlir::cast<mlir::DictionaryAttr>(entry), "ptl.path"));
    if (found == weights.end())
      return at.emitError("no weight has the path of a member of '") << port.path << "'";
    Port member = found->second;
    if (member.local.sizes != member.global.sizes)
      return at.emitError("ptl-run can't put '")
             << member.path << "', which axes cut, into the parts of '" << port.path << "'";
    if (path) {
      member.role = port.role;
      member.path += "#" + llvm::StringRef(port.path).rsplit('#').second.str();
      member.attributes = {};
    }
    port.members.push_back(member);
  }
  return llvm::success();
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
  Buckets buckets(function);
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
    if (failed(buckets.fill(port)))
      return llvm::failure();
    signature.arguments.push_back(std::move(port));
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    Port port = readPort(type, function.getResultAttrDict(i), i, local);
    if (failed(buckets.fill(port)))
      return llvm::failure();
    signature.results.push_back(std::move(port));
  }
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

/// The value of a port, of a bucket put together.
static llvm::FailureOr<Tensor> inputOf(const Signature &signature, const Port &port,
                                       const Tensors &inputs) {
  mlir::func::FuncOp function = signature.function;
  llvm::SmallVector<Tensor> tensors;
  for (const Port &each : valuesOf(port)) {
    auto input = inputs.find(each.key());
    if (input == inputs.end())
      return function.emitError("no value for ") << each.key();
    if (input->second.type().sizes != each.global.sizes)
      return function.emitError() << each.key() << " has shape " << input->second.type().str()
                                  << ", should have " << each.global.str();
    tensors.push_back(input->second);
  }
  return port.members.empty() ? tensors[0].as(port.global) : partOfBucket(tensors, port.global, 0);
}

static llvm::FailureOr<PerRank> cutInput(const Signature &signature, const Port &port,
                                         const Tensors &inputs, const RunOptions &options) {
  mlir::func::FuncOp function = signature.function;
  llvm::FailureOr<Tensor> input = inputOf(signature, port, inputs);
  if (failed(input))
    return llvm::failure();
  Tensor global = std::move(*input);
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
    llvm::SmallVector<Type> types;
    for (const Port &member : port.members)
      types.push_back(member.global);
    if (types.empty())
      result.results[port.key()] = std::move(*global);
    else
      for (auto [member, tensor] : llvm::zip_equal(port.members, tensorsOfBucket(*global, types)))
        result.results[member.key()] = tensor;
  }
  if (signature.mesh.ranks() == 1)
    for (auto &[path, tensors] : outcome->gradients)
      result.gradients[path] = tensors[0];
  return result;
}

} // namespace ptlc::run
