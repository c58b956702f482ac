#!/usr/bin/env python3
"""Trains whole programs on weights and data made from their names, and holds every number against another way to get it.

Usage: programs.py WORKDIR NAME... [--mesh dp=2] [--check loss reference gradients passes] [--directions N]
NAME is an entry of Inputs/programs.json, which holds its sizes and the first loss by an evaluator of the language in numpy
that knows nothing of the compiler, or the recorded run `golden/NAME`. The checks:
  loss        three steps of the executable, on one rank and on the mesh: the first loss is the one on record, the others
              agree, and collectives move what was predicted (recorded runs have tests of their own for this)
  reference   the executable's first step against the interpreter's: loss, gradient norm, gradients, weights
  gradients   the training step's gradients against slopes of the loss, in double precision, N directions per weight; of a
              recorded run's model in smaller sizes
  passes      the program before and after each pass on the mesh, in double precision (check_each.py)
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import golden  # noqa: E402
import program_data  # noqa: E402
import reference  # noqa: E402

PROGRAMS = HERE.parent / "lang" / "Parse" / "Inputs" / "programs"
STEPS, LIMIT = 3, 1e-5
SMALL = {"vocab": 19, "seq": 6, "embed": 12, "heads": 6, "kv_heads": 2, "ffn": 10, "layers": 2, "batch": 3}


class Program:
    """A program with its inputs in a folder of its own."""

    def __init__(self, name, record, work):
        self.record, self.work = record, work / name
        self.work.mkdir(parents=True, exist_ok=True)
        program_data.write_inputs(self.work, record)
        self.source = [PROGRAMS / f"{name}.ptl", *(f"-D{key}={value}" for key, value in record["define"].items())]
        self.weights, self.built = "weights.safetensors", set()

    def data_options(self):
        """Each field of the first batch as a file, for the interpreter."""
        fields = dict(self.record["fields"])
        for name, spec in self.record["files"].items():
            if "tokens" in spec:
                stream = program_data.stream(name, spec)
                numpy.save(self.work / "tokens.npy", stream[:-1].reshape(-1, spec["seq"]))
                numpy.save(self.work / "targets.npy", stream[1:].reshape(-1, spec["seq"]))
                fields |= {"tokens": "tokens.npy", "targets": "targets.npy"}
        return [f"--data={field}={file}" for field, file in fields.items()]

    def slope_source(self):
        """What to compile, and the inputs, to compare gradients with slopes."""
        return self.source, ["--weights", self.weights, *self.data_options()]

    def call(self, *command):
        return golden.call(*command, cwd=self.work)

    def read(self, name):
        return golden.read_safetensors(self.work / name)


class Golden(Program):
    """The first steps of a recorded run."""

    def __init__(self, name, work):  # pylint: disable=super-init-not-called
        self.case, self.kind = HERE / "golden" / name, name.split("_")[0]
        self.work, self.built = work / name, set()
        self.work.mkdir(parents=True, exist_ok=True)
        self.run = json.loads((self.case / "expected.json").read_text())
        self.source = self.write("model.ptl", self.run)
        self.weights = self.case / "init.safetensors"

    def write(self, file, run):
        options = argparse.Namespace(shard="batch: dp", mesh="dp=1", microbatches=1)
        (self.work / file).write_text(golden.program(self.case, run, options))
        return [file, *golden.sizes(self.kind, run)]

    def data_options(self):
        return reference.data_options(self.case, self.kind)

    def slope_source(self):
        small = {key: value for key, value in SMALL.items() if key in self.run and self.kind != "mlp"}
        return self.write("small.ptl", self.run | small), []


def check_traffic(text, mesh):
    """Each collective moved what the compiler predicted."""
    counters = re.findall(r"(\d+) bytes between ranks, ([\d.]+) predicted", text)
    if bool(counters) != (mesh != "dp=1"):
        sys.exit(f"{mesh}: {len(counters)} collectives counted\n{text}")
    for counted, predicted in counters:
        if abs(int(counted) - float(predicted)) > 0.5:
            sys.exit(f"{mesh}: a collective moved other bytes than predicted\n{text}")


def train(program, mesh, steps):
    """The lines of the log."""
    if mesh not in program.built:
        program.call("ptlc", *program.source, "--mesh", mesh, "--no-check", "-o", f"model-{mesh}")
        program.built.add(mesh)
    log = program.work / "log.jsonl"
    for name in (log, "saved.safetensors", "gradients.safetensors"):
        (program.work / name).unlink(missing_ok=True)
    text = program.call(f"./model-{mesh}", "--init", program.weights, "--steps", steps, "--log", log, "--save",
                        "saved.safetensors", "--save-grads", "gradients.safetensors", "--check-replicas", "--counters", "--quiet")
    check_traffic(text, mesh)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines = [line for line in lines if "loss" in line and "grad_norm" in line]
    if [line["step"] for line in lines] != list(range(steps)) or not all(numpy.isfinite(line["loss"]) for line in lines):
        sys.exit(f"{mesh}: expected {steps} steps with finite losses, found {lines}")
    return lines


def check_loss(check, program, options):
    """What is on record is the loss and each metric."""
    runs = {mesh: train(program, mesh, STEPS) for mesh in ("dp=1", options.mesh)}
    expected = {"loss": program.record["loss"]} if "loss" in program.record else {}
    if not expected | program.record["metrics"] and "unrecorded" not in program.record:
        sys.exit("neither a loss nor a metric is on record")
    for mesh, lines in runs.items():
        for name, value in (expected | program.record["metrics"]).items():
            check.at_most(f"{mesh}: {name} on record", [abs(lines[0][name] - value) / max(abs(value), LIMIT)], LIMIT)
    one, many = ([line["loss"] for line in lines] for lines in runs.values())
    check.at_most(f"{options.mesh}: losses of one rank", golden.worst_relative(many, one), LIMIT)


def check_reference(check, program, _):
    """Errors are relative to a tensor's largest element. Where a gradient is zero but for rounding, Adam and Lion take a step of
    arbitrary direction; such an element says nothing about the optimizer."""
    (line,) = train(program, "dp=1", 1)
    program.call("ptlc", *program.source, "--emit=train", "-o", "train.mlir")
    text = program.call("ptl-run", "train.mlir", "--f64", "--weights", program.weights, *program.data_options(), "--steps", 1,
                        "--save-results", "reference.safetensors", "--save-grads", "reference-gradients.safetensors")
    (step,) = (reference.parse_step(line) for line in text.splitlines() if line.startswith("step "))
    for name in ("loss", "grad_norm"):
        check.at_most(name, golden.worst_relative([line[name]], [step[name]]), LIMIT)
    gradients, expected = program.read("gradients.safetensors"), program.read("reference-gradients.safetensors")
    if set(expected) != set(gradients):
        sys.exit(f"other gradients than expected: {sorted(set(expected) ^ set(gradients))}")
    most = max(numpy.abs(tensor).max() for tensor in expected.values())
    check.at_most("gradients", [golden.gradient_error(gradients[name], expected[name], most) for name in sorted(expected)], LIMIT)
    weights = program.read("saved.safetensors")
    # What is frozen is no result of a step; it must be as it was.
    saved = golden.read_safetensors(program.work / program.weights) | program.read("reference.safetensors")
    errors = []
    for name in sorted(weights):
        error = numpy.abs(weights[name] - saved[name])
        if name in expected:
            floor = max(1e-4 * numpy.abs(expected[name]).max(), 1e-5 * most)
            error = numpy.where(numpy.abs(expected[name]) < floor, 0, error)
        errors.append(error.max() / max(numpy.abs(saved[name]).max(), LIMIT))
    check.at_most("weights after a step", errors, LIMIT)


def check_gradients(check, program, options):
    source, inputs = program.slope_source()
    for stage in ("flat", "train"):
        program.call("ptlc", *source, f"--emit={stage}", "-o", f"{stage}.mlir")
    result = subprocess.run(["ptl-run", "--check-gradients", "flat.mlir", "train.mlir", *map(str, inputs), "--directions",
                             str(options.directions)], cwd=program.work, capture_output=True, text=True)
    print("\n".join(line[:300] for line in (result.stdout + result.stderr).splitlines()[:20]))
    counts = re.search(r"gradients of (\d+) weights, (\d+) directions checked", result.stdout)
    if result.returncode or not counts or int(counts[2]) != int(counts[1]) * options.directions:
        sys.exit(f"expected {options.directions} right directions for each weight")


def check_passes(_, program, options):
    source, _ = program.slope_source()
    dumps = program.work / f"passes-{options.mesh}"
    shutil.rmtree(dumps, ignore_errors=True)
    program.call("ptlc", *source, "--mesh", options.mesh, "--emit=memory", f"--dump-passes={dumps}", "-o", "memory.mlir")
    program.call(sys.executable, HERE / "check_each.py", dumps, "--directions", 0)


def main():
    checks = {"loss": check_loss, "reference": check_reference, "gradients": check_gradients, "passes": check_passes}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--mesh", default="dp=2")
    parser.add_argument("--check", nargs="+", choices=checks, default=["loss"])
    parser.add_argument("--directions", type=int, default=20)
    options = parser.parse_args()
    records = json.loads((HERE / "Inputs" / "programs.json").read_text())
    check = golden.Check()
    for name in options.names:
        work = options.workdir.resolve()
        program = Program(name, records[name], work) if name in records else Golden(name, work)
        for kind in options.check:
            began = time.monotonic()
            print(f"-- {name}: {kind}", flush=True)
            try:
                checks[kind](check, program, options)
            except SystemExit as failure:
                print(f"FAIL {failure}")
                check.failed = True
            print(f"   {time.monotonic() - began:.1f} s", flush=True)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
