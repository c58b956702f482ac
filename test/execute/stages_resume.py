#!/usr/bin/env python3
"""Checkpoints go from one pipeline to another, and metrics come from several stages: every number is that of one device.

Usage: stages_resume.py WORKDIR. The model sends booleans and integers past its layers.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import shutil
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from golden import call, read_safetensors  # noqa: E402

PROGRAM = """\
import std.nn

dim vocab = 13, seq = 8, embed = 16, heads = 4, hdim = 4, ffn = 24

module Block {
  weight wq: [embed, heads, hdim] = normal(0.3)
  weight wo: [heads, hdim, embed] = normal(0.3)
  weight up: [embed, ffn] = normal(0.3)
  weight down: [ffn, embed] = normal(0.3)
  norm = nn.RMSNorm(embed)
  fn forward(x: [batch, seq, embed], known: bool[batch, seq], tokens: int[batch, seq]) {
    let a = norm(x)
    let b = a + dot(attention(a @ wq, a @ wq, a @ wq, over: seq, causal: true), wo, over: (heads, hdim))
    let c = where(known, b, 0.5 * b) + 0.01 * float(tokens)
    return x + dropout(gelu(c @ up), 0.1) @ down
  }
}

model M {
  weight wte: [vocab, embed] = normal(0.3)
  first = repeat(2) Block()
  last = repeat(2) Block()
  fn loss(tokens: int[batch, seq], targets: int[batch, seq]) {
    let h = first(wte[vocab: tokens], tokens != 3, tokens)
    let z = dot(last(h, tokens != 3, tokens), wte, over: embed)
    metric size = mean(h * h)
    metric right = mean(float(argmax(z, over: vocab) == targets))
    return cross_entropy(z, targets, over: vocab)
  }
}

train M {
  data tokens("t.bin")
  batch 4
  steps 4
  optimizer sgd(lr: 0.01)
  checkpoint "saved", every: 2
}
plan one on mesh(pp = 1) { microbatches 2; reproducible }
plan two on mesh(pp = 2) { pipeline (first, last), over: pp; microbatches 2; reproducible }
plan v on mesh(pp = 2) { pipeline (first, last), over: pp, schedule: zb_v; microbatches 2; reproducible }
plan four on mesh(pp = 4) { pipeline (first, last), over: pp, schedule: gpipe; microbatches 2; reproducible }
plan cube on mesh(dp = 2, tp = 2, pp = 2) {
  shard batch: dp, heads: tp, ffn: tp, vocab: tp
  pipeline (first, last), over: pp
  microbatches 2
}
plan parts on mesh(pp = 2, dp = 2) { shard batch: dp; pipeline (first, last), over: pp; microbatches 2; zero 3, over: dp }
"""


def write_tokens(path):
    tokens = numpy.random.RandomState(1).randint(0, 13, 400).astype("<u2")
    header = numpy.zeros(256, "<i4")
    header[:3] = 20240520, 1, len(tokens)
    path.write_bytes(header.tobytes() + tokens.tobytes())


def run(work, plan, *more):
    """Trains in a folder of its own; returns the numbers of the log, and the weights."""
    folder = work / plan
    folder.mkdir(exist_ok=True)
    write_tokens(folder / "t.bin")
    (folder / "m.ptl").write_text(PROGRAM)
    (folder / "log.jsonl").unlink(missing_ok=True)
    if not (folder / "m").exists():
        call("ptlc", "m.ptl", "--plan", plan, "-O1", "--no-check", "-o", "m", cwd=folder)
    call("./m", "--quiet", "--log", "log.jsonl", "--save", "w.safetensors", "--check-replicas", *more, cwd=folder)
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    numbers = {f"{name} of step {line['step']}": value for line in lines if "loss" in line for name, value in line.items()
               if name not in ("ms", "tokens_s") and value is not None}
    return numbers, read_safetensors(folder / "w.safetensors")


def compare(plan, found, expected, isExact):
    if found[0].keys() != expected[0].keys():
        sys.exit(f"{plan}: logs other numbers: {sorted(found[0].keys() ^ expected[0].keys())}")
    limit = 0 if isExact else 2e-5
    for name, value in expected[0].items():
        if abs(found[0][name] - value) > limit * max(1, abs(value)):
            sys.exit(f"{plan}: {name}: expected {value}, found {found[0][name]}")
    for name, value in expected[1].items():
        if numpy.abs(found[1][name] - value).max() > limit:
            sys.exit(f"{plan}: weight {name} is off by {numpy.abs(found[1][name] - value).max()}")
    print(f"ok   {plan}: {len(expected[0])} numbers, {len(expected[1])} weights")


def main():
    work = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    expected = run(work, "one")
    if "size of step 3" not in expected[0]:
        sys.exit(f"there is no metric among {sorted(expected[0])}")
    for plan in ("two", "v", "four", "cube", "parts"):
        compare(plan, run(work, plan), expected, plan in ("two", "v", "four"))
    # Two steps on one pipeline, two on another.
    late = {name: value for name, value in expected[0].items() if name.endswith((" 2", " 3"))}
    for first, then in (("two", "four"), ("four", "v"), ("v", "one")):
        for plan in (first, then):
            shutil.rmtree(work / plan / "saved")
        call("./m", "--quiet", "--steps", "2", cwd=work / first)
        found = run(work, then, "--resume", work / first / "saved")
        compare(f"{first}, then {then}", found, (late, expected[1]), True)


if __name__ == "__main__":
    main()
