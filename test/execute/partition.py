#!/usr/bin/env python3
"""Cuts every function of a module in many ways and holds the result against the whole, in ptl-run.

Usage: partition.py MODULE.mlir WORKDIR --dims a,b,c [--passes "--p --q"]
The module has no plan; each dimension of --dims is cut over 2, 3 and 2x2 ranks, one after another and then each pair of
neighbours over a 2x2 mesh. Padding is NaN in ptl-run, so a mask that is missing shows.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import pathlib
import subprocess
import sys

PASSES = "--shard-propagate-shardings --shard-partition"


def plan(mesh, shards):
    """The module attribute of a plan, as the importer writes it."""
    axes = ", ".join(f'{{name = "{axis}", size = {size} : i64}}' for axis, size in mesh.items())
    rules = ", ".join('{{dim = "{0}", dims = ["{0}"], axes = [{1}], line = "plan.ptl:1:1"}}'.format(dim, ", ".join(f'"{axis}"' for axis in cut))
                      for dim, cut in shards)
    return f"module attributes {{ptl.plan = {{mesh = [{axes}], shard = [{rules}], microbatches = 1 : i64}}}} {{\n"


def plans(dims):
    for dim in dims:
        yield {"x": 2}, [(dim, ["x"])]
        yield {"x": 3}, [(dim, ["x"])]
        yield {"x": 2, "y": 2}, [(dim, ["x", "y"])]
    for first, second in zip(dims, dims[1:]):
        yield {"x": 2, "y": 2}, [(first, ["x"]), (second, ["y"])]


def attempt(text, passes, work):
    """Returns what went wrong, or an empty text."""
    (work / "whole.mlir").write_text(text)
    cut = subprocess.run(["ptl-opt", *passes.split(), "whole.mlir", "-o", "cut.mlir"], cwd=work, capture_output=True, text=True)
    if cut.returncode:
        return cut.stderr[:2000]
    run = subprocess.run(["ptl-run", "--compare", "--all", "--f64", "whole.mlir", "cut.mlir"], cwd=work, capture_output=True, text=True)
    lines = [line for line in (run.stdout + run.stderr).splitlines() if " equal: " not in line]
    return "\n".join(line[:300] for line in lines[:20]) if run.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--dims", required=True)
    parser.add_argument("--passes", default=PASSES)
    options = parser.parse_args()
    options.workdir.mkdir(parents=True, exist_ok=True)
    text = options.module.read_text()
    begin = text.index("func.func")  # aliases stand outside of the module
    failed = 0
    for mesh, shards in plans(options.dims.split(",")):
        problem = attempt(text[:begin] + plan(mesh, shards) + text[begin:] + "}\n", options.passes, options.workdir)
        name = " ".join(f"{dim}: {'x'.join(str(mesh[axis]) for axis in cut)}" for dim, cut in shards)
        print(f"{'FAIL' if problem else 'ok  '} {name}" + (f"\n{problem}" if problem else ""))
        failed += bool(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
