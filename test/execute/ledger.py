#!/usr/bin/env python3
"""Compares what the compiler says that collectives move with what ranks counted where they copied bytes: exactly, on many programs.

Usage: ledger.py WORKDIR. Each collective of `--report --json` gives bytes per rank and call, in the mean over ranks; times calls and
ranks that is what the run must count. `--explain` lists the same collectives, and its total is the report's.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import math
import pathlib
import re
import sys
import types

import golden
from golden import call

STEPS = 2
GPT, LLAMA = "heads: tp, ffn: tp, vocab: tp", "heads: tp, kv_heads: tp, ffn: tp, vocab: tp"
SEQUENCE = "; shard seq: tp, between: blocks"
PROGRAMS = [  # case, mesh, what is cut, micro-batches; 16 samples, 4 heads, 250 or 256 tokens
    ("gpt_tiny", "dp=2", "batch: dp", 1),
    ("gpt_tiny", "dp=3", "batch: dp", 4),
    ("mlp_digits", "dp=4", "batch: dp", 2),
    ("gpt_tiny", "tp=3", GPT, 1),
    ("gpt_tiny", "tp=2", GPT + SEQUENCE, 4),
    ("llama_tiny", "tp=4", LLAMA, 1),
    ("llama_tiny", "cp=3", "seq: cp", 1),
    ("gpt_tiny", "dp=2,tp=2", "batch: dp, " + GPT + SEQUENCE, 2),
    ("gpt_tiny", "a=2,b=2", "batch: (a, b)", 1),
    ("gpt_tiny", "a=2,b=2", "heads: (a, b), ffn: (a, b), vocab: (a, b)", 1),
    ("moe_tiny", "ep=2", "experts: ep", 1),
    ("moe_tiny", "dp=2,ep=2", "batch: dp, experts: ep", 1),
]


def whole(number, what):
    """The number, which must be whole but for the rounding of a division by the number of ranks."""
    if abs(number - round(number)) > 1e-6 * max(1, number):
        sys.exit(f"{what}: {number} bytes")
    return round(number)


def check(work, case, mesh, shard, microbatches):
    name = f"{case} on {mesh}, {shard}, {microbatches} micro-batches"
    work.mkdir(parents=True, exist_ok=True)
    folder = golden.HERE / "golden" / case
    run = json.loads((folder / "expected.json").read_text())
    options = types.SimpleNamespace(mesh=mesh, shard=shard, microbatches=microbatches)
    (work / "m.ptl").write_text(golden.program(folder, run, options))
    sizes = golden.sizes(case.split("_")[0], run)
    compile_it = lambda *more: call("ptlc", "m.ptl", "--plan", "golden", *sizes, *more, cwd=work)
    ledger = json.loads(compile_it("--emit=memory", "--report", "--json"))["collectives"]
    compile_it("--no-check", "-o", "m")
    call("./m", "--quiet", "--steps", STEPS, "--report", "run.json", cwd=work)
    counted = json.loads((work / "run.json").read_text())["collectives"]
    ranks = math.prod(int(part.split("=")[1]) for part in mesh.split(","))
    if len(ledger) != len(counted) or not ledger:
        sys.exit(f"{name}: {len(ledger)} collectives in the report, {len(counted)} in the run")
    for entry, found in zip(ledger, counted):
        what = f"{name}: {entry['kind']} of {entry['line']}"
        calls = entry["times"] * STEPS
        expected = (entry["kind"], ",".join(entry["axes"]), entry["line"], calls, whole(entry["bytes"] * calls * ranks, what))
        if expected != (found["kind"], found["axes"], found["line"], found["calls"], found["bytes"]):
            sys.exit(f"{what}: the compiler says {expected}, the run {found}")
    step = sum(entry["bytes"] * entry["times"] for entry in ledger)
    explained = compile_it("--explain")
    number, total = re.search(r"^(\d+) collectives a step, ([\d.]+ \w+) per rank$", explained, re.M).groups()
    unit = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[total.split()[1]]
    listed = len(re.findall(r"^ *\d+  \w+ +over ", explained, re.M))
    if int(number) != listed or listed != sum(entry["times"] > 0 for entry in ledger) or abs(float(total.split()[0]) - step / unit) > 0.0051:
        sys.exit(f"{name}: the report has {len(ledger)} collectives and {step} bytes\n{explained}")
    print(f"{name}: {listed} collectives, {step:.0f} bytes per rank and step")


def main():
    for number, program in enumerate(PROGRAMS):
        check(pathlib.Path(sys.argv[1]).resolve() / str(number), *program)
    print("ledger: ok")


if __name__ == "__main__":
    main()
