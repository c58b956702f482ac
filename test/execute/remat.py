#!/usr/bin/env python3
"""Trains with and without recomputation; every bit must agree, and memory must fall.

Usage: remat.py WORKDIR [--mesh dp=2] [--shard "batch: dp"] [--microbatches 2] [--schedule zb_h1] [--layers 4] [--rules "full" "selective" ...]
With a schedule the blocks are stages over the mesh's axis pp; losses and norms are also compared with a run without. A rule is what stands behind `remat`; several directives are joined by " + ". Losses, norms, gradients of the first step and
weights after the last are compared as the programs write them. Where a rule ends in "!", the arena must be smaller than without;
"auto 85%" asserts 85 % of the arena without.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import numpy
from golden import read_safetensors

HERE = pathlib.Path(__file__).resolve().parent


def call(*command, cwd):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def train(work, options, rule, natural=None, more=()):
    """Returns what one run computes, and the bytes of its largest arena. `more` are options for ptlc."""
    name = "".join(c if c.isalnum() else "-" for c in rule + "".join(more)) or "none"
    folder = work / name
    folder.mkdir()
    tokens = numpy.random.RandomState(1).randint(0, 64, 4000).astype("<u2")
    header = numpy.zeros(256, "<i4")
    header[:3] = 20240520, 1, len(tokens)
    (folder / "t.bin").write_bytes(header.tobytes() + tokens.tobytes())
    if rule.startswith("auto "):
        limit = natural * int(rule[5:].rstrip("%")) // 100
        rule = f"auto; assert memory <= {limit} B"
    remat = "".join(f"; remat {part}" for part in rule.split(" + ") if part)
    pipeline = f"; pipeline blocks, over: pp, schedule: {options.schedule}; reproducible" if options.schedule else ""
    (folder / "m.ptl").write_text(
        f"{(HERE / 'Inputs' / 'dropout.ptl').read_text()}\ntrain Net {{\n  data tokens(\"t.bin\")\n  batch {options.batch}\n  steps 3\n"
        f"  optimizer adamw(lr: 1e-2)\n}}\nplan p on mesh({options.mesh.replace('=', ' = ')}) "
        f"{{ microbatches {options.microbatches}; shard {options.shard or 'batch: none'}{remat}{pipeline} }}\n")
    flags = ["m.ptl", "--plan", "p", f"-Dlayers={options.layers}", *more]
    report = json.loads(call("ptlc", *flags, "--report", "--json", cwd=folder))
    arena = max(rank["arena"]["bytes"] for rank in report.get("ranks", [report]))
    call("ptlc", *flags, "--no-check", "-o", "m", cwd=folder)
    call("./m", "--log", "log.jsonl", "--save", "w.safetensors", "--save-grads", "g.safetensors", "--check-replicas", "--quiet", cwd=folder)
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    numbers = [(line["loss"], line["grad_norm"]) for line in lines if "loss" in line]
    # By name: ranks write what they hold, so the tensors' order in a file depends on the stages.
    arrays = [{name: array.tobytes() for name, array in read_safetensors(folder / file).items()} for file in ("g.safetensors", "w.safetensors")]
    return (numbers, *arrays), arena


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--mesh", default="dp=1")
    parser.add_argument("--shard", default="batch: dp")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--schedule", default="")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--rules", nargs="+", default=["attention!", "selective!", "full!"])
    options = parser.parse_args()
    work = options.workdir.resolve() / "".join(c if c.isalnum() else "-" for c in f"{options.mesh}{options.microbatches}{options.schedule}")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    expected, natural = train(work, options, "")
    if len(expected[0]) != 3 or not all(numpy.isfinite(expected[0]).ravel()):
        sys.exit(f"expected the numbers of three steps, found {expected[0]}")

    def compare(what, found):
        differing = [name for name, a, b in zip(("losses and norms", "gradients", "weights"), found, expected) if a != b]
        if differing:
            sys.exit(f"{options.mesh}, {what}: {', '.join(differing)} differ from those without: {found[0]} and {expected[0]}")

    if options.schedule:
        compare(options.schedule, train(work, options, "", more=("--mesh", "pp=1"))[0])
    for rule in options.rules:
        found, arena = train(work, options, rule.rstrip("!"), natural)
        compare(f"remat {rule}", found)
        if rule.endswith("!") and arena >= natural:
            sys.exit(f"{options.mesh}, remat {rule}: the arena has {arena} bytes, {natural} without")
        print(f"ok   {options.mesh} x {options.microbatches}, remat {rule}: arena {arena} of {natural} bytes")


if __name__ == "__main__":
    main()
