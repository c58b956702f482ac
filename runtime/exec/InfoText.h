//===- InfoText.h - What a program is, for people -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_EXEC_INFOTEXT_H
#define PTLRT_EXEC_INFOTEXT_H

#include "runtime/exec/ProgramInfo.h"

namespace ptlrt {

/// The lines of `./model info`.
std::string infoText(const ProgramInfo &info);

} // namespace ptlrt

#endif // PTLRT_EXEC_INFOTEXT_H
