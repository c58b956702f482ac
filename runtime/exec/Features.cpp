//===- Features.cpp - Whether this CPU can run the program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asked before any generated code runs: an illegal instruction would say nothing.
// Names are LLVM's. A feature that isn't in the table needs no check: generated
// code uses arithmetic extensions only.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Job.h"

#include <fmt/ranges.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ptlrt {

#if defined(__x86_64__)
namespace {
enum Register : uint8_t { EBX, ECX, EDX };
/// What the operating system must save of the registers: bits of XCR0.
constexpr uint64_t kNothing = 0, kYmm = 0x6, kZmm = 0xe6;
struct Feature {
  const char *name;
  unsigned leaf;
  Register reg;
  int bit;
  uint64_t saved;
};
constexpr Feature kFeatures[] = {{"sse3", 1, ECX, 0, kNothing},
                                 {"ssse3", 1, ECX, 9, kNothing},
                                 {"sse4.1", 1, ECX, 19, kNothing},
                                 {"sse4.2", 1, ECX, 20, kNothing},
                                 {"popcnt", 1, ECX, 23, kNothing},
                                 {"movbe", 1, ECX, 22, kNothing},
                                 {"avx", 1, ECX, 28, kYmm},
                                 {"fma", 1, ECX, 12, kYmm},
                                 {"f16c", 1, ECX, 29, kYmm},
                                 {"avx2", 7, EBX, 5, kYmm},
                                 {"bmi", 7, EBX, 3, kNothing},
                                 {"bmi2", 7, EBX, 8, kNothing},
                                 {"avx512f", 7, EBX, 16, kZmm},
                                 {"avx512dq", 7, EBX, 17, kZmm},
                                 {"avx512ifma", 7, EBX, 21, kZmm},
                                 {"avx512cd", 7, EBX, 28, kZmm},
                                 {"avx512bw", 7, EBX, 30, kZmm},
                                 {"avx512vl", 7, EBX, 31, kZmm},
                                 {"avx512vbmi", 7, ECX, 1, kZmm},
                                 {"avx512vbmi2", 7, ECX, 6, kZmm},
                                 {"avx512vnni", 7, ECX, 11, kZmm},
                                 {"avx512bitalg", 7, ECX, 12, kZmm},
                                 {"avx512vpopcntdq", 7, ECX, 14, kZmm},
                                 {"avx512fp16", 7, EDX, 23, kZmm},
                                 {"vaes", 7, ECX, 9, kYmm},
                                 {"vpclmulqdq", 7, ECX, 10, kYmm},
                                 {"gfni", 7, ECX, 8, kNothing},
                                 {"lzcnt", 0x80000001, ECX, 5, kNothing}};
} // namespace

static bool hasFeature(const Feature &feature) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(feature.leaf, 0, &a, &b, &c, &d))
    return false;
  unsigned word = feature.reg == EBX ? b : feature.reg == ECX ? c : d;
  if (!(word >> feature.bit & 1))
    return false;
  if (feature.saved == kNothing)
    return true;
  __get_cpuid(1, &a, &b, &c, &d);
  if (!(c >> 27 & 1)) // OSXSAVE
    return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & feature.saved) == feature.saved;
}
#endif

Status checkFeatures(std::span<const std::string> features, const std::string &compiledFor) {
  std::vector<std::string> missing;
#if defined(__x86_64__)
  for (const std::string &text : features) {
    if (text.starts_with('-'))
      continue;
    std::string name = text.starts_with('+') ? text.substr(1) : text;
    for (const Feature &feature : kFeatures)
      if (name == feature.name && !hasFeature(feature))
        missing.push_back(name);
  }
#endif
  if (missing.empty())
    return Status::ok();
  return failure("this CPU lacks {}, which the program was compiled for ({}); compile it on this "
                 "machine, or with --target-cpu=x86-64-v3 or x86-64",
                 fmt::join(missing, ", "), compiledFor);
}

} // namespace ptlrt
