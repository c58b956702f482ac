#!/usr/bin/env python3
"""Trains programs in bf16 and holds them against f32, and against pen and paper.

Usage: bf16.py WORKDIR CHECK...
  loss            gpt_tiny takes 200 steps on one device and on meshes; the loss is that of f32 within 2 %
  accumulators    512 micro-batches that each give gradient 1 add up to 512, which sums in bf16 don't (they end at 256)
  masters         100 updates of 0.001 move 1.0 to 0.9, which a weight in bf16 alone doesn't (it stays 1.0)
  loaded          weights that are loaded and trained with rate 0 are written as they were, to the bit
  memory          bytes per parameter: 16 with one micro-batch, 18 with several; f32 takes 16
  parts           precision in: some parts and weights only
  zero            state bytes of each of 4 ranks that train a GPT of 10M parameters fall as planned, and so does what is resident
"""
# SPDX-License-Identifier: Apache-2.0
import json
import math
import pathlib
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from golden import call, read_safetensors  # noqa: E402
from program_data import write_safetensors  # noqa: E402

GOLDEN = HERE / "golden" / "gpt_tiny"
GPT = (HERE / "Inputs" / "gpt.ptl").read_text()
STEPS, LOSS = 200, 0.02


def fail(text):
    sys.exit(f"FAIL {text}")


def compare(what, found, expected, limit=0.0):
    worst = float(numpy.abs(numpy.asarray(found, "f8") - numpy.asarray(expected, "f8")).max())
    if not worst <= limit:
        fail(f"{what}: found {found}, expected {expected}")
    print(f"ok   {what}: differs by {worst:.2e}, the limit is {limit:.0e}")


class Run:
    """A program, compiled and trained in a folder of its own."""

    def __init__(self, work, name, text, *options, defines=(), checks=False):
        self.folder = work / name
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "model.ptl").write_text(text)
        self.report = json.loads(call("ptlc", "model.ptl", "--plan", "p", *defines, *([] if checks else ["--no-check"]), "-o", "model", "--report",
                                      "--json", cwd=self.folder))
        call("./model", "--log", "log.jsonl", "--save", "final.safetensors", "--save-grads", "grads.safetensors", "--check-replicas", "--quiet",
             *options, cwd=self.folder)
        lines = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        self.losses = [line["loss"] for line in lines if "loss" in line]

    def weights(self):
        return read_safetensors(self.folder / "final.safetensors")

    def gradients(self):
        return read_safetensors(self.folder / "grads.safetensors")


def gpt(plan, mesh="dp = 1", steps=STEPS):
    """gpt_tiny as it was recorded, with a longer schedule."""
    return (f'{GPT}\ntrain GPT {{ data tokens("{GOLDEN}/train.bin"); batch 16; steps {steps}; clip 1.0\n'
            f"  optimizer adamw(lr: 1e-3, betas: (0.9, 0.95), eps: 1e-8, weight_decay: 0.1)\n"
            f"  schedule warmup_cosine(warmup: 5, total: {STEPS}, min_lr: 1e-4) }}\n"
            f"plan p on mesh({mesh}) {{ {plan} }}\n")


def end_of(losses):
    return float(numpy.mean(losses[-20:]))


def check_loss(work):
    wide = end_of(Run(work, "f32", gpt("shard batch: dp")).losses)
    shards = {"dp = 1": "batch: dp", "dp = 2": "batch: dp", "tp = 2": "heads: tp, ffn: tp, vocab: tp"}
    for number, (mesh, shard) in enumerate(shards.items()):
        micro = "; microbatches 4" if mesh == "dp = 2" else ""
        run = Run(work, f"bf16-{number}", gpt(f"precision bf16; shard {shard}{micro}", mesh), checks=True)
        compare(f"loss of the last 20 of {STEPS} steps on {mesh}{micro}, of f32", end_of(run.losses) / wide, 1, LOSS)
        if mesh != "dp = 1":
            call("./model", "--check", "2", "--quiet", cwd=run.folder)


LINEAR = """dim n = 4
model M {{
  weight w: [n] = ones
  fn loss(x: [batch, n]) = {loss}
}}
train M {{ data npy(x: "x.npy"), tail: wrap; batch {batch}; steps {steps}; optimizer sgd(lr: {rate}) }}
plan p on mesh({mesh}) {{ precision bf16; {plan} }}
"""


def linear(work, name, batch, steps, rate, mesh, plan, loss="sum(x * w)"):
    folder = work / name
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "x.npy", numpy.ones((batch, 4), "f4"))
    return Run(work, name, LINEAR.format(batch=batch, steps=steps, rate=rate, mesh=mesh, plan=plan, loss=loss))


def check_accumulators(work):
    for mesh, plan, batch in (("dp = 1", "", 512), ("dp = 2", "shard batch: dp; ", 1024)):
        # Each rank's micro-batch gives 1 in either case.
        run = linear(work, f"sums-{batch}", batch, 1, 0.0, mesh, f"{plan}microbatches 512")
        compare(f"gradient of 512 micro-batches on {mesh}", run.gradients()["w"], batch)


