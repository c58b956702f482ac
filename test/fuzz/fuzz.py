#!/usr/bin/env python3
"""Looks for programs on which ptlc crashes, hangs, or computes something else than the reference interpreter.

Usage: fuzz.py WORKDIR [--seed N] [--jobs N] [--check N] [--damage N] [--objects N] [--values N] [--execute N]
  --check    programs of the whole grammar must be accepted, and formatting must keep them
  --damage   damaged copies of right programs get messages at places
  --objects  programs of the whole grammar must compile to an object file
  --values   so must programs of deep expressions
  --execute  those train two steps on one or several ranks, and must end with ptl-run's weights
A finding leaves its program, input and output in WORKDIR/<kind>-<seed>; with the fault it becomes a test. A program that the
generator thinks is right and ptlc refuses in an orderly way is counted with its message: a fault of one of the two.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import re
import shutil
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "execute")]
import grammar  # noqa: E402
import values  # noqa: E402
from golden import read_safetensors  # noqa: E402
from runner import Finding, call, damage  # noqa: E402


class Refusal(Exception):
    """The message with which a program was refused that should be right."""


def accept(work, *command):
    """Runs ptlc on a program that should be right."""
    status, output = call(work, *command, status=(0, 1))
    if status:
        message = re.search(r"error: (.*)", output)
        if not message:
            raise Finding(f"fails without an error message:\n{output}")
        raise Refusal(message[1])
    return output


def try_check(work, seed):
    """Formatting must keep the program, and formatting again must change nothing."""
    (work / "m.ptl").write_text(grammar.generate(seed))
    accept(work, "ptlc", "check", "m.ptl")
    _, once = call(work, "ptlc", "fmt", "m.ptl")
    (work / "once.ptl").write_text(once)
    _, twice = call(work, "ptlc", "fmt", "once.ptl")
    if once != twice:
        raise Finding("formatting what 'ptlc fmt' printed changes it")
    call(work, "ptlc", "check", "once.ptl")


def try_damage(work, seed):
    rng = random.Random(seed)
    corpus = sorted((HERE.parent.parent / "examples").glob("*/model.ptl")) + sorted((HERE.parent / "execute/Inputs").glob("*.ptl"))
    source = rng.choice(("corpus", "grammar", "values"))
    text = rng.choice(corpus).read_text() if source == "corpus" else (grammar if source == "grammar" else values).generate(seed)
    (work / "m.ptl").write_text(damage(text, rng))
    status, output = call(work, "ptlc", "check", "m.ptl", status=(0, 1))
    if status and not re.search(r"\.ptl:\d+:\d+: error: ", output):
        raise Finding(f"refused without an error at a place:\n{output}")


def compile_object(work, seed, *options):
    level = (0, 0, 0, 1, 2, 3)[seed % 6]  # what LLVM does is most of the time and least of the interest
    accept(work, "ptlc", "m.ptl", *options, f"-O{level}", "--emit=obj", "-o", "m.o")


def try_objects(work, seed):
    (work / "m.ptl").write_text(grammar.generate(seed))
    compile_object(work, seed)


def try_values(work, seed):
    (work / "m.ptl").write_text(values.generate(seed))
    compile_object(work, seed, "--plan", "p")


def write_data(work, program, seed):
    """Data for all fields of the program: twice as many samples as a batch."""
    rng = numpy.random.default_rng(seed)
    size = {name: int(value) for name, value in re.findall(r"^dim (\w+) = (\d+)$", program, re.M)}
    size["batch"] = 2 * int(re.search(r"^  batch (\d+)$", program, re.M)[1])
    labels = int(re.search(r"^// Labels are below (\d+)", program, re.M)[1])
    for name, kind, dims in re.findall(r"(\w+): (int)?\[([\w, ]*)\]", re.search(r"fn loss\((.*)\) \{", program)[1]):
        shape = [size[dim] for dim in dims.split(", ")]
        numbers = rng.integers(0, labels, shape).astype("i4") if kind else rng.normal(size=shape).astype("f4")
        numpy.save(work / f"{name}.npy", numbers)


def try_execute(work, seed):
    ranks = random.Random(seed).choice((1, 2, 3, 4))
    program = values.generate(seed, plan=f"dp = {ranks}")
    (work / "m.ptl").write_text(program)
    write_data(work, program, seed)
    accept(work, "ptlc", "m.ptl", "--plan", "p", "--emit=train", "-o", "train.mlir")
    data = [f"--data={path.stem}={path.name}" for path in sorted(work.glob("*.npy"))]
    call(work, "ptl-run", "train.mlir", "--f64", "--steps=2", *data, "--save-results=expected.safetensors")
    accept(work, "ptlc", "m.ptl", "--plan", "p", "-o", "m")
    call(work, "./m", "--quiet", "--log", "log.jsonl", "--save", "found.safetensors")
    losses = [line["loss"] for line in map(json.loads, (work / "log.jsonl").read_text().splitlines()) if "loss" in line]
    if len(losses) != 2 or not numpy.isfinite(losses).all():
        raise Finding(f"expected two finite losses, found {losses}")
    expected, found = read_safetensors(work / "expected.safetensors"), read_safetensors(work / "found.safetensors")
    for name in found:
        error = numpy.abs(found[name] - expected[name]).max()
        if not error <= 2e-4 * max(1.0, numpy.abs(expected[name]).max()):
            raise Finding(f"weight '{name}' on {ranks} ranks: off by {error}\nexpected {expected[name]}\nfound {found[name]}")


KINDS = {"check": try_check, "damage": try_damage, "objects": try_objects, "values": try_values, "execute": try_execute}


def try_one(root, kind, seed):
    """Returns what came of it and more about that; a finding stays on disk."""
    work = root / f"{kind}-{seed}"
    work.mkdir(parents=True)
    try:
        KINDS[kind](work, seed)
    except Finding as finding:
        (work / "finding.txt").write_text(str(finding))
        return "finding", f"{work}: {str(finding)[:1500]}"
    except Refusal as refusal:
        shutil.rmtree(work)
        return "refused", (re.sub(r"'[^']*'|\[[^\]]*\]|\d+", "…", str(refusal)), f"{kind} {seed}: {refusal}")
    shutil.rmtree(work)
    return "good", ""


def report(kind, results):
    """Prints what came of all programs of a kind; returns whether that is in order."""
    count = collections.Counter(outcome for outcome, _ in results)
    for text in (detail for outcome, detail in results if outcome == "finding"):
        print(text)
    refusals = collections.defaultdict(list)
    for outcome, detail in results:
        if outcome == "refused":
            refusals[detail[0]].append(detail[1])
    for examples in sorted(refusals.values(), key=len, reverse=True)[:20]:
        print(f"refused {len(examples)}x, such as {examples[0]}")
    print(f"{kind}: {len(results)} programs, {count['good']} good, {count['refused']} refused, {count['finding']} findings", flush=True)
    # Generators are held to be right nearly always, or else little would be tested.
    return not count["finding"] and count["refused"] <= 0.02 * len(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0)
    options = parser.parse_args()
    shutil.rmtree(options.workdir, ignore_errors=True)
    options.workdir.mkdir(parents=True)
    root = options.workdir.resolve()
    good = True
    for kind in KINDS:
        seeds = range(options.seed, options.seed + getattr(options, kind))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda seed, kind=kind: try_one(root, kind, seed), seeds))
        if results:
            good &= report(kind, results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
