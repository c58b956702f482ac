//===- Files.h - Tensors in files -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Readers of their own, small and strict: .safetensors, .npy, and token files
// (256 int32 of header, then 16- or 32-bit tokens).
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_FILES_H
#define PTLC_TEST_LIB_PTL_RUN_FILES_H

#include "test/lib/ptl-run/Tensor.h"
#include <map>

namespace ptlc::run {

/// Tensors by name; dimensions have sizes only.
using TensorMap = std::map<std::string, Tensor>;

llvm::Expected<TensorMap> readSafetensors(llvm::StringRef path);
/// Writes F32 for floats, I32 for integers and bools; a scalar has no dimensions.
llvm::Error writeSafetensors(llvm::StringRef path, const TensorMap &tensors);

/// Little-endian, C order, of f4 f8 i1 i2 i4 i8 u1 u2 u4 b1.
llvm::Expected<Tensor> readNpy(llvm::StringRef path);

/// All tokens, as one dimension.
llvm::Expected<Tensor> readTokens(llvm::StringRef path);
/// Whether the file begins like a token file.
bool isTokenFile(llvm::StringRef path);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_FILES_H
