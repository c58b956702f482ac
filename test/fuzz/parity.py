#!/usr/bin/env python3
"""Looks for programs whose plan changes what they compute.

Usage: parity.py WORKDIR [--seed N] [--jobs N] [--count N] [--emit STAGE] [--execute N]
  --count    random programs with random plans (shardings.py) are compiled for one device and for their plan, and a step of both is
             run in the reference interpreter (ptl-parity): loss, weights, states, norm and metrics must agree, replicas bit for bit
  --emit     at this stage of the planned program
  --execute  so many are compiled to executables, too, and train two steps; their weights must be the interpreter's
A finding leaves in WORKDIR its program, what was found, and the smallest program that fails in the same way; that becomes a test. A plan
may be refused, but only with a message of KNOWN, and at most a third of all may be.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "execute")]
import fuzz  # noqa: E402
import shardings  # noqa: E402
import shrink  # noqa: E402
from runner import PATIENCE, Finding  # noqa: E402

GROUP = 50  # programs for one process
# Why a plan may be refused: its rules contradict each other.
KNOWN = re.compile(r"'[\w.]+' and '[\w.]+' of '[\w.]+' are both split over axis '\w+'|'shard' contradicts a rule of equal strength")


def verdicts(work, texts, emit):
    """Runs ptl-parity on programs; returns "equal", "refused: why" or "wrong: what" for each. A crash is the fault of the next one."""
    work.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (work / f"{number}.ptl").write_text(text)
    found = []
    while len(found) < len(texts):
        names = [f"{number}.ptl" for number in range(len(found), len(texts))]
        try:
            result = subprocess.run(["ptl-parity", "--emit", emit, *names], cwd=work, capture_output=True, text=True, timeout=PATIENCE)
            output, errors = result.stdout, result.stderr
        except subprocess.TimeoutExpired as expired:
            output, errors = (expired.stdout or b"").decode(), f"not finished after {PATIENCE} s"
        found += re.findall(r"^\d+\.ptl (equal|refused: .*|wrong: .*)$", output, re.M)
        if len(found) < len(texts):
            fault = re.search(r"Assertion.*|LLVM ERROR.*|.*Sanitizer.*|not finished.*", errors)
            found.append(f"wrong: crash: {fault[0] if fault else errors[:300]}")
    return found


def kind_of(verdict):
    """Findings with the same kind are held to be the same fault: names and numbers don't matter."""
    return re.sub(r"'[^']*'|\d+|0x\w+", "…", verdict)[:80]


def try_parity(root, seeds, emit):
    work = root / f"parity-{seeds[0]}"
    found = dict(zip(seeds, verdicts(work, [shardings.generate(seed) for seed in seeds], emit)))
    for seed, verdict in found.items():
        if verdict.startswith("refused") and not KNOWN.search(verdict):
            found[seed] = verdict = f"wrong: an unknown message: {verdict[9:]}"
        if verdict.startswith("wrong"):
            kind = kind_of(verdict.replace("an unknown message: ", ""))

            def fails(texts, kind=kind):
                return [kind_of(v.replace("refused", "wrong")) == kind for v in verdicts(work, texts, emit)]

            keep(root, seed, shardings.generate(seed), verdict, fails)
    shutil.rmtree(work)
    return found


def try_execute(root, seed):
    work = root / f"execute-{seed}"

    def verdict(text):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        try:
            refused = fuzz.train(work, text, seed)
        except Finding as finding:
            return f"wrong: {finding}"
        return f"refused: {next(iter(refused.values()))}" if refused else "equal"

    text = shardings.generate(seed).replace("lr: 1.0", "lr: 0.01")  # at a rate of 1, two steps may make much of a rounding
    found = verdict(text)
    if found.startswith("wrong"):
        keep(root, seed, text, found, lambda texts: [kind_of(verdict(text)) == kind_of(found) for text in texts], batch=1)
    shutil.rmtree(work)
    return {seed: found}


def keep(root, seed, text, verdict, fails, batch=shrink.BATCH, shrunk=set()):
    """Writes a finding to disk, and its smallest form if it is the first of its kind."""
    (root / f"finding-{seed}.ptl").write_text(text)
    if kind_of(verdict) not in shrunk:
        shrunk.add(kind_of(verdict))
        text = shrink.shrink(text, fails, batch)
        (root / f"finding-{seed}-small.ptl").write_text(text)
        verdict += f"\n\n{text}"
    (root / f"finding-{seed}.txt").write_text(verdict)


def report(what, root, found):
    """Prints what came of all programs; returns whether that is in order."""
    refused = [verdict[9:] for verdict in found.values() if verdict.startswith("refused")]
    wrong = {seed: verdict for seed, verdict in found.items() if verdict.startswith("wrong")}
    for text, count in collections.Counter(kind_of(verdict) for verdict in refused).most_common():
        print(f"refused {count}x: {text}")
    for seed in wrong:
        print(f"seed {seed}: {(root / f'finding-{seed}.txt').read_text()}")
    print(f"{what}: {len(found)} programs, {len(refused)} refused, {len(wrong)} findings", flush=True)
    return not wrong and len(refused) <= len(found) / 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--emit", default="comm")
    parser.add_argument("--execute", type=int, default=0)
    options = parser.parse_args()
    shutil.rmtree(options.workdir, ignore_errors=True)
    options.workdir.mkdir(parents=True)
    root, good = options.workdir.resolve(), True
    seeds = range(options.seed, options.seed + options.count)
    groups = [list(seeds[start : start + GROUP]) for start in range(0, len(seeds), GROUP)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for what, tried in (("interpreted", pool.map(lambda some: try_parity(root, some, options.emit), groups)),
                            ("executed", pool.map(lambda seed: try_execute(root, seed), range(options.seed, options.seed + options.execute)))):
            found = {}
            for verdict in tried:
                found |= verdict
            if found:
                good &= report(what, root, found)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
