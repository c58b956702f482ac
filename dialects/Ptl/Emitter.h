//===- Emitter.h - Short names for building tensor arithmetic ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Expansions, gradients and passes write formulas with these. All operations are
// created at the builder's insertion point with one location; binary operations
// take operands of one type.
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_EMITTER_H
#define PTLC_DIALECTS_PTL_EMITTER_H

#include "dialects/Ptl/Ptl.h"

namespace ptlc::ptl {

class Emitter {
public:
  using Value = mlir::Value;
  using K = ElementwiseKind;

  Emitter(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  Value map(K kind, mlir::ValueRange operands) {
    return ElementwiseOp::create(builder, loc, kind, operands);
  }
  Value add(Value a, Value b) { return map(K::Add, {a, b}); }
  Value sub(Value a, Value b) { return map(K::Sub, {a, b}); }
  Value mul(Value a, Value b) { return map(K::Mul, {a, b}); }
  Value div(Value a, Value b) { return map(K::Div, {a, b}); }
  Value neg(Value x) { return map(K::Neg, x); }
  Value exp(Value x) { return map(K::Exp, x); }
  Value log(Value x) { return map(K::Log, x); }
  Value select(Value condition, Value a, Value b) { return map(K::Select, {condition, a, b}); }
  Value cast(Value x, mlir::Type element) {
    return ElementwiseOp::create(builder, loc, withElement(x.getType(), element), K::Cast, x);
  }

  Value constant(mlir::Type type, double value) {
    return ConstantOp::create(builder, loc, type, value);
  }
  /// A constant of x's type.
  Value like(Value x, double value) { return constant(x.getType(), value); }
  Value scale(Value x, double factor) { return mul(x, like(x, factor)); }

  /// x with the dimensions of `type`, in its order; x itself if nothing changes.
  Value to(Value x, mlir::Type type) {
    mlir::Type wanted = withElement(type, elementType(x));
    return x.getType() == wanted ? x : Value(BroadcastOp::create(builder, loc, x, wanted));
  }
  Value sum(Value x, llvm::ArrayRef<mlir::StringAttr> over) {
    return over.empty() ? x : Value(ReduceOp::create(builder, loc, FoldKind::Sum, x, over));
  }
  /// The maximum over `over`, with derivative zero.
  Value maxStopped(Value x, mlir::StringAttr over) {
    return StopGradientOp::create(
        builder, loc, ReduceOp::create(builder, loc, FoldKind::Max, x, over).getResult());
  }
  /// The index along `dim` of size `size`, in the dimensions of `type`, i32.
  Value iota(mlir::StringAttr dim, int64_t size, mlir::Type type) {
    return to(IotaOp::create(builder, loc, dim, size), type);
  }
  /// x with dimension `from` called `to`.
  Value rename(Value x, mlir::StringAttr from, mlir::StringAttr to) {
    return from == to ? x : Value(ReshapeOp::create(builder, loc, x, from, to));
  }
  mlir::StringAttr name(const llvm::Twine &text) { return builder.getStringAttr(text); }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace ptlc::ptl

#endif // PTLC_DIALECTS_PTL_EMITTER_H
