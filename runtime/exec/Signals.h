//===- Signals.h - Ctrl-C, and crashes with a name ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The first SIGINT or SIGTERM asks the step loop to stop after its step, a second
// one ends the process at once. A crash in a rank's code is reported with rank
// and step before it ends the process. Handlers can only reach static memory, so
// this file has the runtime's only mutable globals.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_SIGNALS_H
#define PTLRT_EXEC_SIGNALS_H

#include "ptlrt/ptlrt.h"

namespace ptlrt {

/// Installs the handlers and forgets earlier requests.
void installSignalHandlers();
/// The signal that asked to stop, or 0.
int stopSignal();
/// The calling thread works for `rank` from now on (null: for none).
void announceRank(const ptlrt_rank *rank);

} // namespace ptlrt

#endif // PTLRT_EXEC_SIGNALS_H
