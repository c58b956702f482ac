//===- Main.cpp - The entry point of every compiled program ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In a file of its own, so that a program which links the runtime as a library
// and has its own main, such as a test, doesn't get this one.
//===----------------------------------------------------------------------===//
#include "runtime/main/RunMain.h"

int main(int argc, char **argv) {
  return ptlrt::runMain(ptlrt_program, &ptlrt_one_rank, argc, argv);
}
