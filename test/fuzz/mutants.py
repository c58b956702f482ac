#!/usr/bin/env python3
"""Looks for mistakes in partitioned programs that the sharding verifier doesn't see, and for right programs that it refuses.

Usage: mutants.py WORKDIR [--seed N] [--jobs N] [--programs N] [--mutants N] [--models N]
Random programs with random plans (shardings.py), and --models of MODELS, are cut for their meshes; ptl-mutate makes so many mistakes in
each, one at a time, and compares the verifier's verdict with that of the reference interpreter. Each mutant that computes something else than one rank must be
refused, and no program as it was. A finding names its program, which stays in WORKDIR, and the mutant: ptl-mutate --print shows it.
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
import golden  # noqa: E402
import shardings  # noqa: E402

GROUP = 25  # programs for one process
PATIENCE = 900  # seconds
# Models of test/execute in small sizes: which one, the mesh, what is cut, micro-batches.
MEGATRON = "heads: tp, ffn: tp, vocab: tp"
MODELS = [
    ("gpt", "dp = 2, tp = 2", f"batch: dp, {MEGATRON}", 2),
    ("moe", "dp = 2, ep = 2", "batch: dp, experts: ep", 1),
    ("llama", "tp = 2", f"kv_heads: tp, {MEGATRON}; shard seq: tp, between: blocks", 2),
    ("gpt", "a = 2, b = 2", "heads: (a, b), ffn: (a, b), vocab: (a, b)", 1),
    ("llama", "tp = 3", f"kv_heads: tp, {MEGATRON}", 1),
    ("gpt", "cp = 2, tp = 2", f"seq: cp, {MEGATRON}", 1),
    ("moe", "ep = 3, tp = 2", "experts: ep, ffn: tp, vocab: tp", 1),
    ("gpt", "dp = 4", "batch: dp", 2),
]
SIZES = {"vocab": 19, "seq": 6, "embed": 12, "heads": 6, "kv_heads": 2, "ffn": 10, "experts": 4, "layers": 2}
COLUMNS = ("made", "malformed", "wrong", "seen", "refused though right")


def model(number):
    kind, mesh, rules, micro = MODELS[number]
    text = (HERE.parent / "execute" / "Inputs" / f"{kind}.ptl").read_text()
    for name, size in SIZES.items():
        text = re.sub(rf"\b{name} = \d+", f"{name} = {size}", text, count=1)
    return (f"{text}\ntrain {golden.MODELS[kind]} {{\n  data tokens(\"train.bin\")\n  batch 5\n  steps 1\n  clip 0.5\n"
            f"  optimizer adamw(lr: 1e-2, betas: (0.9, 0.95), eps: 1e-8, weight_decay: 0.1)\n}}\n\n"
            f"plan p on mesh({mesh}) {{ shard {rules}; microbatches {micro} }}\n")


def try_group(work, names, options):
    """Returns counts by kind of mistake, programs tried and refused, and findings."""
    for name in names:
        stem, number = name.split(".")[0].rsplit("-", 1)
        (work / name).write_text(model(int(number)) if stem == "model" else shardings.generate(int(number)))
    result = subprocess.run(["ptl-mutate", "--mutants", str(options.mutants), "--seed", str(options.seed), *names],
                            cwd=work, capture_output=True, text=True, timeout=PATIENCE)
    kinds = re.findall(r"^(.*): (\d+) made, (\d+) malformed, (\d+) wrong, (\d+) seen, (\d+) refused though right$", result.stdout, re.M)
    programs = re.search(r"^programs: (\d+) tried, (\d+) refused$", result.stdout, re.M)
    findings = re.findall(r"^finding: (.*)$", result.stdout, re.M)
    if not programs or (result.returncode and not findings):
        findings.append(f"{names[0]}..{names[-1]}: ptl-mutate ends with {result.returncode}: {result.stderr[-500:]}")
    tried = [int(number) for number in programs.groups()] if programs else [0, 0]
    return {kind: [int(number) for number in numbers] for kind, *numbers in kinds}, tried, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--mutants", type=int, default=10)
    parser.add_argument("--models", type=int, default=0)
    options = parser.parse_args()
    shutil.rmtree(options.workdir, ignore_errors=True)
    options.workdir.mkdir(parents=True)
    names = [f"random-{seed}.ptl" for seed in range(options.seed, options.seed + options.programs)]
    groups = [[f"model-{number}.ptl"] for number in range(options.models)]
    groups += [names[start : start + GROUP] for start in range(0, len(names), GROUP)]
    counts, tried, refused, findings = collections.defaultdict(lambda: [0] * len(COLUMNS)), 0, 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for kinds, programs, found in pool.map(lambda group: try_group(options.workdir, group, options), groups):
            for kind, numbers in kinds.items():
                counts[kind] = [a + b for a, b in zip(counts[kind], numbers)]
            tried, refused, findings = tried + programs[0], refused + programs[1], findings + found
    total = [sum(column) for column in zip(*counts.values())] if counts else [0] * len(COLUMNS)
    print(f"{'mistake':28}" + "".join(f"{column:>10.10}" for column in COLUMNS))
    for kind, numbers in [*sorted(counts.items()), ("all", total)]:
        print(f"{kind:28}" + "".join(f"{number:10}" for number in numbers))
    print("\n".join(findings + [f"{tried} programs, {refused} of them refused by the compiler, {len(findings)} findings"]))
    # Mutants that change nothing would test little.
    return 1 if findings or total[2] < 0.5 * total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
