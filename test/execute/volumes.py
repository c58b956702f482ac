#!/usr/bin/env python3
"""Compares what ranks move at each level of `zero` with closed forms, with the plan, and with the run's counters.

Usage: volumes.py WORKDIR. With P weights and n ranks, each sends, in units of P (n - 1) / n elements and per step of K micro-batches:
levels 0 and 1: 2, a gradient and a weight; level 2: K and 1, as each micro-batch scatters its gradients (under `reproducible` it is one
scatter, 2 in all); level 3: at most 3 K, as each micro-batch gathers weights for the forward and for the backward. There the last layer is
still whole when the backward begins, and biases, which the backward doesn't read, are gathered once.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys

import numpy
from golden import call

# Rows of 272 elements have no padding, and two matrices of them are a bucket.
WIDTH, LAYERS, STEPS = 272, 6, 2
MATRICES = 2 * WIDTH * WIDTH  # of a layer
TOTAL = LAYERS * (MATRICES + WIDTH)
PROGRAM = """\
dim inner = {width}, hidden = {width}
module Layer() {{
  weight w: [inner, hidden] = normal(0.05)
  weight b: [hidden] = zeros
  weight v: [hidden, inner] = normal(0.05)
  fn forward(x: [batch, inner]) -> [batch, inner] = x + relu(x @ w + b) @ v
}}
model M {{
  blocks = repeat({layers}) Layer()
  fn loss(x: [batch, inner], t: [batch, inner]) = mse(blocks(x), t)
}}
train M {{ data npy(x: "x.npy", t: "t.npy"); batch 12; steps {steps}; optimizer adamw(lr: 0.01) }}
plan p on mesh(dp = {ranks}) {{ {rules} }}
"""


def expected(level, pieces, reproducible):
    """Elements in units of (n - 1) / n."""
    if level < 2 or (level == 2 and reproducible):
        return 2 * TOTAL
    if level == 2:
        return (pieces + 1) * TOTAL
    return pieces * (3 * TOTAL - MATRICES - LAYERS * WIDTH)


def check(work, ranks, level, pieces=1, reproducible=False):
    name = f"zero {level}, dp = {ranks}, {pieces} micro-batches{', reproducible' if reproducible else ''}"
    work = work / name.replace(" ", "").replace(",", "-").replace("=", "")
    work.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    for field in ("x", "t"):
        numpy.save(work / f"{field}.npy", random.normal(size=(24, WIDTH)).astype("f4"))
    rules = ["shard batch: dp", *[f"zero {level}, over: dp"] * (level > 0), f"microbatches {pieces}", *["reproducible"] * reproducible]
    (work / "m.ptl").write_text(PROGRAM.format(width=WIDTH, layers=LAYERS, steps=STEPS, ranks=ranks, rules="; ".join(rules)))
    report = json.loads(call("ptlc", "m.ptl", "--plan", "p", "--no-check", "--report", "--json", "-o", "m", cwd=work))
    call("./m", "--quiet", "--report", "run.json", cwd=work)
    counted = json.loads((work / "run.json").read_text())["collectives"]
    planned = sum(entry["bytes"] * entry["times"] for entry in report["collectives"])
    moved = sum(entry["bytes"] for entry in counted) / ranks / STEPS
    formula = 4 * expected(level, pieces, reproducible) * (ranks - 1) / ranks
    print(f"{name}: moved {moved:.0f} bytes per rank and step, planned {planned:.0f}, the closed form is {formula:.0f}: {moved / formula - 1:+.2%}")
    each = all(entry["bytes"] == entry["predicted_bytes"] for entry in counted)
    # Parts are multiples of 256 elements, loss and norm are sums, too.
    return each and \
        abs(moved / planned - 1) < 0.001 and abs(moved / formula - 1) < 0.02


def main():
    work = pathlib.Path(sys.argv[1]).resolve()
    cases = [(ranks, level) for ranks in (2, 3, 4) for level in (0, 1, 2, 3)]
    cases += [(2, level, 3) for level in (0, 1, 2, 3)] + [(2, 2, 3, True), (3, 3, 2)]
    wrong = [case for case in cases if not check(work, *case)]
    sys.exit(f"wrong: {wrong}" if wrong else 0)


if __name__ == "__main__":
    main()
