//===- Interpreter.cpp - Runs a function on simulated ranks ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values die after their last use in the block that defines them, which keeps
// the memory near that of the program's live values. A kernel is its body.
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Interpreter.h"

#include "dialects/Ptl/Ptl.h"
#include "dialects/Spmd/Spmd.h"

namespace ptlc::run {

static constexpr llvm::StringLiteral kGradient = "ptl.grad";

static bool isChunks(mlir::Operation &op) { return op.getName().getStringRef() == "rt.chunks"; }
static bool isKernel(mlir::Operation &op) { return op.getName().getStringRef() == "rt.kernel"; }

llvm::FailureOr<Outcome> Interpreter::run(llvm::ArrayRef<PerRank> arguments) {
  mlir::Block &body = function.getBody().front();
  for (auto [argument, tensors] : llvm::zip(body.getArguments(), arguments))
    define(argument, tensors);
  if (failed(runBlock(body)))
    return llvm::failure();
  for (mlir::Value value : body.getTerminator()->getOperands())
    outcome.results.push_back(values.lookup(value));
  return std::move(outcome);
}

void Interpreter::define(mlir::Value value, PerRank tensors) { values[value] = std::move(tensors); }

void Interpreter::findLastUses(mlir::Block &block) {
  if (!analysed.insert(&block).second)
    return;
  auto note = [&](mlir::Value value, mlir::Operation *start) {
    mlir::Operation *last = start;
    for (mlir::Operation *user : value.getUsers()) {
      mlir::Operation *here = block.findAncestorOpInBlock(*user);
      if (here && (!last || last->isBeforeInBlock(here)))
        last = here;
    }
    if (last && !last->hasTrait<mlir::OpTrait::IsTerminator>())
      lastUses[last].push_back(value);
  };
  for (mlir::BlockArgument argument : block.getArguments())
    note(argument, nullptr);
  for (mlir::Operation &op : block)
    for (mlir::Value result : op.getResults())
      note(result, &op);
}

void Interpreter::releaseAfter(mlir::Operation &op) {
  auto dying = lastUses.find(&op);
  if (dying == lastUses.end())
    return;
  for (mlir::Value value : dying->second)
    values.erase(value);
}

/// Runs all operations but the terminator, whose operands stay alive.
llvm::LogicalResult Interpreter::runBlock(mlir::Block &block) {
  findLastUses(block);
  for (mlir::Operation &op : block.without_terminator()) {
    if (failed(runOperation(op)) || failed(checkShapes(op)))
      return llvm::failure();
    keepGradients(op);
    releaseAfter(op);
  }
  return llvm::success();
}

llvm::LogicalResult Interpreter::runOperation(mlir::Operation &op) {
  if (mlir::isa<ptl::AccumulateOp>(op))
    return runAccumulate(op);
  if (isChunks(op))
    return runChunks(op);
  if (isKernel(op))
    return runKernel(op);
  return runOnRanks(op);
}

llvm::Expected<OpState> Interpreter::stateFor(mlir::Operation &op, int64_t rank) {
  OpState state;
  state.options = &options;
  for (mlir::Value operand : op.getOperands())
    state.operands.push_back(values[operand][rank]);
  mlir::Attribute cuts = op.getAttr(mlir::isa<spmd::MaskOp>(op) ? "cuts" : "cut");
  if (!cuts)
    return state;
  auto number = micro.empty() ? std::nullopt : std::optional<int64_t>(micro.back());
  llvm::Expected<Windows> windows = windowsOf(cuts, mesh, rank, number, chunk);
  if (!windows)
    return windows.takeError();
  state.windows = *windows;
  return state;
}

static llvm::LogicalResult report(mlir::Operation &op, llvm::Error error,
                                  std::optional<int64_t> rank = std::nullopt) {
  mlir::InFlightDiagnostic diagnostic = op.emitError(llvm::toString(std::move(error)));
  if (rank)
    diagnostic << " (rank " << *rank << ")";
  return diagnostic;
}

llvm::LogicalResult Interpreter::runOnRanks(mlir::Operation &op) {
  std::vector<OpState> states;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    llvm::Expected<OpState> state = stateFor(op, rank);
    if (!state)
      return report(op, state.takeError(), rank);
    states.push_back(std::move(*state));
  }
  llvm::SmallVector<Results> outputs;
  if (isCollective(&op)) {
    auto results = executeCollective(&op, mesh, states);
    if (!results)
      return report(op, results.takeError());
    outputs = std::move(*results);
  } else {
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      auto results = execute(&op, states[rank]);
      if (!results)
        return report(op, results.takeError(), rank);
      outputs.push_back(std::move(*results));
    }
  }
  for (mlir::OpResult result : op.getResults()) {
    PerRank tensors;
    for (Results &output : outputs) {
      roundToElement(output[result.getResultNumber()], options.f64);
      tensors.push_back(output[result.getResultNumber()]);
    }
    define(result, std::move(tensors));
  }
  return llvm::success();
}

