#!/usr/bin/env python3
"""Builds the training step of a loss for many meshes and micro-batches; all must compute what one device does at once.

Usage: steps.py LOSS.mlir WORKDIR --shard batch=dp[,ffn=tp] --mesh dp=2 dp=3 dp=2,tp=2 --microbatches 1 2 [--kernels]
The results of a step (weights, states, loss, norm, metrics) are compared in double precision by ptl-run, with padding that
is NaN; then the gradients of one device are held against slopes of the loss.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import pathlib
import re
import subprocess
import sys

STEP = ["--grad-build-step", "--canonicalize", "--cse"]
SHARD = ["--shard-propagate-shardings", "--shard-partition"]
KERNELS = ["--fuse-expand-rows", "--fuse-rows", "--fuse-outline-single",
           "--fuse-chunk-rows=threshold=200 min-rows=1", "--memory-plan-buffers"]
OPTIMIZER = ('{{kind = "adamw", weights = [{0}], lr = 0.01 : f64, beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, '
             "weight_decay = 0.1 : f64}}")


def module(text, mesh, rules, pieces):
    """The loss with the attributes that the importer would give its module."""
    begin = text.index("func.func")
    weights = ", ".join(f'"{path}"' for path in re.findall(r'"weight", ptl.path = "([^"]+)"', text))
    batch = re.search(r"!ids = tensor<(\d+)x", text).group(1)
    axes = ", ".join(f'{{name = "{axis}", size = {size} : i64}}' for axis, size in mesh.items())
    shards = ", ".join(f'{{dim = "{dim}", dims = ["{dim}"], axes = ["{axis}"], line = "p.ptl:1:1"}}'
                       for dim, axis in rules.items() if axis in mesh)
    attributes = (f"ptl.train = {{batch = {batch} : i64, seed = 7 : i64, clip = 0.5 : f64, optimizers = [{OPTIMIZER.format(weights)}]}}, "
                  f"ptl.plan = {{mesh = [{axes}], shard = [{shards}], microbatches = {pieces} : i64}}")
    return f"{text[:begin]}module attributes {{{attributes}}} {{\n{text[begin:]}}}\n"


def run(*command, cwd):
    """Returns what a failing command said, or an empty text."""
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    lines = (result.stdout + result.stderr).splitlines()
    return "\n".join(line[:300] for line in lines[:12]) if result.returncode else ""


def build(text, mesh, rules, pieces, passes, name, work):
    (work / "loss.mlir").write_text(module(text, mesh, rules, pieces))
    return run("ptl-opt", "loss.mlir", *passes, "-o", name, cwd=work)


def pairs(text):
    return dict(part.split("=") for part in text.split(","))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--shard", type=pairs, required=True)
    parser.add_argument("--mesh", type=pairs, nargs="+", required=True)
    parser.add_argument("--microbatches", type=int, nargs="+", default=[1])
    parser.add_argument("--kernels", action="store_true", help="go on to kernels and buffers")
    options = parser.parse_args()
    work, text = options.workdir, options.module.read_text()
    work.mkdir(parents=True, exist_ok=True)
    problem = build(text, {}, {}, 1, STEP, "whole.mlir", work)
    problem = problem or run("ptl-run", "--check-gradients", "loss.mlir", "whole.mlir", "--directions", "3", cwd=work)
    print(f"{'FAIL' if problem else 'ok  '} gradients\n{problem}".strip())
    failed = bool(problem)
    for mesh in options.mesh:
        for pieces in options.microbatches:
            passes = STEP + SHARD + (KERNELS if options.kernels else [])
            problem = build(text, mesh, options.shard, pieces, passes, "cut.mlir", work)
            problem = problem or run("ptl-run", "--compare", "--f64", "whole.mlir", "cut.mlir", cwd=work)
            print(f"{'FAIL' if problem else 'ok  '} {mesh} micro-batches {pieces}\n{problem}".strip())
            failed |= bool(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
