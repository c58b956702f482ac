#!/usr/bin/env python3
"""Executes the IR after every pass and says which pass changed what the program computes.

Usage: check_each.py DIR [--f32] [--directions N]
DIR is what `ptlc --dump-passes=DIR` wrote: 01-flat.mlir, 02-<pass>.mlir, ... Neighbours get the same random inputs in
ptl-run, which must find equal results for every function that both have. Where the loss becomes the training step, its
gradients are held against slopes of the loss, N random directions per weight.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import pathlib
import re
import subprocess
import sys


def functions(path):
    return re.findall(r"func\.func (?:public |private )?@([\w.$-]+)\(", path.read_text())


def executable(path):
    """Whether the dump is a program of tensors, and its calls are expanded (stage `model` isn't made to be run)."""
    return "func.func" in path.read_text() and "llvm.func" not in path.read_text() and " call @" not in path.read_text()


def run(*arguments):
    result = subprocess.run(["ptl-run", *map(str, arguments)], capture_output=True, text=True)
    lines = (result.stdout + result.stderr).strip().splitlines()
    return result.returncode == 0, lines


def checks(before, after, options):
    """The commands that compare two neighbours."""
    old, new = functions(before), functions(after)
    precision = [] if options.f32 else ["--f64"]
    for name in (name for name in old if name in new):
        yield f"@{name}", ["--compare", before, after, "--function", name, *precision]
    if options.directions and "loss" in old and "step" in new and "step" not in old:
        yield "gradients", ["--check-gradients", before, after, "--directions", options.directions]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--f32", action="store_true", help="round as the program does, with looser limits")
    parser.add_argument("--directions", type=int, default=2, help="slopes per weight; 0: none")
    options = parser.parse_args()
    dumps = [path for path in sorted(options.folder.glob("[0-9][0-9]*-*.mlir")) if executable(path)]
    if len(dumps) < 2:
        sys.exit(f"{options.folder}: expected at least two dumps, found {len(dumps)}")
    failed = False
    for before, after in zip(dumps, dumps[1:]):
        commands = list(checks(before, after, options))
        # Only where the loss becomes the step nothing can be compared, and slopes may be left out.
        if not commands and "step" not in functions(after):
            sys.exit(f"FAIL {before.stem} -> {after.stem}: no function in common")
        for what, command in commands:
            good, lines = run(*command)
            failed |= not good
            print(f"{'ok  ' if good else 'FAIL'} {before.stem} -> {after.stem} {what}: {lines[-1] if lines else 'no output'}")
            if not good:
                print("\n".join("       " + line for line in lines[:20]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
