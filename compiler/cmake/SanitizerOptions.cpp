//===- SanitizerOptions.cpp - How AddressSanitizer runs in our tools ------===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM's headers mark memory of its allocators as poisoned in code that is built
// with AddressSanitizer, and its libraries, which are not, never take that back.
// So such marks are ignored: what the system allocates is still watched.
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }
