//===- fault.c - A collective that goes wrong -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Linked into a program with -Wl,--wrap=ptlrt_collective. FAULT says what goes
// wrong, on meshes only:
//   drop INDEX                      the collective isn't run
//   scale INDEX OFFSET FACTOR RANK  after it, the float at OFFSET of the arena is
//                                   multiplied, on rank RANK (-1: on all)
//===----------------------------------------------------------------------===//
#include "ptlrt/ptlrt.h"
#include <stdio.h>
#include <stdlib.h>

void __real_ptlrt_collective(ptlrt_rank *rank, void *arena, int32_t index);

void __wrap_ptlrt_collective(ptlrt_rank *rank, void *arena, int32_t index) {
  const char *fault = getenv("FAULT");
  int wanted = -1, at = -1;
  long offset = 0;
  float factor = 1;
  if (fault && rank->ranks > 1 && sscanf(fault, "drop %d", &wanted) == 1 && wanted == index)
    return;
  __real_ptlrt_collective(rank, arena, index);
  if (fault && sscanf(fault, "scale %d %ld %f %d", &wanted, &offset, &factor, &at) == 4 && wanted == index &&
      (at < 0 || at == rank->rank) && rank->ranks > 1)
    *(float *)((char *)arena + offset) *= factor;
}
