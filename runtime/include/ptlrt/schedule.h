//===- schedule.h - The packed table of a pipeline's step -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One block of memory, little-endian, aligned to 8 bytes, that says what every rank of a pipeline
// does in a step. The compiler writes it, its verifier and simulator read it, and the runtime plays
// it. In order, without gaps but the padding of the placement to 8 bytes:
//
//   header                         32 bytes
//   placement   u16[stages]        rank of each stage, and PTLRT_SCHEDULE_TIED
//   edges       ptlrt_schedule_edge[edges]
//   ranks       ptlrt_schedule_rank[ranks]
//   instructions, operands         of all ranks, rank by rank
//
// compiler/doc/Schedules.md explains the instructions.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_INCLUDE_PTLRT_SCHEDULE_H
#define PTLRT_INCLUDE_PTLRT_SCHEDULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTLRT_SCHEDULE_MAGIC "PTLS"
#define PTLRT_SCHEDULE_VERSION 1
#define PTLRT_SCHEDULE_NONE16 0xffffu     /**< no stage, peer or edge */
#define PTLRT_SCHEDULE_NONE32 0xffffffffu /**< no micro-batch */
#define PTLRT_SCHEDULE_TIED 0x8000u       /**< in the placement: the stage uses a tied weight */

/** What an instruction does. `stage` is always one of the rank's own. */
enum ptlrt_schedule_op {
  PTLRT_SCHEDULE_F = 1,       /**< forward of a stage and micro-batch */
  PTLRT_SCHEDULE_B = 2,       /**< gradient of the stage's inputs */
  PTLRT_SCHEDULE_W = 3,       /**< gradient of the stage's weights */
  PTLRT_SCHEDULE_BW = 4,      /**< both at once */
  PTLRT_SCHEDULE_LOSS = 5,    /**< loss of the last stage and the gradient of its outputs */
  PTLRT_SCHEDULE_SEND_A = 6,  /**< values of an edge to `peer` */
  PTLRT_SCHEDULE_RECV_A = 7,  /**< values of an edge from `peer` */
  PTLRT_SCHEDULE_SEND_G = 8,  /**< gradients of an edge to `peer`, against its direction */
  PTLRT_SCHEDULE_RECV_G = 9,  /**< gradients of an edge from `peer` */
  PTLRT_SCHEDULE_GATHER = 10, /**< the weights of a stage become whole */
  PTLRT_SCHEDULE_FREE = 11,   /**< and are given up again */
  PTLRT_SCHEDULE_REDUCE = 12, /**< gradients of a stage are summed over its copies */
  PTLRT_SCHEDULE_TIE = 13,    /**< gradients of tied weights are summed between their stages */
  PTLRT_SCHEDULE_NORM = 14,   /**< global norm over all ranks */
  PTLRT_SCHEDULE_OPT = 15     /**< update of a stage's weights */
};

/** What a slot holds; the position of its count in ptlrt_schedule_rank. */
enum ptlrt_schedule_kind {
  PTLRT_SCHEDULE_X = 0, /**< inputs of a stage */
  PTLRT_SCHEDULE_S = 1, /**< what forward keeps for backward */
  PTLRT_SCHEDULE_Y = 2, /**< outputs to send */
  PTLRT_SCHEDULE_G = 3, /**< gradients of a stage's outputs */
  PTLRT_SCHEDULE_D = 4, /**< gradients of a stage's inputs, to send */
  PTLRT_SCHEDULE_C = 5, /**< what B keeps for W */
  PTLRT_SCHEDULE_KINDS = 6
};

/** Members of a collective: bits 0 and 1 of an instruction's flags. */
enum ptlrt_schedule_group {
  PTLRT_SCHEDULE_GROUP_NONE = 0,
  PTLRT_SCHEDULE_GROUP_DP = 1,  /**< the copies of a stage */
  PTLRT_SCHEDULE_GROUP_TIE = 2, /**< the ranks of the tied stages */
  PTLRT_SCHEDULE_GROUP_ALL = 3  /**< every rank */
};
#define PTLRT_SCHEDULE_GROUP_MASK 3u
#define PTLRT_SCHEDULE_INIT 4u /**< flag: the first sum of the step overwrites the gradient */

/** Flags of an operand. */
#define PTLRT_SCHEDULE_TAKES 1u /**< the instruction takes the slot */
#define PTLRT_SCHEDULE_FREES 2u /**< the slot is free when the instruction has completed */

typedef struct ptlrt_schedule_header {
  char magic[4];
  uint16_t version;
  uint16_t ranks;  /**< of one pipeline */
  uint16_t chunks; /**< stages per rank */
  uint16_t edges;
  uint32_t micros; /**< micro-batches of a step */
  uint32_t stages;
  uint32_t instructions, operands;
  uint32_t flags; /**< bit 0: clip; bits 1 and 2: level of ZeRO; bits 16 to 31: copies - 1 */
} ptlrt_schedule_header;
#define PTLRT_SCHEDULE_CLIP 1u

/** Values that go from one stage to another. */
typedef struct ptlrt_schedule_edge {
  uint16_t source, target; /**< stages */
  uint32_t gradient;       /**< 1: a gradient comes back */
  uint64_t bytes;          /**< of one micro-batch */
} ptlrt_schedule_edge;

typedef struct ptlrt_schedule_rank {
  uint32_t first, count; /**< its instructions */
  uint16_t slots[PTLRT_SCHEDULE_KINDS];
  uint32_t reserved;
} ptlrt_schedule_rank;

typedef struct ptlrt_schedule_instruction {
  uint8_t op;
  uint8_t flags; /**< group and PTLRT_SCHEDULE_INIT */
  uint16_t stage;
  uint32_t micro;
  uint16_t peer; /**< coordinate on the pipeline's axis */
  uint16_t edge;
  uint16_t batch; /**< neighbours of one number that isn't 0 are posted together */
  uint16_t operand_count;
  uint32_t first_operand;
} ptlrt_schedule_instruction;

typedef struct ptlrt_schedule_operand {
  uint8_t kind;
  uint8_t flags;
  uint16_t stage; /**< whose slot it is: a stage of this rank */
  uint16_t slot;
  uint16_t reserved;
} ptlrt_schedule_operand;

/** Where the parts lie behind a header at `data`. */
static inline const uint16_t *ptlrt_schedule_placement(const ptlrt_schedule_header *data) {
  return (const uint16_t *)(data + 1);
}
static inline const ptlrt_schedule_edge *ptlrt_schedule_edges(const ptlrt_schedule_header *data) {
  return (const ptlrt_schedule_edge *)(ptlrt_schedule_placement(data) + (data->stages + 3) / 4 * 4);
}
static inline const ptlrt_schedule_rank *ptlrt_schedule_ranks(const ptlrt_schedule_header *data) {
  return (const ptlrt_schedule_rank *)(ptlrt_schedule_edges(data) + data->edges);
}
static inline const ptlrt_schedule_instruction *
ptlrt_schedule_instructions(const ptlrt_schedule_header *data) {
  return (const ptlrt_schedule_instruction *)(ptlrt_schedule_ranks(data) + data->ranks);
}
static inline const ptlrt_schedule_operand *
ptlrt_schedule_operands(const ptlrt_schedule_header *data) {
  return (const ptlrt_schedule_operand *)(ptlrt_schedule_instructions(data) + data->instructions);
}

#ifdef __cplusplus
}
#endif

#endif /* PTLRT_INCLUDE_PTLRT_SCHEDULE_H */
