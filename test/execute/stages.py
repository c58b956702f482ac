#!/usr/bin/env python3
"""Trains one model on several pipelines and compares them with each other and with one device, bit for bit.

Usage: stages.py CASE WORKDIR. CASE is a folder of test/execute/golden. Gradients of the first step, losses and norms of all steps, and
the weights after the last must be the same bits whatever the number of stages and the schedule.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import shutil
import sys

import golden

PLANS = [("dp=1", ""), ("pp=2", "schedule: gpipe"), ("pp=2", "schedule: one_f_one_b"), ("pp=4", "schedule: one_f_one_b"), ("pp=2", "schedule: zb_h1"),
         ("pp=2", "schedule: interleaved(2)"), ("pp=2", "schedule: zb_v")]


def train(case, run, kind, work, mesh, pipeline):
    """The bytes of all gradients of step 0 and of all weights, by name, and losses and norms."""
    folder = work / "".join(letter if letter.isalnum() else "_" for letter in f"{mesh} {pipeline}")
    folder.mkdir()
    options = argparse.Namespace(mesh=mesh, shard="batch: dp" if "dp" in mesh else "", microbatches=4, pipeline=pipeline, reproducible=True)
    (folder / "model.ptl").write_text(golden.program(case, run, options))
    golden.call("ptlc", "model.ptl", "--plan", "golden", *golden.sizes(kind, run), "--no-check", "-o", "model", cwd=folder)
    golden.call("./model", "--init", case / "init.safetensors", "--steps", "5", "--log", "log.jsonl", "--save", "final.safetensors", "--save-grads",
                "grads.safetensors", "--quiet", cwd=folder)
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    arrays = [(f"{kind} {name}", array.tobytes()) for kind in ("grads", "final")
              for name, array in golden.read_safetensors(folder / f"{kind}.safetensors").items()]
    return dict(arrays), [(line["loss"], line["grad_norm"]) for line in lines]


def main():
    case = golden.HERE / "golden" / sys.argv[1]
    run = json.loads((case / "expected.json").read_text())
    kind = sys.argv[1].split("_")[0]
    work = pathlib.Path(sys.argv[2]).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    expected = None
    failed = False
    for mesh, pipeline in PLANS:
        found = train(case, run, kind, work, mesh, pipeline)
        expected = expected or found
        others = [name for name in expected[0] if found[0].get(name) != expected[0][name]]
        good = not others and found[1] == expected[1]
        failed |= not good
        print(f"{'ok  ' if good else 'FAIL'} {mesh} {pipeline}: losses and norms {'equal' if found[1] == expected[1] else found[1]}, {len(others)} of {len(expected[0])} tensors differ: {others[:6]}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
