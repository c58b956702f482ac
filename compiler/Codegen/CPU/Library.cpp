//===- Library.cpp - Descriptors of library calls -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Library.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::cpu;

FailureOr<Tensor> cpu::tensorOf(Value value, const Places &places) {
  Tensor tensor;
  tensor.place = places.of(value);
  auto type = cast<RankedTensorType>(value.getType());
  auto strides = kernel::stridesOf(type.getShape(), tensor.place.layout);
  if (!strides)
    return emitError(value.getLoc(), "a buffer does not have the shape of its value"), failure();
  tensor.dims.strides = *strides;
  tensor.dims.sizes.assign(type.getShape().begin(), type.getShape().end());
  for (StringAttr name : ptl::getDims(type))
    tensor.dims.names.push_back(name.getValue());
  return tensor;
}

/// The kernel's operand that a value of its body is.
static Value operandOf(rt::KernelOp kernel, Value inner) {
  auto argument = dyn_cast<BlockArgument>(inner);
  return argument ? kernel.getInputs()[argument.getArgNumber()] : Value();
}

/// The kernel's operand that an operand of a contraction is, perhaps in another order: a product
/// goes by names and strides.
static Value factorOf(rt::KernelOp kernel, Value inner) {
  while (auto broadcast = inner.getDefiningOp<ptl::BroadcastOp>()) {
    Value source = broadcast->getOperand(0);
    if (cast<RankedTensorType>(source.getType()).getRank() !=
        cast<RankedTensorType>(inner.getType()).getRank())
      break;
    inner = source;
  }
  return operandOf(kernel, inner);
}

FailureOr<GemmCall> cpu::gemmCall(rt::KernelOp kernel, const Places &places) {
  ptl::DotOp dot;
  bool isProduct = llvm::all_of(kernel.getBody().front().without_terminator(), [&](Operation &op) {
    auto found = dyn_cast<ptl::DotOp>(op);
    bool first = found && !dot;
    dot = found ? found : dot;
    return first || isa<ptl::BroadcastOp>(op);
  });
  Value left = dot ? factorOf(kernel, dot.getLhs()) : Value(),
        right = dot ? factorOf(kernel, dot.getRhs()) : Value();
  if (!isProduct || !left || !right)
    return kernel.emitOpError("of kind matmul must hold one contraction of its operands"),
           failure();
  auto lhs = tensorOf(left, places), rhs = tensorOf(right, places);
  auto result = tensorOf(kernel.getResult(0), places);
  if (failed(lhs) || failed(rhs) || failed(result))
    return failure();
  std::string error;
  std::optional<kernel::GemmPlan> plan = kernel::planDot(lhs->dims, rhs->dims, result->dims, error);
  if (!plan)
    return kernel.emitError("can't call a matrix product: ") << error, failure();
  GemmCall call{*plan, lhs->place, rhs->place, result->place};
  if (plan->swapped)
    std::swap(call.a, call.b);
  call.accumulates = kernel->hasAttr("rt.accumulate");
  call.halves = ptl::elementType(left).isBF16();
  call.wide = call.halves && ptl::elementType(kernel.getResult(0)).isF32();
  return call;
}

namespace {
/// Looks up strides by name while an attention descriptor is filled in.
struct Named {
  const Tensor &tensor;
  std::optional<size_t> find(StringRef name) const {
    auto it = llvm::find(tensor.dims.names, name);
    return it == tensor.dims.names.end() ? std::nullopt
                                         : std::optional<size_t>(it - tensor.dims.names.begin());
  }
  int64_t stride(StringRef name) const {
    auto i = find(name);
    return i && tensor.dims.sizes[*i] > 1 ? tensor.dims.strides[*i] : 0;
  }
  int64_t size(StringRef name) const {
    auto i = find(name);
    return i ? tensor.dims.sizes[*i] : 1;
  }
};

/// Fills in one descriptor for either direction.
template <typename Op> class AttentionBuilder {
public:
  AttentionBuilder(rt::KernelOp kernel, Op op, const Places &places)
      : kernel(kernel), op(op), places(places) {}
  FailureOr<AttentionCall> build(Value y, Value lse);

private:
  FailureOr<Tensor> tensor(Value value) {
    if (Value operand = operandOf(kernel, value))
      return tensorOf(operand, places);
    return tensorOf(value, places);
  }
  void addOuter(StringRef name, StringRef keyName, int64_t size, int64_t repeat);
  LogicalResult addLoops();

  rt::KernelOp kernel;
  Op op;
  const Places &places;
  AttentionCall call;
  std::optional<Tensor> q, k, v, y, lse, mask;
};
} // namespace

/// A loop over `size` of the query dimension `name`, split into `repeat` neighbours that share
/// keys.
template <typename Op>
void AttentionBuilder<Op>::addOuter(StringRef name, StringRef keyName, int64_t size,
                                    int64_t repeat) {
  auto strides = [&](int64_t scale, bool keys) {
    AttentionCall::Outer outer;
    outer.q = Named{*q}.stride(name) * scale;
    outer.o = Named{*y}.stride(name) * scale;
    outer.lse = Named{*lse}.stride(name) * scale;
    outer.mask = mask ? Named{*mask}.stride(name) * scale : 0;
    outer.k = keys ? Named{*k}.stride(keyName) : 0;
    outer.v = keys ? Named{*v}.stride(keyName) : 0;
    return outer;
  };
  AttentionCall::Outer outer = strides(repeat, true);
  outer.size = size / repeat;
  if (outer.size > 1)
    call.outer.push_back(outer);
  if (repeat == 1)
    return;
  AttentionCall::Outer inner = strides(1, false);
  inner.size = repeat;
  call.outer.push_back(inner);
}

