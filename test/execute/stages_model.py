#!/usr/bin/env python3
"""Trains, evaluates, samples and resumes on pipelines: every number is that of one device.

Usage: stages_model.py WORKDIR [--processes]. The model sends booleans and integers past its layers and has metrics of several stages;
checkpoints go from one pipeline to another. With --processes, ranks are processes of mpirun, and compared with threads.
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
  fn hidden(tokens: int[batch, seq]) = first(wte[vocab: tokens], tokens != 3, tokens)
  fn logits(tokens: int[batch, seq]) = dot(last(hidden(tokens), tokens != 3, tokens), wte, over: embed)
  fn loss(tokens: int[batch, seq], targets: int[batch, seq]) {
    let h = hidden(tokens)
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
  eval tokens("e.bin"), every: 2, batches: 3
  checkpoint "saved", every: 2
}
plan one on mesh(pp = 1) { microbatches 2; reproducible }
plan two on mesh(pp = 2) { pipeline (first, last), over: pp; microbatches 2; reproducible }
plan v on mesh(pp = 2) { pipeline (first, last), over: pp, schedule: zb_v; microbatches 2; reproducible }
plan three on mesh(pp = 3) { pipeline (first, last), over: pp, schedule: gpipe; microbatches 2; reproducible }
plan cube on mesh(dp = 2, tp = 2, pp = 2) {
  shard batch: dp, heads: tp, ffn: tp, vocab: tp
  shard seq: tp, between: last
  pipeline (first, last), over: pp
  microbatches 2
}
plan parts on mesh(pp = 2, dp = 2) {
  shard batch: dp
  pipeline (first, last), over: pp
  microbatches 2
  zero 3, over: dp
  remat full, in: first
}
plan half on mesh(pp = 1) { microbatches 2; reproducible; precision bf16 }
plan halves on mesh(pp = 2) { pipeline (first, last), over: pp, schedule: interleaved(2); microbatches 2; reproducible; precision bf16 }
"""


def write_tokens(path, count, seed):
    tokens = numpy.random.RandomState(seed).randint(0, 13, count).astype("<u2")
    header = numpy.zeros(256, "<i4")
    header[:3] = 20240520, 1, len(tokens)
    path.write_bytes(header.tobytes() + tokens.tobytes())


def run(work, plan, *more, launch=()):
    """Trains in a folder of its own; returns the numbers of the log, the weights, and what was sampled."""
    folder = work / plan
    folder.mkdir(exist_ok=True)
    write_tokens(folder / "t.bin", 400, 1)
    write_tokens(folder / "e.bin", 200, 2)
    (folder / "m.ptl").write_text(PROGRAM)
    (folder / "log.jsonl").unlink(missing_ok=True)
    if not (folder / "m").exists():
        call("ptlc", "m.ptl", "--plan", plan, "-O1", "--no-check", "-o", "m", cwd=folder)
    call(*launch, "./m", "--quiet", "--log", "log.jsonl", "--save", "w.safetensors", "--check-replicas", *more, cwd=folder)
    text = call(*launch, "./m", "sample", "--init", "w.safetensors", "--prompt", "1,2,5", "--tokens", "12", cwd=folder)
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    numbers = {f"{name} of step {line['step']}": value for line in lines if "loss" in line for name, value in line.items()
               if name not in ("ms", "tokens_s") and value is not None}
    return numbers, read_safetensors(folder / "w.safetensors"), text


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
    if found[2] != expected[2]:
        sys.exit(f"{plan}: expected to sample '{expected[2]}', found '{found[2]}'")
    print(f"ok   {plan}: {len(expected[0])} numbers, {len(expected[1])} weights, {found[2].strip()}")


def compare_processes(work):
    for plan, ranks in (("v", 2), ("parts", 4)):
        threads = run(work, plan)
        compare(plan, run(work, plan, launch=("mpirun", "-n", ranks)), threads, True)


def compare_plans(work):
    expected = run(work, "one")
    for name in ("size", "eval_loss", "eval_size", "eval_right"):
        if f"{name} of step 3" not in expected[0]:
            sys.exit(f"there is no {name} among {sorted(expected[0])}")
    for plan in ("two", "v", "three", "cube", "parts"):
        compare(plan, run(work, plan), expected, plan in ("two", "v", "three"))
    compare("halves", run(work, "halves"), run(work, "half"), True)
    # Two steps on one pipeline, two on another.
    late = {name: value for name, value in expected[0].items() if name.endswith((" 2", " 3"))}
    for first, then in (("two", "three"), ("three", "v"), ("v", "one")):
        for plan in (first, then):
            shutil.rmtree(work / plan / "saved")
        call("./m", "--quiet", "--steps", "2", cwd=work / first)
        found = run(work, then, "--resume", work / first / "saved")
        compare(f"{first}, then {then}", found, (late, *expected[1:]), True)


def main():
    work = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (compare_processes if "--processes" in sys.argv else compare_plans)(work)


if __name__ == "__main__":
    main()
