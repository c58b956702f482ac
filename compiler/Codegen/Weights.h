//===- Weights.h - What the runtime reads about weights ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_WEIGHTS_H
#define PTLC_COMPILER_CODEGEN_WEIGHTS_H

#include "compiler/Codegen/Places.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace ptlc::codegen {

/// Describes the weights of a step in the order of their declaration, with gradients and states.
llvm::json::Array describeWeights(mlir::func::FuncOp step, const Places &places);

/// Adds what fields and weights have in common: shape, dims and sharding of a tensor of the local
/// type `local`, by its attributes.
void describeTensor(llvm::json::Object &object, mlir::DictionaryAttr attributes, mlir::Type local);

/// Numbers, strings, lists and dictionaries of attributes as JSON.
llvm::json::Value toJson(mlir::Attribute attribute);

} // namespace ptlc::codegen

#endif // PTLC_COMPILER_CODEGEN_WEIGHTS_H
