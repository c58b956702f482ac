#!/usr/bin/env python3
"""Trains a golden model with its storage in parts, at several levels, and compares the runs bit for bit.

Usage: zero.py CASE WORKDIR --over AXES [--mesh dp=2] [--shard "batch: dp"] [--levels 0,1,2,3] [--microbatches K] [--reproducible]
Losses, norms and metrics of every step, the weights after the last and the gradients of the first must be those of the first level.
Each run compares its ranks' replicas after each step, and what ranks moved with what the program says.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import shutil
import sys

import golden


def train(level, options, case, run, work):
    """Returns the lines of the log, the bytes of the files, and bytes per kind of collective."""
    options.zero = f"{level}, over: {options.over}" if level else ""
    kind = options.case.split("_")[0]
    work.mkdir(parents=True)
    (work / "model.ptl").write_text(golden.program(case, run, options))
    golden.call("ptlc", "model.ptl", "--plan", "golden", *golden.sizes(kind, run), "-o", "model", cwd=work)
    golden.call("./model", "--init", case / "init.safetensors", "--log", "log.jsonl", "--save", "final.safetensors", "--save-grads",
                "grads.safetensors", "--check-replicas", "--report", "report.json", "--quiet", cwd=work)
    lines = []
    for text in (work / "log.jsonl").read_text().splitlines():
        line = json.loads(text)
        lines.append({key: value for key, value in line.items() if key not in ("ms", "tokens_s")})
    report = json.loads((work / "report.json").read_text())
    for collective in report["collectives"]:
        if collective["bytes"] != collective["predicted_bytes"]:
            sys.exit(f"level {level}: {collective['kind']} moved {collective['bytes']} bytes, expected {collective['predicted_bytes']}")
    # A level that changed nothing would give equal bits, too.
    of_storage = {collective["kind"] for collective in report["collectives"] if f"'zero {level}'" in collective["reason"]}
    if of_storage != ({"reduce_scatter", "all_gather"} if level else set()):
        sys.exit(f"level {level}: expected gradients to be scattered and weights gathered, found {of_storage or 'neither'}")
    return lines, *((work / name).read_bytes() for name in ("final.safetensors", "grads.safetensors"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--mesh", default="dp=2")
    parser.add_argument("--shard", default="batch: dp")
    parser.add_argument("--over", default="dp")
    parser.add_argument("--levels", default="0,1,2,3")
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--reproducible", action="store_true")
    options = parser.parse_args()
    case = golden.HERE / "golden" / options.case
    run = json.loads((case / "expected.json").read_text())
    work = options.workdir.resolve() / f"{options.case}-{options.mesh}-{options.over}-{options.microbatches}"
    shutil.rmtree(work, ignore_errors=True)
    levels = options.levels.split(",")
    runs = [train(int(level), options, case, run, work / level) for level in levels]
    failed = False
    for level, found in zip(levels[1:], runs[1:]):
        for what, ours, first in zip(("log", "weights", "gradients"), found, runs[0]):
            equal = ours == first
            failed |= not equal
            print(f"{'ok  ' if equal else 'FAIL'} {what} of level {level} and of level {levels[0]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
