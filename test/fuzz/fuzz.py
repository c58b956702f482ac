#!/usr/bin/env python3
"""Looks for programs on which ptlc crashes, hangs, or computes something else than the reference interpreter.

Usage: fuzz.py WORKDIR [--seed N] [--jobs N] [--check N] [--damage N] [--objects N] [--values N] [--execute N]
  --check    programs of the whole grammar must be accepted, and formatting must keep them
  --damage   damaged copies of right programs get messages at places, or go through all passes
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
import reference  # noqa: E402
import values  # noqa: E402
from golden import read_safetensors  # noqa: E402
from runner import Finding, call, damage  # noqa: E402


STEP = 2e-4  # limit of losses and norms, in f32


def write(work, seeds, generate):
    """Writes a program per seed; returns the files' names."""
    for seed in seeds:
        (work / f"{seed}.ptl").write_text(generate(seed))
    return [f"{seed}.ptl" for seed in seeds]


def refusals(work, *command):
    """Runs ptlc on programs that should be right; returns the message of each that was refused, by seed."""
    status, output = call(work, *command, status=(0, 1))
    messages = {int(seed): message for seed, message in re.findall(r"\b(\d+)\.ptl:\d+:\d+: error: (.*)", output)}
    if status and not messages:
        raise Finding(f"fails without an error at a place:\n{output}")
    return messages


def try_check(work, seeds):
    """Formatting must keep the programs, and formatting again must change nothing."""
    files = write(work, seeds, grammar.generate)
    refused = refusals(work, "ptlc", "check", *files)
    files = [f"{seed}.ptl" for seed in seeds if seed not in refused]
    if files:
        call(work, "ptlc", "fmt", "-i", *files)
        call(work, "ptlc", "fmt", "--check", *files)
        call(work, "ptlc", "check", *files)
    return refused


def damaged(seed):
    rng = random.Random(seed)
    corpus = sorted((HERE.parent.parent / "examples").glob("*/model.ptl")) + sorted((HERE.parent / "execute/Inputs").glob("*.ptl"))
    source = rng.choice(("corpus", "grammar", "values"))
    return damage(rng.choice(corpus).read_text() if source == "corpus" else (grammar if source == "grammar" else values).generate(seed), rng)


def try_damage(work, seeds):
    """Those without a message must be right; what they mean may still be more than the passes can do."""
    files = write(work, seeds, damaged)
    refused = refusals(work, "ptlc", "check", *files)
    accepted = [f"{seed}.ptl" for seed in seeds if seed not in refused]
    if accepted:
        call(work, "ptlc", "check", *accepted)
    for file in accepted:
        refusals(work, "ptlc", file, "--emit=memory", "-o", "m.mlir")
    return {}


def compile_object(work, seed, *options):
    level = (0, 0, 0, 1, 2, 3)[seed % 6]  # what LLVM does is most of the time and least of the interest
    return refusals(work, "ptlc", f"{seed}.ptl", *options, f"-O{level}", "--emit=obj", "-o", "m.o")


def try_objects(work, seeds):
    write(work, seeds, grammar.generate)
    return compile_object(work, seeds[0])


def try_values(work, seeds):
    write(work, seeds, values.generate)
    return compile_object(work, seeds[0], "--plan", "p")


