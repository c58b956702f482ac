//===- BuildStep.cpp - Turn the loss into a training step -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counts, micro-batches, norm, clip, update: see the pass's description. The
// gradient is taken of the piece's share of the loss, inside the accumulate, on
// the global view; so every factor that later stages might get wrong (a mean
// over devices, the number of micro-batches) is part of the program already.
// The norm is always taken, since it is logged.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Grad/Passes.h"

#include "compiler/Transforms/Grad/Differentiate.h"
#include "compiler/Transforms/Grad/Directions.h"
#include "compiler/Transforms/Grad/MaskRows.h"
#include "compiler/Transforms/Grad/PieceBody.h"
#include "compiler/Transforms/Grad/Signature.h"
#include "dialects/Ptl/Emitter.h"

namespace ptlc::grad {
#define GEN_PASS_DEF_BUILDSTEP
#include "compiler/Transforms/Grad/Passes.h.inc"
} // namespace ptlc::grad
using namespace mlir;
using namespace ptlc;
using namespace ptlc::grad;
using ptl::ElementwiseKind;

namespace {
/// Builds `@step` before `@loss`.
class StepBuilder {
public:
  StepBuilder(func::FuncOp loss, Signature signature, bool returnGradients)
      : loss(loss), signature(std::move(signature)), returnGradients(returnGradients),
        builder(loss), float32(builder.getF32Type()) {}

  FailureOr<func::FuncOp> build();

private:
  void declareArguments();
  void addArgument(Type type, Location loc, ArrayRef<NamedAttribute> attributes);
  NamedAttribute text(StringRef name, const Twine &value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  }
  LogicalResult accumulate();
  FailureOr<SmallVector<Value>> buildBody(ptl::AccumulateOp accumulate, const PieceDims &dims);
  unsigned accumulators(const Weight &weight) const;
  void addUses(ValueRange sums);
  Value clipFactor(Value norm);
  Value hyper(unsigned number, StringRef name, bool decayed, Value scale);
  void optimizeGroup(unsigned number, bool decayed, Value scale);
  void optimizeAlong(unsigned number, unsigned weight, bool decayed, Value scale);
  void finish(Value norm);
  Value argument(StringRef path) { return arguments.lookup(path); }
  void addResult(Value value, StringRef role, StringRef path);

  func::FuncOp loss;
  Signature signature;
  bool returnGradients;
  OpBuilder builder;
  Type float32;
  func::FuncOp step;
  SmallVector<Type> argumentTypes;
  SmallVector<Location> argumentLocs;
  SmallVector<Attribute> argumentAttributes;
  llvm::StringMap<unsigned> argumentNumbers; ///< states and hyper-parameters by path
  llvm::StringMap<Value> arguments;
  SmallVector<Value> sums;        ///< loss and metrics
  SmallVector<Value> gradients;   ///< of the weights, null for frozen ones
  llvm::StringMap<Value> updated; ///< new weights and states by path
  SmallVector<Value> results;
  SmallVector<Attribute> resultAttributes;
};
} // namespace

void StepBuilder::addArgument(Type type, Location loc, ArrayRef<NamedAttribute> attributes) {
  argumentTypes.push_back(type);
  argumentLocs.push_back(loc);
  argumentAttributes.push_back(builder.getDictionaryAttr(attributes));
}

