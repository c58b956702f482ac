#!/usr/bin/env python3
"""Usage: plan.py ROOT WORK back | written | spread | schedules | sweep [MODEL...]. Checks `ptlc plan`.

sweep: classes of plans for GPTs with steps of 4.2 million tokens on nodes of 8 H100s (peak: 0.8 of the data sheet's), found
by an exhaustive search with an independent model of costs. A cell passes if the class is the same, or if the best plan of
that class isn't more than 1 % faster here than the chosen one (plans that close count as equal), and if the reasons
name what the class uses. Each cell takes at most 5 seconds of CPU time. spread: some of its cells. back: a chosen plan, put into the file, is estimated to take the time and memory that the planner said.
written: a chosen plan with pipeline, tensor and data ranks, put into the file, compiles into the memory that was planned. schedules: where one copy of the
model is on machines with one device each, schedules that split the backward win, and are read back; products in f32 are
priced at the cluster's peak for them.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import resource
import subprocess
import sys

ROOT, WORK, WHAT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
MOST_SECONDS, EQUAL = 5, 0.01
MODELS = {  # layers, embed, heads
    "0.1B": (12, 768, 12), "0.35B": (24, 1024, 16), "1.3B": (24, 2048, 16), "2.7B": (32, 2560, 32), "7B": (32, 4096, 32),
    "13B": (40, 5120, 40), "30B": (48, 7168, 56), "70B": (80, 8192, 64), "175B": (96, 12288, 96), "530B": (105, 20480, 128),
    "1T": (128, 25600, 160),
}
DEVICES = (1, 8, 64, 256, 1024)
EXPECTED = {  # for each of DEVICES: with 50 GB/s between nodes, with 25; '-': nothing fits
    "0.1B": ("single dp z1 z1 z1", "single dp z1 z1 z1"),
    "0.35B": ("single dp z1 z1 z1", "single dp z1 z1 z1"),
    "1.3B": ("single dp z1 z1 z1", "single dp z1 z1 z1"),
    "2.7B": ("single z1 z1 z1 z1", "single z1 z1 z1 tp+pp+z2"),
    "7B": ("- z1 z1 z2 z1", "- z1 z2 z2 tp+pp+z1"),
    "13B": ("- z3 z3 z3 z2", "- z3 pp+z1 z2 tp+pp+z1"),
    "30B": ("- tp+pp pp+z3h pp+z1 tp+pp+z2", "- tp+pp pp+z3h pp+z1 tp+pp+z1"),
    "70B": ("- - tp+pp+z1 tp+pp+z1 tp+pp+z1", "- - tp+pp+z1 tp+pp+z1 tp+pp+z1"),
    "175B": ("- - tp+pp tp+pp+z1 tp+pp+z1", "- - tp+pp tp+pp+z1 tp+pp+z1"),
    "530B": ("- - - tp+pp+z1 tp+pp+z1", "- - - tp+pp+z1 tp+pp+z1"),
    "1T": ("- - - tp+pp tp+pp+z1", "- - - tp+pp tp+pp+z1"),
}
SPREAD = (("0.1B", "fast", 1), ("7B", "fast", 1), ("0.35B", "fast", 8), ("13B", "fast", 64), ("30B", "fast", 256), ("70B", "slow", 64),
          ("1T", "fast", 1024))
WORDS = {  # what a reason says about each word of a class
    "single": "one device: model, states and activations fit",
    "dp": "the model fits into one device",
    "z1": "zero 1: ", "z2": "zero 2: ", "z3": "zero 3: ", "z3h": "zero 3: ",
    "tp": "layers are large (", "pp": "the model is deep (",
}
GPU = "memory 80 GB; bandwidth 3.35 TB/s; peak 791.2 TFLOP/s; units 132"
CLUSTERS = "".join(f"cluster {name} {{ nodes 128; devices 8; intra 450 GB/s; inter {inter} GB/s; {GPU} }}\n"
                   for name, inter in (("fast", 50), ("slow", 25)))


def write(text):
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / "model.ptl"
    path.write_text((ROOT / "test" / "bench" / "models" / "gpt2.ptl").read_text() + CLUSTERS + text)
    return path


def call(*command):
    return subprocess.run(["ptlc", *map(str, command)], capture_output=True, text=True)


def defines(model, batch=2048):
    layers, embed, heads = MODELS[model]
    sizes = dict(vocab=51200, seq=2048, layers=layers, embed=embed, heads=heads, batch=batch)
    return [text for name, value in sizes.items() for text in ("-D", f"{name}={value}")]


def plan(path, model, cluster, devices, precision="bf16", batch=2048):
    """Returns what the planner prints, or None if nothing fits, and the seconds of CPU time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = call("plan", path, "--cluster", cluster, "--devices", devices, "--precision", precision, "--json", *defines(model, batch))
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    if result.returncode and "no plan fits into" not in result.stderr:
        sys.exit(result.stderr)
    return (None if result.returncode else json.loads(result.stdout)), seconds


def check_words(found, kind, where):
    text = "\n".join(found["reasons"])
    wanted = [WORDS[word] for word in kind.split("+")]
    if len(kind.split("+")) == 3:
        wanted.append("the largest models need all three")
    if kind.endswith(("z3", "z3h")):
        wanted.append("of states don't fit into 80.00 GB")
    for words in wanted:
        if words not in text:
            sys.exit(f"{where}: {kind}, but no reason says '{words}':\n{text}")


