//===- ptlrt.h - The C interface between compiled programs and the runtime -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A compiled `.ptl` program is one object file that defines the symbol
// `ptlrt_program`. The runtime library owns `main`, the memory and the step loop;
// it calls the program's stage functions, and these call back the functions
// declared here. Nothing else is shared: no C++ type crosses this border.
//
// All tensors are row-major in the order of their declared type, folded to a
// matrix of `rows` x `cols` whose rows start every `stride` elements; element
// (r, c) lies at `offset + size * (r * stride + c)` bytes in the arena of a rank.
// runtime/doc/ABI.md holds the schema of the metadata.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_PTLRT_H
#define PTLRT_PTLRT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTLRT_MAGIC 0x314b54504c54504dULL
#define PTLRT_ABI_VERSION 3
#define PTLRT_MAX_AXES 8
#define PTLRT_MAX_OUTER 5
#define PTLRT_MAX_CHUNKS 8 /**< stages of one rank of a pipeline */
#define PTLRT_POOLS (6 * PTLRT_MAX_CHUNKS)

/** What one rank's code may read. Filled by the runtime before each call. */
typedef struct ptlrt_rank {
  int32_t rank;                   /**< position in the mesh, first axis major */
  int32_t ranks;                  /**< number of ranks of the mesh */
  int32_t coords[PTLRT_MAX_AXES]; /**< coordinate on each mesh axis */
  int64_t step;                   /**< optimizer step, from 0 */
  uint64_t seed;                  /**< of the program's random numbers */
  int64_t valid;                  /**< valid samples of the global batch of this step */
  void *runtime;                  /**< the runtime's own state */
  /** Slots of the phase that runs: of each kind (ptlrt_schedule_kind), for each stage of the rank.
   */
  int64_t slots[PTLRT_POOLS];
} ptlrt_rank;

/** A stage function. `arena` is the rank's memory, `micro` the micro-batch. */
typedef void (*ptlrt_stage_fn)(ptlrt_rank *rank, void *arena, int64_t micro);

/** A generated kernel over rows [begin, end); `buffers` and `scalars` as the
 * stage function built them. */
typedef void (*ptlrt_kernel_fn)(int64_t begin, int64_t end, void *const *buffers,
                                const int64_t *scalars);

/** What an instruction of the step's table does; names appear in traces. */
enum ptlrt_op {
  PTLRT_OP_COUNT = 0,  /**< counts that depend on data alone */
  PTLRT_OP_FB = 1,     /**< forward, loss and backward of one micro-batch */
  PTLRT_OP_REDUCE = 2, /**< gradients are finished across ranks */
  PTLRT_OP_NORM = 3,   /**< global norm, clip factor */
  PTLRT_OP_OPT = 4,    /**< optimizer update */
  PTLRT_OP_EVAL = 5,   /**< forward on evaluation data */
  PTLRT_OP_SAMPLE = 6, /**< logits of one sequence */
  /* Of a rank of a pipeline; ptlrt/schedule.h says what they do. */
  PTLRT_OP_F = 7,
  PTLRT_OP_B = 8,
  PTLRT_OP_W = 9,
  PTLRT_OP_BW = 10,
  PTLRT_OP_LOSS = 11,
  PTLRT_OP_TIE = 12
};

/** One instruction: call `functions[function]` for micro-batch `micro`. In a rank of a pipeline
 * phases have one each, which tells their function; the schedule says when they run. */
typedef struct ptlrt_instruction {
  uint16_t op;
  uint16_t stage;
  uint32_t function;
  int64_t micro;
} ptlrt_instruction;

/** The one symbol that an object exports; that for one rank, which `--check` compares with, exports
 * ptlrt_one_rank. */
typedef struct ptlrt_program_t {
  uint64_t magic;
  uint32_t version;
  uint32_t reserved;
  const char *metadata;   /**< JSON, see runtime/doc/ABI.md */
  uint64_t metadata_size; /**< bytes, without a closing zero */
  const ptlrt_instruction *table;
  uint64_t table_size; /**< instructions of one training step */
  const ptlrt_stage_fn *functions;
  uint64_t function_count;
  /** Of a pipeline: the program of each rank along its axis, and the table of ptlrt/schedule.h. */
  const struct ptlrt_program_t *parts;
  uint64_t part_count; /**< 0: all ranks run this program */
  const void *schedule;
  uint64_t schedule_size;
} ptlrt_program_t;

extern const ptlrt_program_t ptlrt_program;
/** Its address is null where it is left out. */
extern const ptlrt_program_t ptlrt_one_rank __attribute__((weak));

/** Runs `kernel` over `rows` rows, in pieces of at least `grain` on the rank's
 * worker threads. grain >= rows means: in one piece, on the calling thread. */
void ptlrt_launch(ptlrt_rank *rank, ptlrt_kernel_fn kernel, int64_t rows, int64_t grain,
                  void *const *buffers, const int64_t *scalars);

/** C[m,n] (+)= op(A)[m,k] * op(B)[k,n], repeated over `outer` loops. Strides are in
 * elements. `trans_a` = 0: A is [m, k] with row stride lda; 1: A is [k, m]. */
typedef struct ptlrt_gemm {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int32_t trans_a, trans_b;
  int32_t outer; /**< number of outer loops in use */
  int32_t site;  /**< identifies the call in the source, for reports */
  int64_t size[PTLRT_MAX_OUTER];
  int64_t stride_a[PTLRT_MAX_OUTER], stride_b[PTLRT_MAX_OUTER], stride_c[PTLRT_MAX_OUTER];
} ptlrt_gemm;

/** f32 matrix product; `accumulate` != 0 adds to C, else C is overwritten.
 * An outer loop with stride_c 0 sums its products into the same C. */
