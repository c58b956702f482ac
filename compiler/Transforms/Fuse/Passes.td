//===- Passes.td - From operations to kernels ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_TRANSFORMS_FUSE_PASSES_TD
#define PTLC_TRANSFORMS_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineSingle : Pass<"fuse-outline-single", "::mlir::ModuleOp"> {
  let summary = "Puts every operation into a kernel of its own";
  let description = [{
    Afterwards each function holds kernels, collectives, views (reshape,
    microbatch), `ptl.accumulate` and `ptl.global_norm` only. Contractions become
    matmul kernels where a matrix product fits, else rows kernels; composites
    are expanded inside of their kernel. Barriers of recomputation go.

    Before:  %1 = ptl.elementwise add %a, %b : ...
    After:   %1 = rt.kernel rows(%a, %b) iterate [batch] : ... { ... }

    Requires: local shapes. Keeps: every value.
  }];
  let dependentDialects = ["::ptlc::rt::RtDialect"];
}

def ExpandRows : Pass<"fuse-expand-rows", "::mlir::ModuleOp"> {
  let summary = "Expands row-wise composites to primitives";
  let description = [{
    Softmax, norms, losses and rotary embeddings become the primitives that define
    them, so that one rule groups them with their neighbours, and so that forward
    and backward share what is equal. Attention and optimizers stay. A device's shard
    of a whole value (`spmd.slice`), lookups and sums along a dimension that is cut
    become arithmetic on indices.

    Before:  %1 = ptl.softmax %x over key : ...
    After:   %m = ptl.reduce max %x over [key] : ...
             ...

    Requires: local shapes. Keeps: every value.
  }];
  let dependentDialects = ["::ptlc::ptl::PtlDialect"];
}

def FuseRows : Pass<"fuse-rows", "::mlir::ModuleOp"> {
  let summary = "Groups element-wise and row-wise operations into kernels";
  let description = [{
    Operations that iterate over the same rows and feed each other, or read the
    same values, become one rows kernel, with sums over rows (bias gradients) as
    results. A cheap value that another kernel needs is computed again there if
    that reads no more memory than loading it.

    Before:  %1 = ptl.elementwise add %a, %b : ...
             %2 = ptl.elementwise gelu %1 : ...
    After:   %2 = rt.kernel rows(%a, %b) iterate [batch] : ... { ... }

    Requires: primitives (`fuse-expand-rows`). Keeps: every value.
  }];
  let dependentDialects = ["::ptlc::rt::RtDialect"];
}

def ChunkRows : Pass<"fuse-chunk-rows", "::mlir::ModuleOp"> {
  let summary = "Makes large values between kernels a piece at a time";
  let description = [{
    The kernels that make and read a value of more than `threshold` bytes, on all ranks
    together, run in a loop over pieces of its outermost dimension: logits, their loss
    and their gradient never exist for the whole batch. A piece has at most `threshold`
    bytes, but at least `min-rows` rows, since products read their weights once per
    piece; so few rows may make one piece.

    Before:  %l = rt.kernel matmul(%x, %w) ...
             %s, %d = rt.kernel rows(%l) ...
             %g = rt.kernel matmul(%d, %w) ...
    After:   %s, %g = rt.chunks 4 along batch (%k) -> ... { ... }

    Requires: kernels. Keeps: every value, sums by another order.
  }];
  let options = [
    Option<"threshold", "threshold", "int64_t", /*default=*/"int64_t(64) << 20", "bytes of a piece">,
    Option<"minRows", "min-rows", "int64_t", /*default=*/"256", "rows of a piece">
  ];
  let dependentDialects = ["::ptlc::rt::RtDialect", "::ptlc::spmd::SpmdDialect"];
}

def RestorePlaces : Pass<"fuse-restore-places", "::mlir::ModuleOp"> {
  let summary = "Gives constants that folding made the place of their first reader";
  let description = [{
    Before:  %c = ptl.constant 2.0 : tensor<f32> loc(unknown)
             %y = ptl.elementwise mul %x, %c : .. loc("m.ptl":3:4)
    After:   %c = ptl.constant 2.0 : tensor<f32> loc("m.ptl":3:4)

    Requires: nothing. Keeps: everything but locations.
  }];
}

#endif // PTLC_TRANSFORMS_FUSE_PASSES_TD
