#!/usr/bin/env python3
"""Counts the operations after each pass of a compilation, for meshes and depths of different sizes.

Usage: scale.py MODEL.ptl WORKDIR [OPTION...]     options of ptlc, such as -D seq=64
The program of a rank is the same whatever the number of ranks, so every count must be equal for dp = 2 and dp = 1024; and
layers add equal amounts to every stage, and no kernels.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import pathlib
import re
import shutil
import subprocess
import sys

OPERATION = re.compile(r'^\s*(?:%[\w:#]+(?:, %[\w:#]+)* = )?"?([a-z]+\.[a-z_.]+)\b')
# Stage functions are cut into parts of a fixed length; what a part costs by itself comes in steps and isn't counted.
INSTRUCTION = re.compile(r"^  (?:%[\w.]+ = |tail )*(?!ret\b|alloca\b|call void @stage_)([a-z]+)")


def counts(text, pattern):
    return collections.Counter(match[1] for match in map(pattern.match, text.splitlines()) if match)


def stages(model, folder, *options):
    """Counters by stage, in order: each pass's dump, then the LLVM IR's instructions and kernels."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(["ptlc", model, *options, f"--dump-passes={folder}", "--emit=llvm", "-o", folder / "program.ll"], check=True)
    found = {path.stem: counts(path.read_text(), OPERATION) for path in sorted(folder.glob("*.mlir"))}
    text = (folder / "program.ll").read_text()
    found["llvm"] = counts(text, INSTRUCTION)
    found["kernels"] = collections.Counter(re.findall(r"^define .*@(kernel)_\d+\(", text, re.M))
    return found


def difference(a, b):
    """By how much each count of `b` is above that of `a`."""
    return {name: b[name] - a[name] for name in sorted(a | b) if a[name] != b[name]}


def main():
    model, work, options = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    failed = False

    def expect(good, text):
        nonlocal failed
        failed |= not good
        print("ok  " if good else "FAIL", text)

    small, large = (stages(model, work / f"dp{ranks}", *options, "--mesh", f"dp={ranks}", "-D", "layers=4") for ranks in (2, 1024))
    expect(list(small) == list(large), f"dp = 2 and dp = 1024 have the same {len(small)} stages")
    for stage in small:
        found = difference(small[stage], large[stage])
        expect(small[stage].total() > 0 and not found, f"{stage}: {small[stage].total()} operations on dp = 2, {large[stage].total()} on dp = 1024 {found or ''}")
    depths = [stages(model, work / f"layers{layers}", *options, "--mesh", "dp=2", "-D", f"layers={layers}") for layers in (4, 6, 8)]
    for stage in depths[0]:
        first, second = (difference(depths[i][stage], depths[i + 1][stage]) for i in (0, 1))
        expect(first == second, f"{stage}: two more layers add {sum(first.values())}, then {sum(second.values())}")
    expect(depths[0]["kernels"] == depths[2]["kernels"], f"{depths[0]['kernels'].total()} kernels, however many layers")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