/// Weights, states, data, step, valid, hyper-parameters.
void StepBuilder::declareArguments() {
  auto copy = [&](BlockArgument argument) {
    DictionaryAttr attributes = loss.getArgAttrDict(argument.getArgNumber());
    addArgument(argument.getType(), argument.getLoc(),
                attributes ? attributes.getValue() : ArrayRef<NamedAttribute>());
  };
  for (const Weight &weight : signature.weights)
    copy(weight.argument);
  auto zeros = builder.getNamedAttr("ptl.init", builder.getDictionaryAttr({text("kind", "zeros")}));
  SmallVector<const Optimizer *> owner(signature.weights.size());
  for (const Optimizer &optimizer : signature.optimizers)
    for (unsigned weight : optimizer.weights)
      owner[weight] = &optimizer;
  for (auto [weight, optimizer] : llvm::zip_equal(signature.weights, owner)) {
    for (StringRef state : optimizer ? optimizer->states() : ArrayRef<llvm::StringLiteral>()) {
      std::string path = (weight.path + "#" + state).str();
      argumentNumbers[path] = argumentTypes.size();
      addArgument(weight.argument.getType(), weight.argument.getLoc(),
                  {text("ptl.role", "state"), text("ptl.path", path), zeros});
    }
  }
  for (BlockArgument field : signature.data)
    copy(field);
  copy(signature.step);
  if (signature.valid)
    copy(signature.valid);
  auto addHyper = [&](const Twine &path, double value) {
    std::string name = path.str();
    argumentNumbers[name] = argumentTypes.size();
    addArgument(ptl::getScalarType(float32), loss.getLoc(),
                {text("ptl.role", "hyper"), text("ptl.path", name),
                 builder.getNamedAttr("ptl.value", builder.getF64FloatAttr(value))});
  };
  for (auto [number, optimizer] : llvm::enumerate(signature.optimizers))
    for (StringRef hyper : optimizer.hypers())
      addHyper("opt" + Twine(number) + "." + hyper, optimizer.number(hyper));
  if (signature.clip)
    addHyper("clip", *signature.clip);
}

/// How many gradients of a weight are added up over the pieces: one, or under `reproducible` and in
/// a pipeline one for each use, so that it doesn't matter whether the uses are in one stage.
unsigned StepBuilder::accumulators(const Weight &weight) const {
  if (weight.frozen)
    return 0;
  unsigned uses = llvm::range_size(weight.argument.getUses());
  return signature.perUse ? std::max(1u, uses) : 1;
}

/// Gives each use of `weight` in the block, in order, a name of its own, so that it has a gradient.
static SmallVector<Value> separateUses(Value weight, Block &block) {
  SmallVector<Value> names;
  for (Operation &op : llvm::make_early_inc_range(block))
    for (OpOperand &operand : op.getOpOperands())
      if (operand.get() == weight) {
        OpBuilder builder(&op);
        operand.set(ptl::BroadcastOp::create(builder, op.getLoc(), weight, weight.getType()));
        names.push_back(operand.get());
      }
  return names;
}

/// Fills the accumulate's body and returns what it yields: loss, metrics, gradients of trained
/// weights.
FailureOr<SmallVector<Value>> StepBuilder::buildBody(ptl::AccumulateOp accumulate,
                                                     const PieceDims &dims) {
  Block &block = accumulate.getBody().front();
  OpBuilder outside(accumulate);
  PieceBody body(dims, block, outside);
  unsigned next = 0;
  auto bind = [&](BlockArgument argument, bool isData) {
    body.bindArgument(argument, step.getArgument(next++), isData);
  };
  SmallVector<Value> trained;
  for (const Weight &weight : signature.weights) {
    if (!weight.frozen)
      trained.push_back(step.getArgument(next));
    if (dims.hasRows(weight.argument.getType()) && dims.getPieces() > 1)
      return loss.emitError() << "weight '" << weight.path
                              << "' has the dimension of the batch, which micro-batches cut";
    bind(weight.argument, /*isData=*/false);
  }
  while (step.getArgAttrOfType<StringAttr>(next, "ptl.role") == "state")
    ++next;
  for (BlockArgument field : signature.data)
    bind(field, /*isData=*/true);
  bind(signature.step, /*isData=*/true);
  if (signature.valid)
    bind(signature.valid, /*isData=*/true);

  Block &original = loss.getBody().front();
  if (failed(body.copy(original)))
    return failure();
  SmallVector<Value> yielded;
  for (Value value : original.getTerminator()->getOperands())
    yielded.push_back(body.shareOf(value));
  SmallVector<Value> inputs, names;
  for (Value weight : trained) {
    SmallVector<Value> uses;
    if (signature.perUse)
      uses = separateUses(weight, block);
    llvm::append_range(names, uses);
    uses.empty() ? inputs.push_back(weight) : llvm::append_range(inputs, uses);
  }
  FailureOr<SmallVector<Value>> found = differentiate(block, yielded.front(), inputs);
  if (failed(found))
    return failure();
  OpBuilder end = OpBuilder::atBlockEnd(&block);
  for (auto [input, gradient] :
       llvm::zip_equal(inputs, *found)) // a weight without influence has gradient 0
    yielded.push_back(gradient ? gradient : ptl::Emitter(end, input.getLoc()).like(input, 0));
  for (Value name : names) {
    name.replaceAllUsesWith(name.getDefiningOp()->getOperand(0));
    name.getDefiningOp()->erase();
  }
  maskRows(block, dims);
  return yielded;
}

