//===- Timeline.h - Pictures of a simulated or measured step --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_TIMELINE_H
#define PTLC_COMPILER_SCHEDULE_TIMELINE_H

#include "compiler/Schedule/Simulate.h"

namespace ptlc::schedule {

/// A picture: a row per rank, a box per computation with its micro-batch; hovering names it. Boxes
/// of a rank's later stages have a dark frame.
std::string drawSvg(const Table &table, const Simulation &simulation);

/// The same for https://ui.perfetto.dev, with a track per rank and one per channel.
std::string drawPerfetto(const Table &table, const Simulation &simulation);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_TIMELINE_H