template <typename Op> LogicalResult AttentionBuilder<Op>::addLoops() {
  StringRef over = op.getOver(), depth = op.getDepth();
  SmallVector<StringRef> groupFrom, groupTo;
  if (auto group = op.getGroup()) {
    for (StringAttr name : group->getFrom())
      groupFrom.push_back(name.getValue());
    for (StringAttr name : group->getTo())
      groupTo.push_back(name.getValue());
  }
  if (groupFrom.size() > 1 || groupTo.size() > 1)
    return kernel.emitError("groups of several dimensions aren't supported");
  // Queries: the dimension `over`, or without one the last that keys lack.
  StringRef queries = Named{*q}.find(over) ? over : StringRef();
  for (StringRef name : q->dims.names)
    if (queries.empty() && name != depth && !Named{*k}.find(name) &&
        !llvm::is_contained(groupFrom, name))
      queries = name;
  call.queries = queries.empty() ? 1 : Named{*q}.size(queries);
  call.qRow = Named{*q}.stride(queries);
  call.oRow = Named{*y}.stride(queries);
  call.lseRow = Named{*lse}.stride(queries);
  if (mask) {
    std::string queryName = op.isSelfAttention() ? (over + ".query").str() : queries.str();
    call.maskRow = Named{*mask}.stride(queryName);
    call.maskCol = Named{*mask}.stride(over);
  }
  for (StringRef name : q->dims.names) {
    if (name == depth || name == queries)
      continue;
    bool grouped = llvm::is_contained(groupFrom, name);
    int64_t size = Named{*q}.size(name);
    int64_t repeat = grouped ? size / Named{*k}.size(groupTo.front()) : 1;
    addOuter(name, grouped ? groupTo.front() : name, size, repeat);
  }
  if (call.outer.size() > AttentionCall::kMaxOuter)
    return kernel.emitError("attention over more than ")
           << AttentionCall::kMaxOuter << " dimensions isn't supported";
  return success();
}

template <typename Op>
FailureOr<AttentionCall> AttentionBuilder<Op>::build(Value yValue, Value lseValue) {
  auto load = [&](Value value, std::optional<Tensor> &slot) {
    auto found = tensor(value);
    if (succeeded(found))
      slot = *found;
    return succeeded(found);
  };
  if (!load(op.getQ(), q) || !load(op.getK(), k) || !load(op.getV(), v) || !load(yValue, y) ||
      !load(lseValue, lse) || (op.getMask() && !load(op.getMask(), mask)))
    return failure();
  call.halves = ptl::elementType(op.getQ()).isBF16();
  StringRef over = op.getOver(), depth = op.getDepth(), valueDepth = op.getValueDepth();
  for (auto [tensor, name] :
       {std::pair(&*q, depth), {&*k, depth}, {&*v, valueDepth}, {&*y, valueDepth}})
    if (Named{*tensor}.size(name) > 1 && Named{*tensor}.stride(name) != 1)
      return kernel.emitError("attention needs '") << name << "' as the last dimension", failure();
  call.keys = Named{*k}.size(over);
  call.depth = Named{*q}.size(depth);
  call.valueDepth = Named{*v}.size(valueDepth);
  call.kRow = Named{*k}.stride(over);
  call.vRow = Named{*v}.stride(over);
  call.causal = op.getCausal();
  call.window = op.getWindow().value_or(0);
  call.scale = op.getScale().convertToDouble();
  if (failed(addLoops()))
    return failure();
  call.q = q->place;
  call.k = k->place;
  call.v = v->place;
  call.out = y->place;
  call.lse = lse->place;
  if (mask)
    call.mask = mask->place;
  return call;
}

FailureOr<AttentionCall> cpu::attentionCall(rt::KernelOp kernel, const Places &places) {
  Operation *op = &kernel.getBody().front().front();
  // Results in the order of the operation; the kernel may return fewer.
  auto returned = [&](Value result) -> Value {
    for (auto [value, output] : llvm::zip_equal(
             kernel.getBody().front().getTerminator()->getOperands(), kernel.getOutputs()))
      if (value == result)
        return output;
    return {};
  };
  for (Value result : op->getResults())
    if (!returned(result))
      return kernel.emitError("attention needs a place for all of its results"), failure();
  if (auto forward = dyn_cast<ptl::AttentionOp>(op))
    return AttentionBuilder(kernel, forward, places)
        .build(returned(forward.getY()), returned(forward.getLse()));
  auto backward = dyn_cast<ptl::AttentionGradOp>(op);
  if (!backward)
    return kernel.emitOpError("of kind attention holds none"), failure();
  auto call = AttentionBuilder(kernel, backward, places).build(backward.getY(), backward.getLse());
  if (failed(call))
    return failure();
  call->backward = true;
  call->dout = places.of(operandOf(kernel, backward.getDy()));
  call->dq = places.of(returned(backward.getDq()));
  call->dk = places.of(returned(backward.getDk()));
  call->dv = places.of(returned(backward.getDv()));
  return call;
}