def check_masters(work):
    run = linear(work, "masters", 1, 100, 0.001, "dp = 1", "", "sum(x * w)")
    compare("100 steps of 0.001 from 1.0", run.weights()["w"], 0.9, 1e-5)


def check_loaded(work):
    weights = {"w": numpy.array([1 / 3, -7.0001, 1e-30, 65537], "f4")}
    folder = work / "loaded"
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "x.npy", numpy.ones((2, 4), "f4"))
    write_safetensors(folder / "start.safetensors", weights)
    for mesh in ("dp = 1", "dp = 2"):
        run = Run(work, "loaded", LINEAR.format(batch=2, steps=3, rate=0.0, mesh=mesh, plan="shard batch: dp" if "2" in mesh else "",
                                                loss="sum(x * w)"), "--init", "start.safetensors")
        compare(f"weights after steps of rate 0 on {mesh}", run.weights()["w"].view("i4"), weights["w"].view("i4"))


def bytes_per_parameter(report):
    """Of masters, copies, gradients and states on one rank, without the padding of rows."""
    def size(place):
        return place["rows"] * place["cols"] * (2 if place.get("type") == "bf16" else 4)

    weights = report["weights"]
    places = [weight[kind] for weight in weights for kind in ("layout", "copy", "grad") if kind in weight]
    places += [state["layout"] for weight in weights for state in weight["states"]]
    return sum(map(size, places)) / sum(size(weight["layout"]) / 4 for weight in weights)


def check_memory(work):
    work.mkdir(parents=True, exist_ok=True)
    for plan, expected in (("precision bf16", 16), ("precision bf16; microbatches 2", 18), ("", 16)):
        (work / "memory.ptl").write_text(gpt(plan, steps=1))
        report = json.loads(call("ptlc", "memory.ptl", "--plan", "p", "--report", "--json", cwd=work))
        compare(f"bytes per parameter, '{plan}'", bytes_per_parameter(report), expected)


def check_parts(work):
    wide = Run(work, "parts-f32", gpt("shard batch: dp", "dp = 2", steps=5))
    for name, plan in (("wide", "precision bf16; precision f32, in: (blocks.0.attn, wte)"), ("narrow", "precision bf16, in: (blocks.mlp, ln_f)")):
        run = Run(work, f"parts-{name}", gpt(f"shard batch: dp; {plan}", "dp = 2", steps=5), checks=True)
        compare(f"losses of 5 steps, '{plan}', of f32", numpy.array(run.losses) / wide.losses, 1, 2e-3)
        call("./model", "--check", "2", "--quiet", cwd=run.folder)


RANKS = 4
# Rows of these sizes have no padding.
TEN_MILLION = ("-Dembed=304", "-Dheads=4", "-Dlayers=9")


def check_zero(work):
    laws = {0: (16, 18), 1: (4 + 12 / RANKS, 6 + 12 / RANKS), 2: (2 + 14 / RANKS, 2 + 16 / RANKS), 3: (16 / RANKS, 18 / RANKS)}
    plan = "shard batch: dp; precision bf16; zero {}, over: dp"
    whole = None
    for level, (law, law_of_several) in laws.items():
        run = Run(work, f"zero-{level}", gpt(plan.format(level), f"dp = {RANKS}", steps=1), "--report", "report.json", defines=TEN_MILLION)
        parameters = sum(math.prod(weight["shape"]) for weight in run.report["weights"])
        report = json.loads((run.folder / "report.json").read_text())
        state = lambda memory: (memory["weights"] + memory["gradients"] + memory["states"]) / parameters
        compare(f"bytes of state per parameter of {parameters}, level {level}, of {law}", state(report["compiled"]) / law, 1, 0.02)
        if level == 3:
            # All ranks together receive a bucket RANKS - 1 times.
            largest = max(each["bytes"] // each["calls"] for each in report["collectives"] if each["kind"] == "all_gather" and each["calls"]) // (RANKS - 1)
            print(f"     and at most two gathered buckets of {largest} bytes")
        # What the plan saves isn't resident: all ranks are in one process.
        whole = whole or report
        planned, saved = RANKS * (whole["arena_bytes"] - report["arena_bytes"]), whole["peak_resident_bytes"] - report["peak_resident_bytes"]
        compare(f"resident bytes saved, {saved}, of {planned} planned", saved / max(planned, 1), 1 if planned else 0, 0.05)
        several = gpt(plan.format(level) + "; microbatches 2", f"dp = {RANKS}", steps=1)
        (run.folder / "several.ptl").write_text(several)
        text = call("ptlc", "several.ptl", "--plan", "p", *TEN_MILLION, "--report", "--json", cwd=run.folder)
        compare(f"the same with two micro-batches, of {law_of_several}", state(json.loads(text)["report"]) / law_of_several, 1, 0.02)


def main():
    work = pathlib.Path(sys.argv[1]).resolve()
    checks = {name[6:]: check for name, check in globals().items() if name.startswith("check_")}
    for name in sys.argv[2:]:
        checks[name](work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
