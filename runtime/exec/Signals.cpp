//===- Signals.cpp - Ctrl-C, and crashes with a name ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Only async-signal-safe calls in handlers: the crash message is put together by
// hand and written with write(2).
//===----------------------------------------------------------------------===//
#include "runtime/exec/Signals.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PTLRT_SANITIZED 1
#endif
#endif

namespace ptlrt {

static std::atomic<int> requested{0};
static thread_local const ptlrt_rank *currentRank = nullptr;

static void onStop(int signal) {
  if (requested.exchange(signal) != 0)
    ::_exit(128 + signal);
}

namespace {
/// A line built without allocating.
struct SafeLine {
  char text[160];
  size_t size = 0;
  void add(const char *part) {
    for (; *part && size < sizeof text; ++part)
      text[size++] = *part;
  }
  void add(int64_t number) {
    char digits[24];
    size_t count = 0;
    do
      digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0 && size < sizeof text)
      text[size++] = digits[--count];
  }
};
} // namespace

static const char *meaningOf(int signal) {
  switch (signal) {
  case SIGILL:
    return "illegal instruction; was the program compiled for another CPU?\n";
  case SIGBUS:
    return "a mapped file became shorter while it was read (bus error)\n";
  case SIGFPE:
    return "arithmetic exception\n";
  default:
    return "invalid memory access (segmentation fault)\n";
  }
}

[[maybe_unused]] static void onCrash(int signal) {
  SafeLine line;
  line.add("error: ");
  if (currentRank) {
    line.add("rank ");
    line.add(int64_t{currentRank->rank});
    if (currentRank->step >= 0) {
      line.add(", step ");
      line.add(currentRank->step);
    }
    line.add(": ");
  }
  line.add(meaningOf(signal));
  (void)!::write(STDERR_FILENO, line.text, line.size);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

static void install(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

void installSignalHandlers() {
  requested = 0;
  install(SIGINT, onStop);
  install(SIGTERM, onStop);
  // These become errors of write(2), which names the file.
  install(SIGPIPE, SIG_IGN);
  install(SIGXFSZ, SIG_IGN);
#ifndef PTLRT_SANITIZED
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    install(signal, onCrash);
#endif
}

int stopSignal() { return requested.load(std::memory_order_relaxed); }
void announceRank(const ptlrt_rank *rank) { currentRank = rank; }

} // namespace ptlrt
