#!/usr/bin/env python3
"""Trains a golden model with collectives beside the computation, and compares each run with the one without, bit for bit.

Usage: overlap.py CASE WORKDIR --starts KINDS... [--levels 0,1,2,3] [--over AXES] and what zero.py takes
Losses, norms and metrics of every step, the weights after the last and the gradients of the first are compared; ranks move what the
program says. The trace must have starts and waits, as many, of the kinds in KINDS (of each level, separated by commas; "none": all are
run), each wait behind its start.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import shutil
import sys

import golden
import zero


def started(work):
    """The kinds that are started, from a run of two steps with a trace."""
    golden.call("./model", "--steps", "2", "--trace", "trace.json", "--quiet", cwd=work)
    kinds = collections.Counter()
    open_ones = collections.Counter()
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


def main():
    parser = zero.parser_of(__doc__)
    parser.add_argument("--starts", nargs="+", required=True)
    parser.add_argument("--bucket", default="", help="as 64 KB")
    options = parser.parse_args()
    case = golden.HERE / "golden" / options.case
    run = json.loads((case / "expected.json").read_text())
    name = "".join(letter if letter.isalnum() else "_" for letter in f"{options.mesh}-{options.over}-{options.microbatches}-{options.pipeline}")
    work = options.workdir.resolve() / f"{options.case}-{name}"
    shutil.rmtree(work, ignore_errors=True)
    failed = False
    for level, expected in zip(options.levels.split(","), options.starts, strict=True):
        options.overlap = False
        plain = zero.train(int(level), options, case, run, work / level)
        options.overlap = True
        beside = zero.train(int(level), options, case, run, work / f"{level}-overlap")
        for what, ours, theirs in zip(("log", "weights", "gradients"), beside, plain):
            failed |= ours != theirs
            print(f"{'ok  ' if ours == theirs else 'FAIL'} {what} of level {level} with and without overlap")
        kinds = started(work / f"{level}-overlap")
        right = not kinds if expected == "none" else set(kinds) >= set(expected.split(","))
        failed |= not right
        print(f"{'ok  ' if right else 'FAIL'} level {level} starts {dict(kinds) or 'none'}, expected {expected}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
