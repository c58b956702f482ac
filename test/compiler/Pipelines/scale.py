#!/usr/bin/env python3
"""Counts the operations after each pass of a compilation, for meshes and depths of different sizes.

Usage: scale.py MODEL.ptl WORKDIR {ranks,layers,axes,time} [OPTION...]     options of ptlc, such as -D seq=64
The program of a rank is the same whatever the number of ranks, so every count must be equal
  ranks   on dp = 2 and dp = 1024
  axes    on 2 x 2 x 2 and 8 x 8 x 64 ranks, with the batch over two axes, heads, hidden dimension and vocabulary over the third, and
          the sequence between blocks
and
  layers  layers add equal amounts to every stage, and no kernels
  time    a compilation for 8 x 8 x 64 ranks takes at most 1.5 times the processor time of one for one device
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import pathlib
import re
import resource
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


# Three axes; the model has a plan of its own, which this one stands beside. One bucket holds all gradients: else their number
# follows from the bytes of a rank.
CUBE = """
plan cube on mesh(dp = 2, tp = 2, rep = 2) {
  shard batch: (dp, rep), heads: tp, ffn: tp, vocab: tp
  shard seq: tp, between: blocks
  bucket 8 GB
}
"""
SMALL, LARGE = (["--mesh", f"dp={dp},tp={tp},rep={rep}"] for dp, tp, rep in ((2, 2, 2), (8, 8, 64)))
MOST_TIMES = 1.5


class Check:
    """The model in a folder, options of ptlc, and what failed."""

    def __init__(self, model, work, options):
        self.work, self.options, self.failed = work, options, False
        work.mkdir(parents=True, exist_ok=True)
        self.model = work / "model.ptl"
        self.model.write_text(pathlib.Path(model).read_text() + CUBE)

    def expect(self, good, text):
        self.failed |= not good
        print("ok  " if good else "FAIL", text)

    def stages(self, name, *options):
        return stages(self.model, self.work / name, *self.options, *options)

    def same(self, names, small, large):
        self.expect(list(small) == list(large), f"{names[0]} and {names[1]} have the same {len(small)} stages")
        for stage in small:
            found = difference(small[stage], large[stage])
            self.expect(not found, f"{stage}: {small[stage].total()} operations on {names[0]}, {large[stage].total()} on {names[1]} {found or ''}")

    def ranks(self):
        self.same(("dp = 2", "dp = 1024"), *(self.stages(f"dp{ranks}", "--plan", "two", "--mesh", f"dp={ranks}") for ranks in (2, 1024)))

    def axes(self):
        self.same(("2 x 2 x 2", "8 x 8 x 64"), *(self.stages(name, "--plan", "cube", *mesh) for name, mesh in (("small", SMALL), ("large", LARGE))))

    def layers(self):
        depths = [self.stages(f"layers{layers}", "--plan", "two", "--mesh", "dp=2", "-D", f"layers={layers}") for layers in (4, 6, 8)]
        for stage in depths[0]:
            first, second = (difference(depths[i][stage], depths[i + 1][stage]) for i in (0, 1))
            self.expect(first == second, f"{stage}: two more layers add {sum(first.values())}, then {sum(second.values())}")
        self.expect(depths[0]["kernels"] == depths[2]["kernels"], f"{depths[0]['kernels'].total()} kernels, however many layers")

    def seconds(self, *options):
        """Processor time of the fastest of three compilations up to the object file."""
        times = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(["ptlc", self.model, *self.options, *options, "--emit=obj", "-o", self.work / "program.o"], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times)

    def time(self):
        one, many = self.seconds(), self.seconds("--plan", "cube", *LARGE)
        self.expect(many <= MOST_TIMES * one, f"{many:.2f} s of processor time for 8 x 8 x 64 ranks, {one:.2f} s for one device")


def main():
    model, work, what, options = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    check = Check(model, work, options)
    {"ranks": check.ranks, "layers": check.layers, "axes": check.axes, "time": check.time}[what]()
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
