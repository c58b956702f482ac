//===- AllReduceBench.cpp - All-reduce between ranks of one process -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   allreduce-bench [BYTES] [ROUNDS] [RANKS]
//
// Prints one JSON line: the best time of a call, over all ranks the slowest.
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/LocalWorld.h"
#include "test/bench/micro/Timing.h"

#include <atomic>
#include <cstdio>
#include <thread>

using namespace ptlc::bench;
using namespace ptlrt;

int main(int argc, char **argv) {
  int64_t bytes = argc > 1 ? std::atol(argv[1]) : int64_t(256) << 20;
  int rounds = argc > 2 ? std::atoi(argv[2]) : 5, ranks = argc > 3 ? std::atoi(argv[3]) : 2;
  Mesh mesh({{"dp", ranks}});
  Collective sum;
  sum.axes = {0};
  CommSegment segment;
  segment.in = segment.out = {0, 1, bytes / 4, bytes / 4};
  sum.segments = {segment};
  LocalWorld world(mesh, {&sum, 1}, WaitPolicy());
  std::vector<std::unique_ptr<Communicator>> ends;
  for (int r = 0; r < ranks; ++r)
    ends.push_back(
        std::move(*world.connect(r, reinterpret_cast<uint8_t *>(takeFloats(bytes / 4)))));
  std::vector<double> best(static_cast<size_t>(ranks), 1e30);
  std::atomic<bool> failed = false;
  auto run = [&](size_t rank) {
    for (int i = 0; i <= rounds && !failed; ++i) {
      failed = failed || ends[rank]->barrier().isError();
      double start = wallSeconds();
      failed = failed || ends[rank]->run(0).isError();
      if (i > 0)
        best[rank] = std::min(best[rank], wallSeconds() - start);
    }
  };
  std::vector<std::thread> threads;
  for (size_t r = 1; r < best.size(); ++r)
    threads.emplace_back(run, r);
  run(0);
  for (std::thread &thread : threads)
    thread.join();
  double seconds = *std::max_element(best.begin(), best.end());
  std::printf("{\"bench\":\"allreduce\",\"tool\":\"ptlc\",\"ranks\":%d,\"bytes\":%ld,\"ms\":%.3f,"
              "\"gbytes_s\":%.3f}\n",
              ranks, static_cast<long>(bytes), seconds * 1e3,
              static_cast<double>(bytes) / seconds * 1e-9);
  return failed;
}
