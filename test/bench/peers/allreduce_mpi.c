//===- allreduce_mpi.c - MPI_Allreduce of f32 sums ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
/*
 * mpicc -O2 allreduce_mpi.c -o allreduce-mpi; mpirun -n 2 ./allreduce-mpi BYTES ROUNDS
 * Prints one JSON line: the best time of a call.
 *===----------------------------------------------------------------------===*/
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  long bytes = argc > 1 ? atol(argv[1]) : 256l << 20;
  int rounds = argc > 2 ? atoi(argv[2]) : 5, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int count = (int)(bytes / 4);
  float *data = malloc((size_t)bytes);
  for (int i = 0; i < count; ++i)
    data[i] = 1.0f;
  double best = 1e30;
  for (int r = 0; r < rounds + 1; ++r) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - start;
    if (r > 0 && seconds < best)
      best = seconds;
  }
  if (rank == 0)
    printf("{\"bench\":\"allreduce\",\"tool\":\"openmpi\",\"bytes\":%ld,\"ms\":%.3f,\"gbytes_s\":%.3f}\n", bytes,
           best * 1e3, (double)bytes / best * 1e-9);
  free(data);
  MPI_Finalize();
  return 0;
}
