//===- Exchanges.h - Whether exchanges of a pipeline meet -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_EXCHANGES_H
#define PTLC_COMPILER_CODEGEN_EXCHANGES_H

#include "compiler/Codegen/Schedule.h"

namespace ptlc::codegen {

/// Plays the exchanges (`rt.exchange`) of all ranks of a pipeline: of a step, a batch of an
/// evaluation, its end, and a sampled token, each by itself. `schedules` are those of the ranks, in
/// their order on the pipeline's axis. An exchange waits for its other side and nothing else, so
/// one run decides for all. Fails with a message at the first exchange that is never done.
mlir::LogicalResult checkExchanges(llvm::ArrayRef<Schedule> schedules);

} // namespace ptlc::codegen

#endif // PTLC_COMPILER_CODEGEN_EXCHANGES_H