/// Adds to the sums of all ranks; every partial sum is rounded.
static void addPiece(PerRank &sums, const PerRank &piece, bool f64) {
  for (auto [sum, addend] : llvm::zip(sums, piece)) {
    double *out = sum.mutableData();
    for (int64_t e = 0; e < sum.count(); ++e)
      out[e] += addend[e];
    roundToElement(sum, f64);
  }
}

/// Sums in the order of the micro-batches.
llvm::LogicalResult Interpreter::runAccumulate(mlir::Operation &op) {
  auto accumulate = mlir::cast<ptl::AccumulateOp>(op);
  mlir::Block &body = accumulate.getBody().front();
  std::vector<PerRank> sums;
  for (int64_t k = 0; k < static_cast<int64_t>(accumulate.getPieces()); ++k) {
    Tensor number(Type{Element::I64, {}, {}}, static_cast<double>(k));
    define(body.getArgument(0), PerRank(mesh.ranks(), number));
    micro.push_back(k);
    llvm::LogicalResult ran = runBlock(body);
    micro.pop_back();
    if (failed(ran))
      return llvm::failure();
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      PerRank piece = values.lookup(value);
      if (k == 0)
        sums.push_back(piece);
      else
        addPiece(sums[i], piece, options.f64);
    }
  }
  for (auto [result, sum] : llvm::zip(op.getResults(), sums))
    define(result, sum);
  return llvm::success();
}

/// Joins pieces of the values that have the dimension, adds up the others.
llvm::LogicalResult Interpreter::runChunks(mlir::Operation &op) {
  int64_t pieces = op.getAttrOfType<mlir::IntegerAttr>("pieces").getInt();
  auto dim = op.getAttrOfType<mlir::StringAttr>("dim");
  mlir::Block &body = op.getRegion(0).front();
  std::vector<PerRank> results(op.getNumResults());
  for (int64_t k = 0; k < pieces; ++k) {
    Tensor number(Type{Element::I64, {}, {}}, static_cast<double>(k));
    define(body.getArgument(0), PerRank(mesh.ranks(), number));
    chunk = k;
    llvm::LogicalResult ran = runBlock(body);
    chunk.reset();
    if (failed(ran))
      return llvm::failure();
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      PerRank piece = values.lookup(value);
      if (!ptl::hasDim(op.getResult(i), dim.getValue())) {
        k == 0 ? void(results[i] = piece) : addPiece(results[i], piece, options.f64);
        continue;
      }
      // The dimension is the outermost one: pieces follow each other.
      if (k == 0)
        results[i] = PerRank(mesh.ranks(), Tensor(typeOf(op.getResult(i).getType())));
      for (auto [whole, part] : llvm::zip(results[i], piece))
        std::copy_n(part.data(), part.count(), whole.mutableData() + k * part.count());
    }
  }
  for (auto [result, tensors] : llvm::zip(op.getResults(), results))
    define(result, tensors);
  return llvm::success();
}

llvm::LogicalResult Interpreter::runKernel(mlir::Operation &op) {
  mlir::Block &body = op.getRegion(0).front();
  if (body.getNumArguments() != op.getNumOperands())
    return op.emitError("the kernel's body takes ")
           << body.getNumArguments() << " arguments, the kernel has " << op.getNumOperands();
  for (auto [argument, operand] : llvm::zip(body.getArguments(), op.getOperands()))
    define(argument, values.lookup(operand));
  if (failed(runBlock(body)))
    return llvm::failure();
  for (auto [result, value] : llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    define(result, values.lookup(value));
  return llvm::success();
}

/// A result of another shape than its type is a fault of this program, or of a verifier.
llvm::LogicalResult Interpreter::checkShapes(mlir::Operation &op) {
  for (mlir::Value result : op.getResults()) {
    Type expected = typeOf(result.getType());
    for (const Tensor &tensor : values.lookup(result))
      if (tensor.type().sizes != expected.sizes)
        return op.emitError("result of type ")
               << expected.str() << " was computed as " << tensor.type().str();
  }
  return llvm::success();
}

void Interpreter::keepGradients(mlir::Operation &op) {
  mlir::Attribute paths = op.getDiscardableAttr(kGradient);
  if (auto path = mlir::dyn_cast_or_null<mlir::StringAttr>(paths))
    outcome.gradients[path.str()] = values.lookup(op.getResult(0));
  auto list = mlir::dyn_cast_or_null<mlir::ArrayAttr>(paths);
  if (!list)
    return;
  for (auto [path, result] : llvm::zip(list, op.getResults()))
    if (auto text = mlir::dyn_cast<mlir::StringAttr>(path); text && !text.empty())
      outcome.gradients[text.str()] = values.lookup(result);
}

} // namespace ptlc::run
