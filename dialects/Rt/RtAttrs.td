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
    lies k * `step` bytes further. A value in a slot of `pool` lies n * `pool_step` bytes
    further where the table says that slot n is used; a pool is `Rt_SlotKind` * 8 + number
    of the stage among those of the rank. A part of a bucket lies k * `part` bytes further on
    the k-th device of a group over `axes`.

    Example: `#rt.buffer<micro, offset = 4096, rows = 64, cols = 32, stride = 48>`
  }];
  let parameters = (ins EnumParameter<Rt_MemoryLevel>:$level, "int64_t":$offset, "int64_t":$rows, "int64_t":$cols, "int64_t":$stride,
                        DefaultValuedParameter<"int64_t", "0">:$step, DefaultValuedParameter<"int64_t", "-1">:$pool,
                        DefaultValuedParameter<"int64_t", "0">:$pool_step,
                        DefaultValuedParameter<"int64_t", "0">:$part, OptionalParameter<"::mlir::ArrayAttr">:$axes);
  let assemblyFormat = "`<` $level `,` struct($offset, $rows, $cols, $stride, $step, $pool, $pool_step, $part, $axes) `>`";
}

def Rt_PhaseAttr : AttrDef<Rt_Dialect, "Phase"> {
  let mnemonic = "phase";
  let summary = "What a ptl.accumulate does in a pipeline";
  let description = [{
    On a `ptl.accumulate` of a pipeline's rank, as `rt.phase`. `pools` has an entry per
    result: -1 for a sum over the micro-batches, else the pool of slots that holds
    the value of each micro-batch between the phases.

    Example: `#rt.phase<forward, stage = 2, pools = [8, 16]>`
  }];
  let parameters = (ins EnumParameter<Rt_PhaseKind>:$kind, "int64_t":$stage, "::mlir::DenseI64ArrayAttr":$pools);
  let assemblyFormat = "`<` $kind `,` struct($stage, $pools) `>`";
  let extraClassDeclaration = [{
    /// The pool of result `number`, or -1.
    int64_t getPool(unsigned number) const { return getPools().asArrayRef()[number]; }
  }];
}

#endif // PTLC_DIALECTS_RT_RTATTRS_TD