def write_data(work, program, seed):
    """Data for all fields of the program: twice as many samples as a batch. A batch whose labels were all ignored would have no loss."""
    rng = numpy.random.default_rng(seed)
    if not all(re.search(pattern, program, re.M) for pattern in (r"^  batch \d", "^// Labels are", r"fn loss\(.*\) \{")):
        raise Finding("no data can be made for a program without batch, labels or loss")
    size = {name: int(value) for name, value in re.findall(r"^dim (\w+) = (\d+)$", program, re.M)}
    size["batch"] = 2 * int(re.search(r"^  batch (\d+)$", program, re.M)[1])
    ignored = {int(label) for label in re.findall(r"ignore: (\d+)", program)}
    labels = int(re.search(r"^// Labels are below (\d+)", program, re.M)[1])
    for name, kind, dims in re.findall(r"(\w+): (int)?\[([\w, ]*)\]", re.search(r"fn loss\((.*)\) \{", program)[1]):
        shape = [size[dim] for dim in dims.split(", ")]
        numbers = rng.integers(0, labels, shape).astype("i4") if kind else rng.normal(size=shape).astype("f4")
        if kind and ignored and len(ignored) < labels:
            numbers[:: size["batch"] // 2] = min(set(range(labels)) - ignored)
        numpy.save(work / f"{name}.npy", numbers)


def compare_steps(expected, found):
    """Losses and gradient norms: weights alone would hide a wrong scale, most of all after AdamW."""
    if len(expected) != 2 or len(found) != 2:
        raise Finding(f"expected two steps, found {expected} and {found}")
    for want, have in zip(expected, found):
        for name in ("loss", "grad_norm"):
            if not abs(have[name] - want[name]) <= STEP * max(1.0, abs(want[name])):
                raise Finding(f"step {want['step']}: {name} is {have[name]}, expected {want[name]}")


def train(work, program, seed):
    """Trains two steps under the plan `p`; weights must be ptl-run's. Returns the message by seed if ptlc refuses the program."""
    (work / f"{seed}.ptl").write_text(program)
    refused = refusals(work, "ptlc", f"{seed}.ptl", "--plan", "p", "-O1", "--no-check", "-o", "m")
    if refused:
        return refused
    write_data(work, program, seed)
    call(work, "ptlc", f"{seed}.ptl", "--emit=train", "-o", "train.mlir")
    data = [f"--data={path.stem}={path.name}" for path in sorted(work.glob("*.npy"))]
    _, text = call(work, "ptl-run", "train.mlir", "--f64", "--steps=2", *data, "--save-results=expected.safetensors")
    call(work, "./m", "--quiet", "--log", "log.jsonl", "--save", "found.safetensors")
    compare_steps([reference.parse_step(line) for line in text.splitlines() if line.startswith("step ")],
                  [line for line in map(json.loads, (work / "log.jsonl").read_text().splitlines()) if "loss" in line])
    expected, found = read_safetensors(work / "expected.safetensors"), read_safetensors(work / "found.safetensors")
    weights = {name for name in expected if name not in ("loss", "grad_norm") and not name.startswith(("state ", "metric "))}
    frozen = {name for name in found if name.split(".")[-1] in re.findall(r"frozen weight (\w+)", program)}
    if set(found) - frozen != weights:
        raise Finding(f"other weights than expected: {sorted(set(found) ^ weights)}")
    for name in weights:
        error = numpy.abs(found[name] - expected[name]).max()
        if not error <= 2e-4 * max(1.0, numpy.abs(expected[name]).max()):
            raise Finding(f"weight '{name}' is off by {error}\nexpected {expected[name]}\nfound {found[name]}")
    return {}


def try_execute(work, seeds):
    seed = seeds[0]
    ranks = random.Random(seed).choice((1, 2, 3, 4))
    return train(work, values.generate(seed, plan=f"dp = {ranks}"), seed)


# By kind: what tries programs, and how many at once.
KINDS = {"check": (try_check, 50), "damage": (try_damage, 50), "objects": (try_objects, 1), "values": (try_values, 1), "execute": (try_execute, 1)}


def try_some(root, kind, seeds):
    """Returns findings, which stay on disk, and the messages of refused programs, by seed. Halves find the one that is to blame."""
    work = root / f"{kind}-{seeds[0]}"
    work.mkdir(parents=True)
    try:
        refused = KINDS[kind][0](work, seeds)
    except Finding as finding:
        if len(seeds) == 1:
            (work / "finding.txt").write_text(str(finding))
            return {seeds[0]: f"{work}: {str(finding)[:1500]}"}, {}
        shutil.rmtree(work)
        half = len(seeds) // 2
        (bad, refused), (more, others) = try_some(root, kind, seeds[:half]), try_some(root, kind, seeds[half:])
        return bad | more, refused | others
    shutil.rmtree(work)
    return {}, refused


def report(kind, count, findings, refused):
    """Prints what came of all programs of a kind; returns whether that is in order."""
    for text in findings.values():
        print(text)
    examples = collections.defaultdict(list)
    for seed, message in refused.items():
        examples[re.sub(r"'[^']*'|\[[^\]]*\]|\d+", "…", message)].append(f"{kind} {seed}: {message}")
    for texts in sorted(examples.values(), key=len, reverse=True)[:20]:
        print(f"refused {len(texts)}x, such as {texts[0]}")
    print(f"{kind}: {count} programs, {len(refused)} refused, {len(findings)} findings", flush=True)
    # Generators are held to be right nearly always, or else little would be tested.
    return not findings and len(refused) <= 0.02 * count


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
        seeds, size = range(options.seed, options.seed + getattr(options, kind)), KINDS[kind][1]
        groups = [seeds[start:start + size] for start in range(0, len(seeds), size)]
        findings, refused = {}, {}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for bad, messages in pool.map(lambda some, kind=kind: try_some(root, kind, some), groups):
                findings |= bad
                refused |= messages
        if seeds:
            good &= report(kind, len(seeds), findings, refused)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