LogicalResult StepBuilder::accumulate() {
  FailureOr<PieceDims> dims = PieceDims::find(loss, signature.microbatches);
  if (failed(dims))
    return failure();
  SmallVector<Type> types(loss.getResultTypes());
  SmallVector<Attribute> marks(types.size(), builder.getStringAttr(""));
  for (const Weight &weight : signature.weights) {
    unsigned count = accumulators(weight);
    types.append(count, weight.argument.getType());
    // What several uses add up to is marked behind the loop.
    marks.append(count, builder.getStringAttr(count == 1 ? weight.path : ""));
  }
  auto accumulate =
      ptl::AccumulateOp::create(builder, loss.getLoc(), types, signature.microbatches);
  FailureOr<SmallVector<Value>> yielded = buildBody(accumulate, *dims);
  if (failed(yielded))
    return failure();
  joinAccumulates(accumulate);
  for (Operation *op = accumulate->getPrevNode(); op; op = op->getPrevNode())
    if (auto counts = dyn_cast<ptl::AccumulateOp>(op))
      maskRows(counts.getBody().front(), *dims);
  OpBuilder end = OpBuilder::atBlockEnd(&accumulate.getBody().front());
  ptl::YieldOp::create(end, loss.getLoc(), *yielded);
  accumulate->setAttr("ptl.grad", builder.getArrayAttr(marks));

  size_t next = loss.getNumResults();
  sums.assign(accumulate.result_begin(), accumulate.result_begin() + next);
  addUses(accumulate.getResults().drop_front(next));
  return success();
}

/// Adds the gradients of a weight's uses up, in the order of the uses.
void StepBuilder::addUses(ValueRange sums) {
  for (const Weight &weight : signature.weights) {
    Value gradient;
    unsigned count = accumulators(weight);
    for (Value use : sums.take_front(count))
      gradient =
          gradient ? ptl::Emitter(builder, weight.argument.getLoc()).add(gradient, use) : use;
    if (count > 1)
      gradient.getDefiningOp()->setAttr("ptl.grad", builder.getStringAttr(weight.path));
    gradients.push_back(gradient);
    sums = sums.drop_front(count);
  }
}

/// min(1, clip / (norm + 1e-6)), as PyTorch has it; 1 without clipping.
Value StepBuilder::clipFactor(Value norm) {
  ptl::Emitter e(builder, norm.getLoc());
  if (!signature.clip)
    return e.like(norm, 1);
  return e.map(ElementwiseKind::Min,
               {e.div(argument("clip"), e.add(norm, e.like(norm, 1e-6))), e.like(norm, 1)});
}

/// A hyper-parameter of an optimizer; decay is 0 where none is due.
Value StepBuilder::hyper(unsigned number, StringRef name, bool decayed, Value scale) {
  if (name == "weight_decay" && !decayed)
    return ptl::Emitter(builder, loss.getLoc()).like(scale, 0);
  return argument(("opt" + Twine(number) + "." + name).str());
}