def check_cell(path, model, cluster, devices, wanted):
    found, seconds = plan(path, model, cluster, devices)
    where = f"{model} on {devices} {cluster}"
    kind = found["chosen"]["kind"] if found else "-"
    if seconds > MOST_SECONDS:
        sys.exit(f"{where}: {seconds:.1f} s")
    if found:
        check_words(found, kind, where)
        where += f" ({found['chosen']['schedule'] or 'no pipeline'})"
    if kind == wanted:
        print(f"{where}: {kind} ({seconds:.1f} s)", flush=True)
        return True
    if not found or wanted == "-":
        sys.exit(f"{where}: {kind}, expected {wanted}")
    other = found["kinds"].get(wanted)
    if other and other < found["chosen"]["seconds"] * (1 - EQUAL):
        sys.exit(f"{where}: {kind} takes {found['chosen']['seconds']} s, but {wanted} {other}")
    print(f"{where}: {kind} ({seconds:.1f} s); {wanted} takes "
          + (f"{other / found['chosen']['seconds']:.3f} of its time" if other else "more memory"), flush=True)
    return False


def expected(model, cluster, devices):
    return EXPECTED[model][cluster == "slow"].split()[DEVICES.index(devices)]


def sweep(cells):
    path = write("")
    same = [check_cell(path, *cell, expected(*cell)) for cell in cells]
    print(f"{sum(same)} of {len(same)} cells have the same class")
    if sum(same) < 0.8 * len(same):
        sys.exit("too few")


def read_back(found, model, more="", batch=2048):
    """The estimate for the chosen plan has the time and memory that the planner says."""
    path = write(more + found["plan"])
    result = call("estimate", path, "--plan", "chosen", "--json", *defines(model, batch))
    if result.returncode:
        sys.exit(result.stderr)
    estimate, chosen = json.loads(result.stdout), found["chosen"]
    stage = max(estimate["stages"], key=lambda stage: stage["total"])
    state = stage["weights"] + stage["gradients"] + stage["optimizer"]
    for what, one, two in (("seconds", estimate["time"]["seconds"], chosen["seconds"]),
                           ("bytes", state + 1.05 * (stage["total"] - state) + 2.5e9, chosen["memory"])):
        if abs(one / two - 1) > 0.002:
            sys.exit(f"{model}: {one} {what} estimated, {two} planned for\n{found['plan']}")
    print(f"{model}: {chosen['schedule']} {chosen['seconds']:.3f} s, {chosen['memory'] / 1e9:.1f} GB planned and estimated")


def back():
    for model, devices in (("1.3B", 64), ("30B", 8), ("175B", 256)):
        found, _ = plan(write(""), model, "fast", devices)
        read_back(found, model)


def schedules():
    slow_f32 = GPU + "; peak_f32 98.9 TFLOP/s"
    lan = f"cluster lan {{ nodes 8; devices 1; inter 3 GB/s; {GPU} }}\ncluster lan32 {{ nodes 8; devices 1; inter 3 GB/s; {slow_f32} }}\n"
    for model, schedule in (("7B", "zb_v"), ("1.3B", "zb_h1")):
        found, _ = plan(write(lan), model, "lan", 8, batch=64)
        best = found["best"][0]
        if found["chosen"]["schedule"] != schedule or best["schedule"] != schedule:
            sys.exit(f"{model}: {schedule} was expected, not {found['chosen']}")
        words = f"schedule {schedule}: gradients of weights fill the gaps between those of inputs; the best plan without"
        if not any(reason.startswith(words) for reason in found["reasons"]):
            sys.exit(f"{model}: no reason says '{words}': {found['reasons']}")
        read_back(found, model, lan, batch=64)
    half, same, wide = (plan(write(lan), "0.35B", cluster, 8, precision, batch=64)[0]["chosen"]["seconds"]
                        for cluster, precision in (("lan32", "bf16"), ("lan", "f32"), ("lan32", "f32")))
    print(f"0.35B: {half:.3f} s in bf16, {wide:.3f} s in f32, {same:.3f} s if its products were as fast")
    if not half < same < 0.7 * wide:
        sys.exit("the peak for f32 isn't obeyed")


def written():
    """A plan with three kinds of ranks, as the planner writes it, compiles into the memory that it was planned for."""
    found, _ = plan(write(""), "70B", "slow", 64)
    chosen = found["chosen"]
    print(found["plan"])
    if min(chosen["tp"], chosen["pp"], chosen["dp"]) < 2:
        sys.exit(f"a plan with three kinds of ranks was expected, not {chosen['kind']}")
    result = call(write(found["plan"]), "--plan", "chosen", *defines("70B"), "--emit=memory", "--report", "--json")
    if result.returncode:
        sys.exit(result.stderr)
    arena = max(rank["arena"]["bytes"] for rank in json.loads(result.stdout)["ranks"])
    print(f"{arena / 1e9:.1f} GB, {chosen['memory'] / 1e9:.1f} planned for")
    if not 0.9 * chosen["memory"] < arena < chosen["memory"]:
        sys.exit("that isn't what was planned for")


if WHAT == "sweep":
    sweep([(model, cluster, devices) for model in sys.argv[4:] or MODELS for cluster in ("fast", "slow") for devices in DEVICES])
else:
    {"back": back, "written": written, "schedules": schedules, "spread": lambda: sweep(SPREAD)}[WHAT]()
