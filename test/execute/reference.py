#!/usr/bin/env python3
"""Executes a stage of a golden model in the reference interpreter and compares every step with the recorded run.

Usage: reference.py CASE WORKDIR [--stage train] [--steps N] [--mesh dp=2] [--microbatches 2]
The model, its training and the limits are those of golden.py; nothing is compiled to machine code.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import golden  # noqa: E402


def parse_step(line):
    """"step 0 loss 5.5 grad_norm 1.2" as a dictionary."""
    words = line.split()
    return {name: float(value) for name, value in zip(words[::2], words[1::2])}


def data_options(case, kind):
    if kind == "mlp":
        return [f"--data=features={case}/features.npy", f"--data=labels={case}/labels.npy"]
    return [f"--data=tokens={case}/train.bin"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--stage", default="train")
    parser.add_argument("--steps", type=int, default=0, help="of the run (default: all)")
    parser.add_argument("--mesh", default="dp=1")
    parser.add_argument("--shard", default="batch: dp")
    parser.add_argument("--microbatches", type=int, default=1)
    options = parser.parse_args()
    options.gradients = False
    case = HERE / "golden" / options.case
    run = json.loads((case / "expected.json").read_text())
    kind = options.case.split("_")[0]
    steps = options.steps or run["steps"]
    work = options.workdir.resolve() / f"{options.case}-{options.stage}-{options.mesh}-{options.microbatches}"
    work.mkdir(parents=True, exist_ok=True)
    (work / "model.ptl").write_text(golden.program(case, run, options))
    golden.call("ptlc", "model.ptl", "--plan", "golden", *golden.sizes(kind, run), f"--emit={options.stage}", "-o", "stage.mlir",
                cwd=work)
    text = golden.call("ptl-run", "stage.mlir", "--weights", case / "init.safetensors", *data_options(case, kind), "--steps", steps,
                       "--save-results", "results.safetensors", "--save-grads", "gradients.safetensors", cwd=work)
    lines = [parse_step(line) for line in text.splitlines() if line.startswith("step ")]
    if [line["step"] for line in lines] != list(range(steps)):
        sys.exit(f"expected {steps} steps, found {len(lines)}")
    check = golden.Check()
    loss = "ce" if "ce" in lines[0] else "loss"
    check.at_most("loss", golden.worst_relative([line[loss] for line in lines], run["loss"][:steps]), golden.LOSS)
    check.at_most("gradient norm", golden.worst_relative([line["grad_norm"] for line in lines], run["grad_norm"][:steps]),
                  golden.NORM)
    gradients = golden.read_safetensors(work / "gradients.safetensors")
    if gradients:  # stages for several devices mark none that is whole
        golden.compare_gradients(check, case, gradients)
    if steps == run["steps"]:
        saved, expected = (golden.read_safetensors(path) for path in (work / "results.safetensors", case / "final.safetensors"))
        check.at_most("final weights", [numpy.abs(saved[name] - expected[name]).max() for name in sorted(expected)],
                      golden.WEIGHT)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
