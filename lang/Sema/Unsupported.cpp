//===- Unsupported.cpp - What this compiler can't carry out yet -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every entry of a plan is checked, but not all are compiled. What would be lost silently is
// refused at its line. Axes of size 1 change nothing, so rules over them pass.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Program.h"

#include "llvm/ADT/STLExtras.h"

namespace ptlc::sema {

namespace {
class Refusal {
public:
  Refusal(const PlanSpec &plan, lang::DiagnosticEngine &diags) : plan(plan), diags(diags) {}

  bool check();

private:
  bool isWide(llvm::ArrayRef<unsigned> axes) const {
    return llvm::any_of(axes, [&](unsigned axis) { return plan.mesh[axis].size > 1; });
  }
  void refuse(lang::SourceRange range, const llvm::Twine &what) {
    diags.error(range, what + " is not supported yet");
    ok = false;
  }
  void storage();
  void communication();

  const PlanSpec &plan;
  lang::DiagnosticEngine &diags;
  bool ok = true;
};
} // namespace

void Refusal::storage() {
  for (const PrecisionRule &rule : plan.precisions)
    if (rule.precision == Precision::F16) {
      diags.error(rule.range, "'precision f16' is not supported yet")
          .note({}, "it needs a loss scale; 'precision bf16' has the range of f32");
      ok = false;
    }
}

void Refusal::communication() {
  for (const Promise &promise : plan.promises)
    if (promise.what == Promise::What::Time)
      refuse(promise.range, "'assert time'");
}

bool Refusal::check() {
  storage();
  communication();
  return ok;
}

bool refuseUnsupported(const PlanSpec &plan, lang::DiagnosticEngine &diags) {
  return Refusal(plan, diags).check();
}

} // namespace ptlc::sema
