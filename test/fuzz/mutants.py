#!/usr/bin/env python3
"""Looks for mistakes in partitioned programs that the sharding verifier doesn't see, and for right programs that it refuses.

Usage: mutants.py WORKDIR [--seed N] [--jobs N] [--programs N] [--mutants N]
Random programs with random plans (shardings.py) are cut for their meshes; ptl-mutate makes so many mistakes in each, one at a time, and
compares the verifier's verdict with that of the reference interpreter. Each mutant that computes something else than one rank must be
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
sys.path.insert(0, str(HERE))
import shardings  # noqa: E402

GROUP = 25  # programs for one process
PATIENCE = 900  # seconds
COLUMNS = ("made", "malformed", "wrong", "seen", "refused though right")


def try_group(work, seeds, options):
    """Returns counts by kind of mistake, programs tried and refused, and findings."""
    names = [f"{seed}.ptl" for seed in seeds]
    for seed, name in zip(seeds, names):
        (work / name).write_text(shardings.generate(seed))
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
    options = parser.parse_args()
    shutil.rmtree(options.workdir, ignore_errors=True)
    options.workdir.mkdir(parents=True)
    seeds = range(options.seed, options.seed + options.programs)
    groups = [seeds[start : start + GROUP] for start in range(0, len(seeds), GROUP)]
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
