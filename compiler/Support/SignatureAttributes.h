//===- SignatureAttributes.h - Attributes of many arguments -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// setArgAttr() and setResultAttr() build the list of all arguments anew, which is
// quadratic in their number; a training step has some for every weight.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SUPPORT_SIGNATUREATTRIBUTES_H
#define PTLC_COMPILER_SUPPORT_SIGNATUREATTRIBUTES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace ptlc {

/// The attributes of all arguments or of all results of a function. Changes are collected and
/// reach the function with commit(), once.
class SignatureAttributes {
public:
  static SignatureAttributes ofArguments(mlir::FunctionOpInterface function);
  static SignatureAttributes ofResults(mlir::FunctionOpInterface function);

  /// Replaces or adds one attribute. `index` must be less than the number of arguments or results.
  void set(unsigned index, llvm::StringRef name, mlir::Attribute value) {
    lists[index].set(name, value);
  }
  void commit();

private:
  SignatureAttributes(mlir::FunctionOpInterface function, bool arguments)
      : function(function), arguments(arguments) {}

  mlir::FunctionOpInterface function;
  bool arguments;
  llvm::SmallVector<mlir::NamedAttrList> lists;
};

} // namespace ptlc

#endif // PTLC_COMPILER_SUPPORT_SIGNATUREATTRIBUTES_H
