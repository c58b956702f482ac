#!/usr/bin/env python3
"""Counts the collectives of standard blocks, forward and backward, and compares them with what is known to be best.

Usage: blocks.py WORKDIR [NAME...]
Inputs/blocks/best.json has calls and bytes of each block by collective and axes, as an independent implementation found them:
4-byte elements, bytes that one rank receives with padded buffers, dp crossing slower links. Every block below must equal them.
A step of ours also takes the norm of all gradients, sums of one number over the axes that cut some, which are counted apart. Each
block is run on simulated ranks, too, and compared with one device.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent / "Inputs" / "blocks"
COLLECTIVE = re.compile(r"spmd\.(?:bucket_)?(all_reduce|all_gather|reduce_scatter|all_to_all|permute)\b(.*?) over @mesh \[([^\]]*)\](.*?) : (\S.*) -> (.*)$")
TENSOR = re.compile(r"tensor<((?:\d+x)*)(?:f32|i32|i64|i1)")
SIZES = {"batch": 8, "seq": 8, "embed": 8, "vocab": 16}

# Per block of best.json: file and options, and the stage that is looked at if it isn't spmd.
BLOCKS = {
    "mlp tp": ("mlp --plan tp",),
    "mlp dp": ("mlp --plan dp",),
    "mlp dp x tp": ("mlp --plan dp_tp",),
    "block tp (Megatron)": ("block --plan tp",),
    "2 blocks tp": ("block --plan tp -D layers=2",),
    "block tp + sequence parallel": ("block --plan tp_sp",),
    "block 2-D dp x tp": ("block --plan dp_tp",),
    "block 2-D dp x tp + sp": ("block --plan dp_tp_sp",),
    "embedding + loss, vocab-parallel, tied": ("embedding --plan vocab",),
    "embedding + loss, vocab-parallel, tied, ignore": ("embedding-ignore --plan vocab_dp",),
    "gpt 1 layer dp x tp": ("gpt --plan dp_tp",),
    "gpt 1 layer dp x tp + sp": ("gpt --plan dp_tp_sp",),
    "mlp fsdp storage": ("mlp --plan zero", "zero"),
    "block fsdp x tp storage": ("block --plan zero", "zero"),
    "2-D weights (embed x ffn)": ("mlp --plan weights",),
    "context parallel (seq over cp)": ("block --plan cp",),
    "gqa 4/2 heads tp=2": ("gqa --plan tp",),
    "gqa 4/2 heads tp=4, kv replicated": ("gqa --plan few",),
    "gqa 4/2 heads tp = (2, 2)": ("gqa --plan split",),
}


def elements(text):
    """The elements of each tensor in a list of types."""
    return [math.prod(int(size) for size in sizes.split("x") if size) for sizes in TENSOR.findall(text)]


def bytes_of(kind, group, inputs, outputs):
    """What one rank receives, in elements: sharding.md's formulas on local buffers."""
    if kind == "all_reduce":
        return sum(2 * (group - 1) * -(-n // group) for n in inputs)
    if kind == "all_gather":
        return (group - 1) * inputs[0]
    if kind == "reduce_scatter":
        return (group - 1) * outputs[0]
    if kind == "all_to_all":
        return (group - 1) * inputs[0] // group
    return inputs[0]


def count(text):
    """{"all_reduce(tp)": [calls, bytes]} of @step, and the same of the norm of gradients."""
    mesh = {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", re.search(r"spmd\.mesh @mesh \[(.*?)\]", text)[1])}
    step = text[text.index("func.func @step"):]
    found, norm = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
    for match in filter(None, map(COLLECTIVE.search, step.splitlines())):
        kind, _, axes, attributes, inputs, outputs = match.groups()
        axes = axes.replace(" ", "")
        group = math.prod(mesh[axis] for axis in axes.split(","))
        of_norm = "the norm is of all gradients" in attributes and kind == "all_reduce" and elements(inputs) in ([1], [12])
        entry = (norm if of_norm else found)[f"{kind}({axes})"]
        entry[0] += 1
        entry[1] += 4 * bytes_of(kind, group, elements(inputs), elements(outputs))
    return dict(found), dict(norm)


def write_data(work):
    rng = numpy.random.default_rng(0)
    shape = SIZES["batch"], SIZES["seq"]
    for name in ("x", "t"):
        numpy.save(work / f"{name}.npy", rng.normal(size=(*shape, SIZES["embed"])).astype(numpy.float32))
    for name in ("tokens", "targets"):
        numpy.save(work / f"{name}.npy", rng.integers(0, SIZES["vocab"], shape).astype(numpy.int32))


def compile_to(stage, source, work):
    """Writes STAGE.mlir; returns the errors, "" if there are none."""
    name, *options = source.split()
    done = subprocess.run(["ptlc", HERE / f"{name}.ptl", *options, f"--emit={stage}", "-o", work / f"{stage}.mlir"], capture_output=True, text=True)
    return done.stderr or "no message" if done.returncode else ""


def run(source, work):
    """Compares the step on simulated ranks with one device; returns what went wrong."""
    errors = compile_to("train", source, work)
    if errors:
        return errors[:1000]
    fields = ("tokens", "targets") if source.startswith(("gpt", "embedding")) else ("x", "t")
    command = ["ptl-run", "--compare", "--f64", "--function=step", *(f"--data={field}={field}.npy" for field in fields), "train.mlir", "spmd.mlir"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[:1000]


def check(name, best, work):
    """Prints one block's line; returns whether it holds."""
    source, stage = (*BLOCKS[name], "spmd")[:2]
    errors = compile_to("spmd", source, work) or compile_to(stage, source, work)
    if errors:
        print(f"FAIL {name}: {errors[:1000]}")
        return False
    found, norm = count((work / f"{stage}.mlir").read_text())
    problem = run(source, work)
    # Buckets take fewer calls for the same bytes.
    good = found.keys() == best.keys() and not problem and all(
        found[kind][1] == best[kind][1] and (found[kind][0] == best[kind][0] or stage == "zero" and found[kind][0] < best[kind][0]) for kind in best)
    calls, total = (sum(numbers) for numbers in zip(*found.values()))
    print(f"{'ok  ' if good else 'FAIL'} {name}: {calls} collectives, {total} bytes; norm {norm}")
    if not good:
        print(f"     found {found}\n     not   {best}\n{problem}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.workdir.mkdir(parents=True, exist_ok=True)
    write_data(options.workdir)
    best = json.loads((HERE / "best.json").read_text())
    names = options.names or list(best)
    results = [check(name, best[name], options.workdir) for name in names]
    print(f"{sum(results)} of {len(results)} blocks")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
