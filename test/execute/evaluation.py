#!/usr/bin/env python3
"""Compares what programs log about their evaluations with a computation in numpy.

Usage: evaluation.py WORKDIR. Batches differ in their number of valid targets, and the last one is short, so a mean of the
batches' means (also one weighted by their samples) is another number. A perplexity must be that of the total mean.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from golden import call, read_safetensors  # noqa: E402

PROGRAM = """\
dim token = 5, embed = 6, classes = 3

model M {{
  weight w: [embed, classes] = normal(0.7)
  fn loss(x: [batch, token, embed], t: int[batch, token]) {{
    let z = x @ w
    let l = cross_entropy(z, t, over: classes, ignore: -1)
    metric perplexity = exp(l)
    metric right = mean(float(argmax(z, over: classes) == t), where: t >= 0)
{more}    return l
  }}
}}

train M {{
  data npy(x: "x.npy", t: "t.npy")
  batch 4
  steps 2
  optimizer sgd(lr: 0.1)
  eval npy(x: "x.npy", t: "t.npy"), every: 1
  eval npy(x: "y.npy", t: "u.npy"), every: 2, batches: 2
}}

plan p on mesh(dp = {dp}) {{ shard batch: dp; {plan} }}
"""


def totals(w, x, t):
    """Loss and accuracy of each valid target."""
    z = x.astype("f8") @ w.astype("f8")
    lse = numpy.log(numpy.exp(z).sum(-1))
    loss = lse - numpy.take_along_axis(z, numpy.maximum(t, 0)[..., None], -1)[..., 0]
    return loss[t >= 0], (z.argmax(-1) == t)[t >= 0]


def run(work, dp, more="", plan=""):
    work.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(3)
    fields = {}
    for x, t, count in (("x", "t", 10), ("y", "u", 13)):
        fields[x] = random.normal(size=(count, 5, 6)).astype("f4")
        fields[t] = random.integers(3, size=(count, 5)).astype("i4")
        # Few valid targets in the first batch, many in the second.
        fields[t][: 4, 1:] = -1
        numpy.save(work / f"{x}.npy", fields[x])
        numpy.save(work / f"{t}.npy", fields[t])
    (work / "m.ptl").write_text(PROGRAM.format(dp=dp, more=more, plan=plan))
    (work / "log.jsonl").unlink(missing_ok=True)
    call("ptlc", "m.ptl", "--plan", "p", "-o", "m", cwd=work)
    call("./m", "--quiet", "--log", "log.jsonl", "--save", "w.safetensors", cwd=work)
    lines = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
    return fields, read_safetensors(work / "w.safetensors")["w"], [line for line in lines if "loss" in line]


def expect(what, found, expected, tolerance=2e-6):
    if not numpy.allclose(found, expected, rtol=tolerance):
        sys.exit(f"{what}: expected {expected}, found {found}")


def main():
    work = pathlib.Path(sys.argv[1])
    for dp in (1, 2, 3):
        fields, w, steps = run(work / f"dp{dp}", dp)
        if "eval_2_loss" in steps[0] and steps[0]["eval_2_loss"] is not None:
            sys.exit("the second evaluation is due after the second step only")
        for prefix, x, t in (("eval_", fields["x"], fields["t"]), ("eval_2_", fields["y"][:8], fields["u"][:8])):
            loss, right = totals(w, x, t)
            expect(f"dp = {dp}: {prefix}loss", steps[1][prefix + "loss"], loss.mean())
            expect(f"dp = {dp}: {prefix}perplexity", steps[1][prefix + "perplexity"], numpy.exp(loss.mean()))
            expect(f"dp = {dp}: {prefix}right", steps[1][prefix + "right"], right.mean())
    # A maximum over the batch isn't a total: then batches are weighted by their samples.
    fields, w, steps = run(work / "maximum", 2, more="    metric top = max(z)\n")
    batches = [slice(0, 4), slice(4, 8), slice(8, 10)]
    losses = [totals(w, fields["x"][rows], fields["t"][rows])[0].mean() for rows in batches]
    expect("with a maximum: eval_loss", steps[1]["eval_loss"], numpy.average(losses, weights=[4, 4, 2]))
    # Weights in parts, which are rounded before they are gathered: those of this step.
    fields, w, steps = run(work / "parts", 2, plan="zero 3, over: dp; precision bf16")
    expect("in parts of bf16: eval_loss", steps[1]["eval_loss"], totals(w, fields["x"], fields["t"])[0].mean(), 3e-3)
    print("evaluation: ok")


if __name__ == "__main__":
    main()