void ptlrt_gemm_f32(ptlrt_rank *rank, const ptlrt_gemm *desc, const float *a, const float *b,
                    float *c, int32_t accumulate);

/** The same for a and b in bf16, computed in f32. C is bf16, each element rounded once, when it is
 * complete, or f32 if `wide` != 0; only then may `accumulate` be != 0. */
void ptlrt_gemm_bf16(ptlrt_rank *rank, const ptlrt_gemm *desc, const uint16_t *a, const uint16_t *b,
                     void *c, int32_t wide, int32_t accumulate);

/** Softmax attention over `keys`, streamed: no score matrix is stored. Outer loops
 * run over everything but the query, key and depth dimensions (batch, heads); a
 * stride of 0 shares the operand (grouped heads). The depth is contiguous. */
typedef struct ptlrt_attention {
  int64_t queries, keys, depth, value_depth;
  int32_t outer;
  int32_t causal;                 /**< query i sees keys <= i */
  int64_t window;                 /**< > 0: query i sees only keys > i - window */
  float scale;                    /**< multiplies the scores */
  int32_t mask_kind;              /**< 0 none, 1 boolean bytes (0 = hidden) */
  int64_t query_start, key_start; /**< global index of the first query and key */
  int64_t key_valid;              /**< keys beyond it are padding */
  int64_t size[PTLRT_MAX_OUTER];
  int64_t q_outer[PTLRT_MAX_OUTER], k_outer[PTLRT_MAX_OUTER], v_outer[PTLRT_MAX_OUTER],
      o_outer[PTLRT_MAX_OUTER], lse_outer[PTLRT_MAX_OUTER], mask_outer[PTLRT_MAX_OUTER];
  int64_t q_row, k_row, v_row, o_row; /**< stride of a query or key */
  int64_t lse_row, mask_row, mask_col;
} ptlrt_attention;

/** out[.., query, :] and lse[.., query] = log(sum exp(scores)). */
void ptlrt_attention_forward(ptlrt_rank *rank, const ptlrt_attention *desc, const float *q,
                             const float *k, const float *v, const uint8_t *mask, float *out,
                             float *lse);

/** Gradients; dq, dk, dv have the strides of q, k, v and are overwritten (shared
 * operands, stride 0, get the sum over the loop). */
void ptlrt_attention_backward(ptlrt_rank *rank, const ptlrt_attention *desc, const float *q,
                              const float *k, const float *v, const uint8_t *mask, const float *out,
                              const float *lse, const float *dout, float *dq, float *dk, float *dv);

/** The same in bf16; scores, sums and lse are f32, and a gradient that heads share is rounded when
 * it is complete. */
void ptlrt_attention_forward_bf16(ptlrt_rank *rank, const ptlrt_attention *desc, const uint16_t *q,
                                  const uint16_t *k, const uint16_t *v, const uint8_t *mask,
                                  uint16_t *out, float *lse);
void ptlrt_attention_backward_bf16(ptlrt_rank *rank, const ptlrt_attention *desc, const uint16_t *q,
                                   const uint16_t *k, const uint16_t *v, const uint8_t *mask,
                                   const uint16_t *out, const float *lse, const uint16_t *dout,
                                   uint16_t *dq, uint16_t *dk, uint16_t *dv);

/** Runs collective `index` of the metadata's list on the arenas of its group. */
void ptlrt_collective(ptlrt_rank *rank, void *arena, int32_t index);

/** The same in two calls, for those that the list marks with `overlaps`: start doesn't wait for
 * other ranks, and until wait returns the memory of all segments belongs to the collective. Both
 * are called in one stage function, by all ranks of the group in the same order. */
void ptlrt_collective_start(ptlrt_rank *rank, void *arena, int32_t index);
void ptlrt_collective_wait(ptlrt_rank *rank, void *arena, int32_t index);

/** Lets what was started go on, where that needs the rank's own thread. Costs little. */
void ptlrt_collective_progress(ptlrt_rank *rank);

/** Gives values to a rank of another stage, or takes some, or both: exchange `index` of the
 * metadata. Returns when both ranks are done with it. */
void ptlrt_exchange(ptlrt_rank *rank, void *arena, int32_t index);

/** A tensor in the arena: `rows` of `cols` f32 elements, `stride` elements apart, from
 * byte `offset` on. */
typedef struct ptlrt_segment {
  int64_t offset, rows, cols, stride;
  int64_t bf16; /**< 0: elements are f32 */
} ptlrt_segment;

/** The square root of the sum of the squares of all elements goes to *out. Squares are summed in
 * f32 over blocks of 256 elements of each tensor's memory, blocks exactly. */
void ptlrt_global_norm(ptlrt_rank *rank, void *arena, const ptlrt_segment *segments, int64_t count,
                       float *out);

/** Numbers of a sum that adds up without rounding. */
#define PTLRT_SUM_DIGITS 12

/** The sum of squares before its root, as a fixed-point number: sum[i] counts 2^(32 i - 160) for
 * i < 10, then come the number of infinite blocks and of those that are no numbers. Of the
 * segments only the bytes [begin, end) are here, `shift` bytes in front of where the offsets say:
 * tensors and windows begin at multiples of 1024 bytes from each other. `add` != 0: adds to *sum.
 */
void ptlrt_square_sum(ptlrt_rank *rank, void *arena, const ptlrt_segment *segments, int64_t count,
                      int64_t begin, int64_t end, int64_t shift, int64_t *sum, int32_t add);

/** The square root of the sum of `count` results of ptlrt_square_sum. */
void ptlrt_root(ptlrt_rank *rank, const int64_t *const *sums, int64_t count, float *out);

#ifdef __cplusplus
}
#endif

#endif /* PTLRT_PTLRT_H */
