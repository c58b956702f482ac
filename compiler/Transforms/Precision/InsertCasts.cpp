//===- InsertCasts.cpp - Storage in bf16, arithmetic in f32 ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One walk over each function, operations in order: Caster.h says what becomes of
// each. It runs on the global program, so that a weight is cast before it is
// gathered, and every mesh rounds the same values. Linear in the program's size.
// See compiler/doc/Precision.md.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Precision/Caster.h"
#include "compiler/Transforms/Precision/Passes.h"

namespace ptlc::precision {
#define GEN_PASS_DEF_INSERTCASTS
#include "compiler/Transforms/Precision/Passes.h.inc"
} // namespace ptlc::precision
using namespace mlir;
using namespace ptlc;

namespace {
struct InsertCasts : precision::impl::InsertCastsBase<InsertCasts> {
  void runOnOperation() override {
    precision::Rules rules(getOperation());
    if (!rules.any())
      return;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      precision::Caster(function, rules).run();
  }
};
} // namespace
