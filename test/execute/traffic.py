#!/usr/bin/env python3
"""Compares the bytes of a step's collectives: by theory, in the compiler's report, and counted by the run.

Usage: traffic.py WORKDIR. M bytes of gradients (and of the loss and the metric, which are folded with them) need
2 M (n - 1) / n bytes per rank, whatever the number of micro-batches and the size of the buckets. Each weight has its
entry in the ledger, with the line of the operation that folds the batch.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import pathlib
import sys

import two_layers
from golden import call

METRIC = "right = mean(float(argmax(z, over: classes) == t))"
SCALARS = two_layers.SCALARS + 2  # the loss and the metric


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: expected {expected}, found {found}")


def check(work, dp, micro, bucket=""):
    plan = f"shard batch: dp; microbatches {micro}" + (f"; bucket {bucket}" if bucket else "")
    two_layers.write(work, f"dp = {dp}", plan, metric=METRIC)
    name = f"dp = {dp}, {micro} micro-batches, bucket '{bucket}'"
    report = json.loads(call("ptlc", "m.ptl", "--plan", "p", "--emit=memory", "--report", "--json", cwd=work))
    ledger = report["collectives"]
    theory = 2 * 4 * SCALARS * (dp - 1)  # of all ranks
    if abs(sum(entry["bytes"] for entry in ledger) * dp - theory) > 1e-6:
        sys.exit(f"{name}: report: {sum(entry['bytes'] for entry in ledger) * dp} bytes, expected {theory}")
    members = [member for entry in ledger for member in entry.get("members", [entry])]
    expect(f"{name}: entries of the ledger", len(members), 6)
    for entry in ledger:
        inside = entry.get("members", [entry])
        expect(f"{name}: elements of the members", sum(one["elements"] for one in inside), entry["elements"])
        if abs(sum(one["bytes"] for one in inside) - entry["bytes"]) > 1e-6:
            sys.exit(f"{name}: members' bytes don't add up to {entry['bytes']}")
    if any("sums over 'batch'" not in member["reason"] for member in members):
        sys.exit(f"{name}: an entry has no reason: {members}")
    lines = collections.Counter(member["line"].rsplit(":", 1)[0] for member in members)
    expect(f"{name}: lines", dict(lines), {"m.ptl:9": 4, "m.ptl:10": 1, "m.ptl:11": 1})

    call("ptlc", "m.ptl", "--plan", "p", "--no-check", "-o", "m", cwd=work)
    call("./m", "--quiet", "--report", "run.json", "--save", "w.safetensors", cwd=work)
    counted = json.loads((work / "run.json").read_text())
    counted = counted["collectives"]
    expect(f"{name}: collectives", len(counted), len(ledger))
    for entry, found in zip(ledger, counted):
        expect(f"{name}: calls of {entry['line']}", found["calls"], 3)
        expect(f"{name}: bytes of {entry['line']}", found["bytes"], round(entry["bytes"] * dp * 3))
    expect(f"{name}: bytes of the run", sum(entry["bytes"] for entry in counted), 3 * theory)
    return len(ledger), (work / "w.safetensors").read_bytes()


def main():
    work = pathlib.Path(sys.argv[1])
    for dp in (2, 3, 4):
        for micro in (1, 2):
            number, merged = check(work / f"dp{dp}-micro{micro}", dp, micro)
            expect(f"dp = {dp}: all of a step is one collective", number, 1)
    alone, weights = check(work / "alone", dp, micro, bucket="1 B")
    expect("a bucket of one byte: collectives", alone, 6)
    expect("a bucket changes no bit of the weights", weights == merged, True)
    print("traffic: ok")


if __name__ == "__main__":
    main()
