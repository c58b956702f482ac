#!/usr/bin/env python3
"""Traces real runs of pipelines and compares them with the tables of their schedules.

Usage: trace_order.py WORKDIR [--idle SIZES]. On two ranks (threads), for each schedule: what each rank did in each step, message by
message, is its list of instructions. With --idle "wide=512 layers=8 ...", which needs two free cores: the idle share of the run is
within ten points of that of `ptlc simulate` with the run's own times.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import csv
import json
import pathlib
import subprocess
import sys

import numpy

STEPS, POINTS = 3, 10
SCHEDULES = ["gpipe", "one_f_one_b", "interleaved(2)", "zb_h1", "zb_v", 'file("mine.csv")']
MODEL = """\
dim wide = 8, mid = 16, out = 3
const layers = 5, pieces = 4
module Layer {{
  weight up: [wide, mid] = normal(0.3)
  weight down: [mid, wide] = normal(0.3)
  fn forward(x: [batch, wide]) = x + relu(x @ up) @ down
}}
model Net {{
  blocks = repeat(layers) Layer()
  weight head: [wide, out] = normal(0.3)
  fn loss(x: [batch, wide], t: int[batch]) = cross_entropy(blocks(x) @ head, t, over: out)
}}
train Net {{ data npy(x: "x.npy", t: "t.npy"); batch 8; steps {steps}; optimizer sgd(lr: 0.1); clip 1.0 }}
plan p on mesh(pp = 2) {{ pipeline blocks, over: pp, schedule: {schedule}; microbatches pieces }}
"""
MINE = """\
ptl-schedule,1,compute,name=mine,p=2,v=1,m=4,place=0 1
F0.0,F0.1,F0.2,BW0.0,BW0.1,F0.3,BW0.2,BW0.3
F1.0,BW1.0,F1.1,BW1.1,F1.2,BW1.2,F1.3,BW1.3
"""
MESSAGES = {"SEND_A": "send", "SEND_G": "send", "RECV_A": "receive", "RECV_G": "receive"}
COMPUTE = ("F", "B", "W", "BW", "LOSS")


def call(work, *command):
    result = subprocess.run(command, cwd=work, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stdout}{result.stderr}")
    return result.stdout


def table_of(path):
    """For each rank its computations and messages, named as in traces."""
    ranks = {}
    lines = path.read_text().splitlines()
    for row in csv.DictReader(lines[1:] if lines[0].startswith("ptl-schedule") else lines):
        name = MESSAGES.get(row["op"], row["op"] if row["op"] in COMPUTE else None)
        if name:
            ranks.setdefault(int(row["rank"]), []).append(f"{name} s{row['stage']} m{row['mb']}")
    return ranks


def trace_of(path):
    ranks = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event.get("cat") == "instruction" and event["name"].split()[0] in (*MESSAGES.values(), *COMPUTE):
            ranks.setdefault(event["tid"], []).append((event["ts"], event["name"]))
    return {rank: [name for _, name in sorted(events, key=lambda event: event[0])] for rank, events in ranks.items()}


def check(work, schedule, defines):
    (work / "m.ptl").write_text(MODEL.format(schedule=schedule, steps=STEPS))
    plan = ("m.ptl", "--plan", "p", *defines)
    call(work, "ptlc", *plan, "--no-check", "-o", "m")
    call(work, "./m", "--quiet", "--trace", "trace.json")
    found = json.loads(call(work, "ptlc", "simulate", *plan, "--measured", "trace.json", "--table", "table.csv", "--json"))
    table, trace = table_of(work / "table.csv"), trace_of(work / "trace.json")
    if set(table) != {0, 1} or set(trace) != {0, 1}:
        sys.exit(f"{schedule}: ranks {sorted(table)} in the table, {sorted(trace)} in the trace")
    for rank in table:
        for number, (expected, name) in enumerate(zip(STEPS * table[rank], trace[rank])):
            if name != expected:
                sys.exit(f"{schedule}: rank {rank}, event {number}: the table has '{expected}', the trace '{name}'")
        if len(trace[rank]) != STEPS * len(table[rank]):
            sys.exit(f"{schedule}: rank {rank}: {len(trace[rank])} events, {STEPS} steps of {len(table[rank])}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--idle", default="")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    sizes = dict(pair.split("=") for pair in options.idle.split())
    random = numpy.random.default_rng(1)
    samples, wide = 3 * int(sizes.get("batch", 8)), int(sizes.get("wide", 8))
    numpy.save(options.work / "x.npy", random.normal(size=(samples, wide)).astype("f4"))
    numpy.save(options.work / "t.npy", random.integers(3, size=samples).astype("i4"))
    (options.work / "mine.csv").write_text(MINE)
    far = []
    for schedule in SCHEDULES:
        found = check(options.work, schedule, [f"-D{name}={value}" for name, value in sizes.items()])
        measured = found["measured"]
        line = f"{schedule}: the trace is the table"
        if options.idle:
            line += (f"; idle {100 * measured['idle_of_total']:.1f} % measured, {100 * found['idle_of_total']:.1f} % simulated; "
                     f"{1e3 * measured['seconds']:.2f} ms a step, {1e3 * found['seconds']:.2f} simulated")
            if abs(measured["idle_of_total"] - found["idle_of_total"]) > POINTS / 100:
                far.append(schedule)
        print(line)
    if far:
        sys.exit(f"more than {POINTS} points apart: {', '.join(far)}")


if __name__ == "__main__":
    main()
