#!/usr/bin/env python3
"""Looks for programs on which ptlc crashes, hangs, or computes something else than the reference interpreter.

Usage: fuzz.py WORKDIR [--seed N] [--mutate N] [--compile N] [--execute N] [--jobs N]
  --mutate   damaged copies of right programs go through `ptlc check`: messages, but no crash and no hang
  --compile  right programs go to an object file: each must compile
  --execute  right programs train two steps on one and on several ranks, and must end with ptl-run's weights
A finding leaves its program, input and output in WORKDIR/finding-<kind>-<seed>; with the fault it becomes a test.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "execute")]
import generate  # noqa: E402
from golden import read_safetensors  # noqa: E402

LIMIT = 60  # seconds for one call of the compiler
CRASH = re.compile(r"PLEASE submit|Stack dump|LLVM ERROR|Assertion|AddressSanitizer|runtime error:|terminate called")
TOKENS = re.compile(r'"[^"\n]*"|//[^\n]*|\w+|\s+|.')
STRANGE = ["{", "}", "(", ")", "[", "]", ",", '"', ";", "\n", "é", "->", "..", "@", "if", "fn", "let", "0", "1e99", "-", "batch", "=", ":"]


class Finding(Exception):
    """What went wrong with one program."""


def call(work, *command, status=(0,)):
    """Runs a command; its end must be orderly and its status one of `status`."""
    try:
        result = subprocess.run([str(word) for word in command], cwd=work, capture_output=True, text=True, errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Finding(f"{' '.join(map(str, command))}: not finished after {LIMIT} s") from None
    output = result.stdout + result.stderr
    if result.returncode not in status or CRASH.search(output):
        raise Finding(f"{' '.join(map(str, command))}: status {result.returncode}\n{output[-4000:]}")
    return result.returncode, output


def mutate(seed):
    """A right program with one to five tokens dropped, doubled, exchanged or replaced."""
    rng = random.Random(seed)
    corpus = sorted((HERE.parent.parent / "examples").glob("*/model.ptl")) + sorted((HERE.parent / "execute/Inputs").glob("*.ptl"))
    text = rng.choice(corpus).read_text() if rng.random() < 0.5 else generate.generate(seed)
    tokens = TOKENS.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place, choice = rng.randrange(len(tokens)), rng.random()
        if choice < 0.35:
            tokens[place] = ""
        elif choice < 0.6:
            tokens.insert(place, rng.choice(tokens))
        elif choice < 0.8:
            other = rng.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        else:
            tokens[place] = rng.choice(STRANGE)
    return "".join(tokens)


def try_mutation(work, seed):
    (work / "m.ptl").write_text(mutate(seed))
    status, output = call(work, "ptlc", "check", "m.ptl", status=(0, 1))
    if status and not re.search(r"m\.ptl:\d+:\d+: error: ", output):
        raise Finding(f"refused without an error at a place:\n{output}")
    return status


def try_compile(work, seed):
    (work / "m.ptl").write_text(generate.generate(seed))
    call(work, "ptlc", "m.ptl", "--plan", "p", "--emit=obj", "-o", "m.o")


def write_data(work, program, seed):
    """Data for all fields of the program: twice as many samples as a batch."""
    rng = numpy.random.default_rng(seed)
    size = {name: int(value) for name, value in re.findall(r"^dim (\w+) = (\d+)$", program, re.M)}
    size["batch"] = 2 * int(re.search(r"^  batch (\d+)$", program, re.M)[1])
    labels = int(re.search(r"^// Labels are below (\d+)", program, re.M)[1])
    for name, kind, dims in re.findall(r"(\w+): (int)?\[([\w, ]*)\]", re.search(r"fn loss\((.*)\) \{", program)[1]):
        shape = [size[dim] for dim in dims.split(", ")]
        values = rng.integers(0, labels, shape).astype("i4") if kind else rng.normal(size=shape).astype("f4")
        numpy.save(work / f"{name}.npy", values)


def try_execute(work, seed):
    ranks = random.Random(seed).choice((1, 2, 3, 4))
    program = generate.generate(seed, plan=f"dp = {ranks}")
    (work / "m.ptl").write_text(program)
    write_data(work, program, seed)
    call(work, "ptlc", "m.ptl", "--plan", "p", "--emit=train", "-o", "train.mlir")
    data = [f"--data={path.stem}={path.name}" for path in sorted(work.glob("*.npy"))]
    call(work, "ptl-run", "train.mlir", "--f64", "--steps=2", *data, "--save-results=expected.safetensors")
    call(work, "ptlc", "m.ptl", "--plan", "p", "-o", "m")
    call(work, "./m", "--quiet", "--log", "log.jsonl", "--save", "found.safetensors")
    losses = [line["loss"] for line in map(json.loads, (work / "log.jsonl").read_text().splitlines()) if "loss" in line]
    if len(losses) != 2 or not numpy.isfinite(losses).all():
        raise Finding(f"expected two finite losses, found {losses}")
    expected, found = read_safetensors(work / "expected.safetensors"), read_safetensors(work / "found.safetensors")
    for name in found:
        error = numpy.abs(found[name] - expected[name]).max()
        if not error <= 2e-4 * max(1.0, numpy.abs(expected[name]).max()):
            raise Finding(f"weight '{name}' on {ranks} ranks: off by {error}\nexpected {expected[name]}\nfound {found[name]}")


KINDS = {"mutate": try_mutation, "compile": try_compile, "execute": try_execute}


def try_one(root, kind, seed):
    """Returns None, or the text of a finding, which stays on disk."""
    work = root / f"{kind}-{seed}"
    work.mkdir(parents=True)
    try:
        KINDS[kind](work, seed)
    except Finding as finding:
        place = root / f"finding-{kind}-{seed}"
        shutil.rmtree(place, ignore_errors=True)
        (work / "finding.txt").write_text(str(finding))
        work.rename(place)
        return f"{place}: {str(finding)[:1500]}"
    shutil.rmtree(work)
    return None


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
    findings = 0
    for kind in KINDS:
        seeds = range(options.seed, options.seed + getattr(options, kind))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            bad = [text for text in pool.map(lambda seed, kind=kind: try_one(root, kind, seed), seeds) if text]
        findings += len(bad)
        for text in bad:
            print(text)
        print(f"{kind}: {len(seeds)} programs, {len(bad)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
