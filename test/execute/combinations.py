#!/usr/bin/env python3
"""Trains golden models on combinations of meshes, pipelines, recomputation and storage in parts, a row of a table each.

Usage: combinations.py WORKDIR [--every N] [--first N] [--ranks threads]
The rows are in Inputs/combinations.txt. Each is compared with the recorded run, as golden.py does it, with the program's own comparison
of replicas after each step; and, bit for bit, with the same mesh and micro-batches without pipeline, recomputation and storage in parts.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import shutil
import sys

import golden

SHARD = {"gpt": "batch: dp, heads: tp, ffn: tp, vocab: tp", "llama": "batch: dp, heads: tp, kv_heads: tp, ffn: tp, vocab: tp"}


class Row:
    """A line of the table."""

    def __init__(self, text):
        self.text = " ".join(text.split())
        self.model, mesh, self.sequence, self.zero, self.remat, self.schedule, micros, self.ranks = text.split()
        self.sizes = {axis: int(size) for axis, size in (part.split("=") for part in mesh.split(","))}
        self.micros = int(micros)
        self.case = golden.HERE / "golden" / self.model
        self.run = json.loads((self.case / "expected.json").read_text())

    def alone(self):
        """The row that this one must be equal to, bit for bit."""
        mesh = ",".join(f"{axis}={size}" for axis, size in self.sizes.items() if axis != "pp")
        return Row(f"{self.model} {mesh or 'pp=1'} {self.sequence} 0 - - {self.micros} threads")

    def options(self):
        kept = [rule for rule in SHARD[self.model.split("_")[0]].split(", ") if rule.split(": ")[1] in self.sizes]
        return argparse.Namespace(
            mesh=",".join(f"{axis}={size}" for axis, size in self.sizes.items()), microbatches=self.micros, reproducible=True,
            shard=", ".join(kept) + ("; shard seq: tp, between: blocks" if self.sequence == "yes" else ""),
            zero=f"{self.zero}, over: dp" if self.zero != "0" else "", remat=self.remat.strip("-"),
            pipeline=f"schedule: {self.schedule}" if self.schedule != "-" else "")

    def train(self, work):
        folder = work / "".join(letter if letter.isalnum() else "_" for letter in self.text)
        if not folder.exists():
            folder.mkdir(parents=True)
            golden.build(self.case, self.run, self.options(), folder, "--no-check")
            golden.train(self.case, folder, processes=golden.ranks(self.options().mesh) if self.ranks == "mpi" else 0)
        return folder


def check(row, work):
    """Whether a row is as it must be."""
    folder = row.train(work)
    bad = golden.compare(row.case, row.run, folder)
    alone = golden.everything(row.alone().train(work))
    found = golden.everything(folder)
    others = sorted(name for name in alone.keys() | found.keys() if alone.get(name) != found.get(name))
    print(f"{'FAIL' if others else 'ok  '} {len(others)} of {len(alone)} arrays and numbers differ from '{row.alone().text}': {others[:6]}")
    return not bad and not others


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first row taken")
    parser.add_argument("--ranks", choices=("threads", "mpi"), help="rows of this kind alone")
    options = parser.parse_args()
    lines = (golden.HERE / "Inputs" / "combinations.txt").read_text().splitlines()
    rows = [Row(line) for line in lines if line and line[0] != "#"]
    rows = [row for row in rows if options.ranks in (None, row.ranks)][options.first :: options.every]
    work = options.workdir.resolve() / "combinations"
    shutil.rmtree(work, ignore_errors=True)
    failed = []
    for row in rows:
        print(row.text, flush=True)
        try:
            good = check(row, work)
        except SystemExit as why:
            print(f"FAIL {why}")
            good = False
        if not good:
            failed.append(row.text)
    print(f"{len(failed)} of {len(rows)} rows failed", *failed, sep="\n")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
