//===- RtAttrs.td - Buffers ------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_RT_RTATTRS_TD
#define PTLC_DIALECTS_RT_RTATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/Rt/RtDialect.td"
include "dialects/Rt/RtEnums.td"

defvar Rt_KernelKindAttr = Rt_KernelKind;

def Rt_BufferAttr : AttrDef<Rt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Where a value lies in the arena";
  let description = [{
    A matrix of `rows` x `cols` elements; the leading dimensions of the value are the
    rows, the trailing ones the columns. Element (r, c) is at byte offset + element
    size * (r * stride + c) of its level. Inside of `rt.chunks`, piece k of a result
    lies k * `step` bytes further.

    Example: `#rt.buffer<micro, offset = 4096, rows = 64, cols = 32, stride = 48>`
  }];
  let parameters = (ins EnumParameter<Rt_MemoryLevel>:$level, "int64_t":$offset, "int64_t":$rows, "int64_t":$cols, "int64_t":$stride,
                        DefaultValuedParameter<"int64_t", "0">:$step);
  let assemblyFormat = "`<` $level `,` struct($offset, $rows, $cols, $stride, $step) `>`";
}

#endif // PTLC_DIALECTS_RT_RTATTRS_TD