/// What torch.optim.Muon multiplies the learning rate of a matrix with.
static double rateFactor(const Optimizer &optimizer, RankedTensorType matrix) {
  auto rows = static_cast<double>(matrix.getDimSize(0));
  auto cols = static_cast<double>(matrix.getDimSize(1));
  auto rule = optimizer.settings.getAs<StringAttr>("adjust_lr");
  return rule && rule.getValue() == "match_rms_adamw" ? 0.2 * std::sqrt(std::max(rows, cols))
                                                      : std::sqrt(std::max(1.0, rows / cols));
}

/// The update of a weight by an optimizer that needs it whole: new states and a direction, what is
/// made of that, and the step. Weight by weight, so that few directions are there at one time.
void StepBuilder::optimizeAlong(unsigned number, unsigned weight, bool decayed, Value scale) {
  const Optimizer &optimizer = signature.optimizers[number];
  const Weight &owner = signature.weights[weight];
  bool isMuon = optimizer.kind == ptl::OptimizerKind::Muon;
  ptl::Emitter e(builder, owner.argument.getLoc());
  Value old = step.getArgument(weight), counter = argument("step");
  SmallVector<Value> states, hypers;
  for (StringRef state : optimizer.states())
    states.push_back(argument((owner.path + "#" + state).str()));
  for (StringRef name : optimizer.hypers())
    if (name != "lr" && !(isMuon && name == "weight_decay"))
      hypers.push_back(hyper(number, name, decayed, scale));
  hypers.push_back(scale);
  auto nesterov = optimizer.settings.getAs<BoolAttr>("nesterov");
  auto moved =
      ptl::OptimizeOp::create(builder, e.loc, optimizer.kind, old, gradients[weight], states,
                              hypers, counter, owner.path, nesterov && nesterov.getValue());
  for (auto [state, value] : llvm::zip_equal(optimizer.states(), moved.getNewStates()))
    updated[(owner.path + "#" + state).str()] = value;
  Value direction = moved.getNewWeights()[0], factor;
  Value lr = hyper(number, "lr", decayed, scale), decay = e.like(scale, 0);
  if (isMuon) {
    NewtonSchulz settings{optimizer.number("a"), optimizer.number("b"), optimizer.number("c"),
                          optimizer.number("eps"),
                          optimizer.settings.getAs<IntegerAttr>("ns_steps").getInt()};
    direction = orthogonalize(e, direction, settings);
    factor = e.like(scale, rateFactor(optimizer, cast<RankedTensorType>(old.getType())));
    decay = hyper(number, "weight_decay", decayed, scale);
  } else {
    factor = trustRatio(e, old, direction);
  }
  auto applied = ptl::OptimizeOp::create(builder, e.loc, ptl::OptimizerKind::Apply, old, direction,
                                         ValueRange(), ValueRange{lr, decay, factor}, counter,
                                         owner.path, /*nesterov=*/false);
  updated[owner.path] = applied.getNewWeights()[0];
}

/// One operation for the weights of an optimizer that decay, or for those that don't.
void StepBuilder::optimizeGroup(unsigned number, bool decayed, Value scale) {
  const Optimizer &optimizer = signature.optimizers[number];
  SmallVector<unsigned> members;
  for (unsigned weight : optimizer.weights)
    if ((cast<RankedTensorType>(signature.weights[weight].argument.getType()).getRank() >= 2) ==
        decayed)
      members.push_back(weight);
  bool isWhole =
      llvm::is_contained({ptl::OptimizerKind::Muon, ptl::OptimizerKind::Lamb}, optimizer.kind);
  if (isWhole)
    for (unsigned weight : members)
      optimizeAlong(number, weight, decayed, scale);
  if (members.empty() || isWhole)
    return;
  SmallVector<Value> weights, grads, states, hypers;
  SmallVector<StringRef> names;
  for (unsigned weight : members) {
    weights.push_back(step.getArgument(weight));
    grads.push_back(gradients[weight]);
    names.push_back(signature.weights[weight].path);
  }
  for (StringRef state : optimizer.states())
    for (StringRef name : names)
      states.push_back(argument((name + "#" + state).str()));
  for (StringRef name : optimizer.hypers())
    hypers.push_back(hyper(number, name, decayed, scale));
  hypers.push_back(scale);
  bool nesterov = false;
  if (auto flag = optimizer.settings.getAs<BoolAttr>("nesterov"))
    nesterov = flag.getValue();
  Value counter = argument("step");
  auto update = ptl::OptimizeOp::create(builder, loss.getLoc(), optimizer.kind, weights, grads,
                                        states, hypers, counter, names, nesterov);
  unsigned next = 0;
  for (StringRef name : names)
    updated[name] = update.getResult(next++);
  for (StringRef state : optimizer.states())
    for (StringRef name : names)
      updated[(name + "#" + state).str()] = update.getResult(next++);
}

