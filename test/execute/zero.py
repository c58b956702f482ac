#!/usr/bin/env python3
"""Trains a golden model with its storage in parts, at several levels, and compares the runs bit for bit.

Usage: zero.py CASE WORKDIR --over AXES [--mesh dp=2] [--shard "batch: dp"] [--levels 0,1,2,3] [--microbatches K] [--pipeline "schedule: gpipe"] [--reproducible]
       [--precision bf16] [--bucket "64 KB"] [--beside 0=KINDS 3=KINDS]
Losses, norms and metrics of every step, the weights after the last and the gradients of the first must be those of the first level; with a
pipeline and --reproducible those of the first level without stages. --beside: at these levels collectives run beside the computation, too,
with the same results; the trace has starts and waits, as many, of the kinds said (separated by commas), each wait behind its start.
Each run compares its ranks' replicas after each step, and what ranks moved with what the program says.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import json
import pathlib
import shutil
import sys

import golden


def tensors(path):
    """The bits of a file's tensors, by name; what else it says depends on the mesh."""
    return {name: (array.shape, array.tobytes()) for name, array in golden.read_safetensors(path).items()}


def started(work):
    """The kinds of collectives that are started, by a trace."""
    kinds, open_ones = collections.Counter(), collections.Counter()
    for event in json.loads((work / "trace.json").read_text())["traceEvents"]:
        name = event["name"]
        if name.startswith("start "):
            kinds[name.split()[1]] += 1
            open_ones[event["tid"], name.removeprefix("start ")] += 1
        elif name.startswith("wait for "):
            open_ones[event["tid"], name.removeprefix("wait for ")] -= 1
            if open_ones[event["tid"], name.removeprefix("wait for ")] < 0:
                sys.exit(f"rank {event['tid']} waits for what it hasn't started: {name}")
    if any(open_ones.values()):
        sys.exit(f"started, but not waited for: {open_ones}")
    return kinds


def train(level, options, case, run, work, beside=""):
    """The lines of the log and the tensors of the files. The collectives of the kinds `beside` are started."""
    options.zero = f"{level}, over: {options.over}" if level else ""
    options.overlap = bool(beside)
    kind = options.case.split("_")[0]
    work.mkdir(parents=True)
    (work / "model.ptl").write_text(golden.program(case, run, options))
    golden.call("ptlc", "model.ptl", "--plan", "golden", "--no-check", *golden.sizes(kind, run), "-o", "model", cwd=work)
    golden.call("./model", "--init", case / "init.safetensors", "--log", "log.jsonl", "--save", "final.safetensors", "--save-grads",
                "grads.safetensors", "--check-replicas", "--report", "report.json", "--quiet", *(["--trace", "trace.json"] if beside else []), cwd=work)
    lines = []
    for text in (work / "log.jsonl").read_text().splitlines():
        line = json.loads(text)
        lines.append({key: value for key, value in line.items() if key not in ("ms", "tokens_s")})
    report = json.loads((work / "report.json").read_text())
    # One collective of all stages may have a line for each of their programs.
    moved = collections.defaultdict(lambda: [0, 0])
    for collective in report["collectives"]:
        line = moved[tuple(collective[name] for name in ("kind", "axes", "line", "reason"))]
        line[0] += collective["bytes"]
        line[1] += collective["predicted_bytes"]
    for (kind, *_), (found, expected) in moved.items():
        if found != expected:
            sys.exit(f"level {level}: {kind} moved {found} bytes, expected {expected}")
    # A level that changed nothing would give equal bits, too.
    of_storage = {collective["kind"] for collective in report["collectives"] if f"'zero {level}'" in collective["reason"]}
    if of_storage != ({"reduce_scatter", "all_gather"} if level else set()):
        sys.exit(f"level {level}: expected gradients to be scattered and weights gathered, found {of_storage or 'neither'}")
    if beside and not (kinds := started(work)).keys() >= set(beside.split(",")):
        sys.exit(f"level {level} starts {dict(kinds)}, expected {beside}")
    return lines, *(tensors(work / name) for name in ("final.safetensors", "grads.safetensors"))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--mesh", default="dp=2")
    parser.add_argument("--shard", default="batch: dp")
    parser.add_argument("--over", default="dp")
    parser.add_argument("--levels", default="0,1,2,3")
    parser.add_argument("--pipeline", default="", help='as "schedule: gpipe"; the mesh has an axis pp')
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--reproducible", action="store_true")
    parser.add_argument("--precision", default="")
    parser.add_argument("--bucket", default="", help="as 64 KB")
    parser.add_argument("--beside", nargs="+", default=[], type=lambda text: text.split("="), help="as 3=all_gather,reduce_scatter")
    return parser.parse_args()


def main():
    options = parse()
    case = golden.HERE / "golden" / options.case
    run = json.loads((case / "expected.json").read_text())
    work = options.workdir.resolve() / f"{options.case}-{options.mesh}-{options.over}-{options.microbatches}{options.precision}"
    shutil.rmtree(work, ignore_errors=True)
    levels = options.levels.split(",")
    runs = {f"level {level}": train(int(level), options, case, run, work / level) for level in levels}
    for level, kinds in options.beside:
        runs[f"level {level} with overlap"] = train(int(level), options, case, run, work / f"{level}-overlap", kinds)
    options.overlap = False
    if options.pipeline and options.reproducible:
        options.mesh = ",".join(axis for axis in options.mesh.split(",") if not axis.startswith("pp="))
        options.pipeline = ""
        runs = {"one stage": train(int(levels[0]), options, case, run, work / "one")} | runs
    first, *others = runs
    failed = False
    for name in others:
        for what, ours, expected in zip(("log", "weights", "gradients"), runs[name], runs[first]):
            equal = ours == expected
            failed |= not equal
            print(f"{'ok  ' if equal else 'FAIL'} {what} of {name} and of {first}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
