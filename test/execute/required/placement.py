#!/usr/bin/env python3
"""Lays the axes of meshes on two nodes of four devices (case D34).

Usage: placement.py WORKDIR. Whatever order the mesh is written in: eight stages cross between nodes once, ranks that cut tensors
share a node where they fit into one, and the bytes per class of link that the report gives add up to what a run on threads counts.
"""
# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import pathlib
import re
import subprocess
import sys

import numpy

LAYERS, STEPS = 8, 3
MODEL = f"""\
dim wide = 8, hidden = 16, out = 4
module Layer {{
  weight up: [wide, hidden] = normal(0.3)
  weight down: [hidden, wide] = normal(0.3)
  fn forward(x: [batch, wide]) = x + tanh(x @ up) @ down
}}
model Net {{
  blocks = repeat({LAYERS}) Layer()
  weight head: [wide, out] = normal(0.3)
  fn loss(x: [batch, wide], t: int[batch]) = cross_entropy(blocks(x) @ head, t, over: out)
}}
train Net {{ data npy(x: "x.npy", t: "t.npy"); batch 8; steps {STEPS}; optimizer sgd(lr: 0.1) }}
cluster c {{ nodes 2; devices 4; intra 300 GB/s; inter 25 GB/s }}
"""
STAGES = "pipeline blocks, over: pp; microbatches 2"
CUTS = "shard batch: dp, hidden: tp"


def call(work, *command):
    result = subprocess.run(command, cwd=work, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: expected {expected}, found {found}")


def check(work, axes, rules):
    """Returns what the report says of links, and what `--explain` says of edges between stages: how many cross nodes, of how many."""
    mesh = ", ".join(f"{name} = {size}" for name, size in axes)
    (work / "m.ptl").write_text(MODEL + f"plan p on mesh({mesh}) of c {{ {rules} }}\n")
    report = json.loads(call(work, "ptlc", "m.ptl", "--plan", "p", "--emit=memory", "--report", "--json"))
    links = report["links"]
    call(work, "ptlc", "m.ptl", "--plan", "p", "--no-check", "-O1", "-o", "m")
    call(work, "./m", "--quiet", "--report", "run.json")
    counted = sum(entry["bytes"] for entry in json.loads((work / "run.json").read_text())["collectives"])
    expect(f"mesh({mesh}): bytes of {STEPS} steps", STEPS * (links["inside"] + links["between"]), counted)
    explained = call(work, "ptlc", "m.ptl", "--plan", "p", "--explain")
    rows = {row[1]: row[0] for row in re.findall(r"^([* ]) (\w+(?:, \w+)*) +[0-9.]+ ms ", explained, re.M)}
    expect(f"mesh({mesh}): orders in use", [order for order, mark in rows.items() if mark == "*"], [links["order"]])
    crossing = re.findall(r"(\d+) of (\d+) edges", explained)
    print(f"mesh({mesh}): {links['order']}; {links['inside']:.0f} bytes inside of nodes, {links['between']:.0f} between, {crossing}")
    return links, [tuple(map(int, pair)) for pair in crossing]


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    numpy.save(work / "x.npy", random.normal(size=(24, 8)).astype("f4"))
    numpy.save(work / "t.npy", random.integers(4, size=24).astype("i4"))

    links, crossing = check(work, [("pp", 8)], STAGES)
    expect("eight stages: edges between nodes", crossing, [(1, 7)])
    # A micro-batch of 4 x 8 numbers and its gradient, twice, and sums of a step in rings of which two links of eight cross.
    sums = 2 * 7 / 8 * 8 * (1 + 24) * 4
    messages = 2 * 2 * 4 * 8 * 4
    if not messages <= links["between"] <= messages + sums:
        sys.exit(f"eight stages: {links['between']} bytes between nodes, expected the messages of one edge, {messages}")

    for axes in itertools.permutations([("dp", 2), ("tp", 4)]):
        links, _ = check(work, axes, CUTS)
        expect("tensor ranks share a node", links["order"], "dp, tp")
    found = set()
    for axes in itertools.permutations([("pp", 2), ("dp", 2), ("tp", 2)]):
        links, crossing = check(work, axes, f"{CUTS}; {STAGES}")
        expect("tensor ranks share a node", links["order"].split(", ").index("tp") > 0, True)
        found.add((links["inside"], links["between"]))
    expect("the order of the source: different placements", len(found), 1)

    (work / "m.ptl").write_text(MODEL + "plan p on mesh(tp = 8) of c { shard hidden: tp }\n")
    printed = call(work, "ptlc", "m.ptl", "--plan", "p", "--emit=sharded", "-o", "-")
    if "'tp' has 8 ranks and a node 4 devices: what 'hidden' communicates over it crosses nodes, where a byte costs 12.0" not in printed:
        sys.exit(f"no warning of tensor ranks on two nodes: {printed}")


if __name__ == "__main__":
    main()