void StepBuilder::addResult(Value value, StringRef role, StringRef path) {
  results.push_back(value);
  SmallVector<NamedAttribute> attributes{text("ptl.role", role)};
  if (!path.empty())
    attributes.push_back(text("ptl.path", path));
  resultAttributes.push_back(builder.getDictionaryAttr(attributes));
}

/// Returns new weights, new states, loss, norm, metrics and, if wanted, gradients.
void StepBuilder::finish(Value norm) {
  for (StringRef role : {"weight", "state"}) {
    for (unsigned index = 0; index < step.getNumArguments(); ++index) {
      if (step.getArgAttrOfType<StringAttr>(index, "ptl.role") != role)
        continue;
      StringRef path = step.getArgAttrOfType<StringAttr>(index, "ptl.path").getValue();
      if (Value value = updated.lookup(path))
        addResult(value, role, path);
    }
  }
  addResult(sums.front(), "loss", "");
  addResult(norm, "grad_norm", "");
  for (unsigned index = 1; index < sums.size(); ++index) {
    auto name = loss.getResultAttrOfType<StringAttr>(index, "ptl.path");
    addResult(sums[index], "metric", name ? name.getValue() : "");
  }
  for (auto [weight, gradient] : llvm::zip_equal(signature.weights, gradients))
    if (gradient && returnGradients)
      addResult(gradient, "gradient", weight.path);
  func::ReturnOp::create(builder, loss.getLoc(), results);
  step.setType(builder.getFunctionType(argumentTypes, ValueRange(results).getTypes()));
  step.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
}

FailureOr<func::FuncOp> StepBuilder::build() {
  declareArguments();
  step = func::FuncOp::create(builder, loss.getLoc(), "step",
                              builder.getFunctionType(argumentTypes, {}));
  step.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  Block *block = builder.createBlock(&step.getBody(), {}, argumentTypes, argumentLocs);
  for (const auto &entry : argumentNumbers)
    arguments[entry.getKey()] = block->getArgument(entry.getValue());
  for (BlockArgument argument : block->getArguments())
    if (step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.role") == "step")
      arguments["step"] = argument;
  if (failed(accumulate()))
    return failure();
  SmallVector<Value> marked;
  for (Value gradient : gradients)
    if (gradient)
      marked.push_back(gradient);
  Value norm =
      ptl::GlobalNormOp::create(builder, loss.getLoc(), ptl::getScalarType(float32), marked);
  Value scale = clipFactor(norm);
  for (unsigned number = 0; number < signature.optimizers.size(); ++number)
    for (bool decayed : {true, false})
      optimizeGroup(number, decayed, scale);
  finish(norm);
  return step;
}

namespace {
struct BuildStep : grad::impl::BuildStepBase<BuildStep> {
  using BuildStepBase::BuildStepBase;
  void runOnOperation() override {
    auto loss = getOperation().lookupSymbol<func::FuncOp>("loss");
    if (!loss)
      return;
    FailureOr<Signature> signature = Signature::read(getOperation(), loss);
    if (failed(signature) ||
        failed(StepBuilder(loss, std::move(*signature), returnGradients).build()))
      return signalPassFailure();
    loss.erase();
  }
};
} // namespace
