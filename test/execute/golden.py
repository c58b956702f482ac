#!/usr/bin/env python3
"""Compiles a golden model for a mesh, trains it, and compares every step with the recorded run.

Usage: golden.py CASE WORKDIR [--mesh dp=2] [--microbatches 2]
CASE is a folder of test/execute/golden, whose README says what must agree and how closely: loss and gradient norm of each
step, gradients of the first, weights after the last. The program itself compares its ranks' weights bit for bit after each.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
LOSS, NORM, WEIGHT, GRADIENT = 3e-6, 1e-5, 2e-5, 1e-5
# Open MPI refuses root and more processes than cores unless told; other MPIs don't read these.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
MODELS = {"gpt": "GPT", "llama": "Llama", "moe": "MoE", "mlp": "Digits"}


def read_safetensors(path):
    """Returns the tensors of a file by name."""
    blob = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", blob[:8])
    header, data = json.loads(blob[8 : 8 + size]), blob[8 + size :]
    header.pop("__metadata__", None)
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            sys.exit(f"{path}: '{name}' is {entry['dtype']}, expected F32")
    return {name: numpy.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            for name, entry in header.items()}


def program(case, run, options):
    """The text of the whole program: the model, how it is trained, and its plan."""
    kind = case.name.split("_")[0]
    optimizer, schedule = run["optimizer"], ""
    if kind == "mlp":
        data = f'npy(features: "{case}/features.npy", labels: "{case}/labels.npy"), tail: wrap'
    else:
        data = f'tokens("{case}/train.bin")'
    clip = f"  clip {run['clip']}\n" if run["clip"] else ""
    if optimizer["name"] == "sgd":
        rule = f"sgd(lr: {optimizer['lr']}, momentum: {optimizer['momentum']})"
    else:
        rule = "adamw(lr: {lr}, betas: ({betas[0]}, {betas[1]}), eps: {eps}, weight_decay: {weight_decay})".format(**optimizer)
        schedule = "  schedule warmup_cosine(warmup: {warmup}, total: {total}, min_lr: {min_lr})\n".format(**optimizer)
    mesh = ", ".join(f"{axis} = {size}" for axis, size in (part.split("=") for part in options.mesh.split(",")))
    rules = [f"shard {options.shard}"] if options.shard else []
    rules += [f"microbatches {options.microbatches}"] if options.microbatches > 1 else []
    given = lambda name: getattr(options, name, "")
    rules += [f"pipeline blocks, over: pp, {options.pipeline}"] if given("pipeline") else []
    rules += [f"zero {options.zero}"] if given("zero") else []
    rules += [f"remat {options.remat}"] if given("remat") else []
    rules += [f"precision {options.precision}"] if given("precision") else []
    rules += ["reproducible"] if given("reproducible") else []
    rules += [f"bucket {options.bucket}"] if given("bucket") else []
    rules += ["overlap"] if given("overlap") else []
    return (f"{(HERE / 'Inputs' / (kind + '.ptl')).read_text()}\n"
            f"train {MODELS[kind]} {{\n  data {data}\n  batch {run['batch']}\n  steps {run['steps']}\n  optimizer {rule}\n{schedule}{clip}}}\n\n"
            f"plan golden on mesh({mesh}) {{ {'; '.join(rules)} }}\n")


def sizes(kind, run):
    """The -D that give the model of this run its sizes."""
    names = () if kind == "mlp" else ("vocab", "seq", "embed", "heads", "kv_heads", "ffn", "layers")
    return [f"-D{name}={run[name]}" for name in names if name in run and not (kind == "gpt" and name == "ffn")]


def call(*command, cwd):
    """Runs a command that must succeed; returns what it printed."""
    command = [str(word) for word in command]
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=ENVIRONMENT)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def build(case, run, options, folder, *more):
    """Writes `model.ptl` into the folder and compiles it to `model`."""
    (folder / "model.ptl").write_text(program(case, run, options))
    return call("ptlc", "model.ptl", "--plan", "golden", *sizes(case.name.split("_")[0], run), *more, "-o", "model", cwd=folder)


def ranks(mesh):
    return math.prod(int(part.split("=")[1]) for part in mesh.split(","))


def train(case, folder, *more, processes=0):
    """Trains from the recorded weights, and leaves log.jsonl, final.safetensors and grads.safetensors in the folder. Ranks are threads,
    or as many processes as said."""
    launch = ["mpirun", "-n", processes] if processes else []
    return call(*launch, "./model", "--init", case / "init.safetensors", "--log", "log.jsonl", "--save", "final.safetensors", "--save-grads",
                "grads.safetensors", "--check-replicas", "--quiet", *more, cwd=folder)


def everything(folder):
    """What a run left, by name: numbers of each step, bytes of gradients and weights."""
    found = {f"{kind} {name}": array.tobytes() for kind in ("grads", "final")
             for name, array in read_safetensors(folder / f"{kind}.safetensors").items()}
    for text in (folder / "log.jsonl").read_text().splitlines():
        line = json.loads(text)
        found |= {f"{name} of step {line.get('step')}": value for name, value in line.items() if name not in ("ms", "tokens_s")}
    return found


def worst_relative(found, expected):
    found, expected = numpy.asarray(found, "f8"), numpy.asarray(expected, "f8")
    return numpy.abs(found - expected) / numpy.abs(expected)


class Check:
    """Collects what differs by more than it may."""

    def __init__(self):
        self.failed = False

    def at_most(self, what, errors, limit):
        errors = numpy.asarray(errors)
        place = int(numpy.argmax(numpy.nan_to_num(errors, nan=numpy.inf)))
        worst = errors.flat[place]
        good = bool(worst <= limit)
        self.failed |= not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: {worst:.2e} at {place}, the limit is {limit:.0e}")


def compare_run(check, case, run, log, saved):
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    if [line["step"] for line in steps] != list(range(run["steps"])):
        sys.exit(f"expected a line for each of {run['steps']} steps, found {[line.get('step') for line in lines]}")
    loss = "ce" if "ce" in steps[0] else "loss"
    check.at_most("loss", worst_relative([line[loss] for line in steps], run["loss"]), LOSS)
    check.at_most("gradient norm", worst_relative([line["grad_norm"] for line in steps], run["grad_norm"]), NORM)
    expected = read_safetensors(case / "final.safetensors")
    if set(saved) != set(expected):
        sys.exit(f"other weights than expected: {sorted(set(saved) ^ set(expected))}")
    check.at_most("final weights", [numpy.abs(saved[name] - expected[name]).max() for name in sorted(expected)], WEIGHT)


def gradient_error(found, expected, largest):
    """Relative to the tensor's largest element. The bias of attention's keys has gradient zero (a softmax doesn't see it); what a
    run records there is rounding, which may be up to a tenth of the limit times the largest gradient of all."""
    scale = numpy.abs(expected).max()
    if scale < 1e-8 * largest:
        return numpy.abs(found).max() / (0.1 * largest)
    return numpy.abs(found - expected).max() / scale


def compare_gradients(check, case, found):
    expected = read_safetensors(case / "grad0.safetensors")
    if set(found) != set(expected):
        sys.exit(f"other gradients than expected: {sorted(set(found) ^ set(expected))}")
    names = sorted(expected)
    # The gradient of a key's bias is zero but for rounding: attention doesn't see what all keys share.
    largest = {name: numpy.abs(expected[name]).max() for name in names}
    least = 1e-5 * max(largest.values())
    errors = [numpy.abs(found[name] - expected[name]).max() / max(largest[name], least) for name in names]
    check.at_most("gradients of step 0", errors, GRADIENT)


def compare(case, run, folder):
    """Compares what a run left with what was recorded; returns whether it differs by more than it may."""
    check = Check()
    compare_run(check, case, run, folder / "log.jsonl", read_safetensors(folder / "final.safetensors"))
    compare_gradients(check, case, read_safetensors(folder / "grads.safetensors"))
    return check.failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--mesh", default="dp=1")
    parser.add_argument("--shard", default="batch: dp", help="what the plan cuts (default: %(default)s)")
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--pipeline", default="", help="stages over pp, such as 'schedule: gpipe'")
    parser.add_argument("--zero", default="", help="what is stored in parts: '1, over: dp'")
    parser.add_argument("--reproducible", action="store_true")
    options = parser.parse_args()
    case = HERE / "golden" / options.case
    run = json.loads((case / "expected.json").read_text())
    variant = "".join(letter if letter.isalnum() else "_" for letter in options.pipeline + options.zero)
    work = options.workdir.resolve() / f"{options.case}-{options.mesh}-{options.microbatches}-{variant}"
    # What an earlier run left must not stand in for what this one should write.
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    build(case, run, options, work)
    train(case, work)
    if ranks(options.mesh) > 1:
        call("./model", "--init", case / "init.safetensors", "--check", "2", cwd=work)
    return compare(case, run, work)


if __name__ == "__main__":
    sys.exit(main())
