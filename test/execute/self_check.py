#!/usr/bin/env python3
"""Shows that `./model --check` passes right programs, and that it finds collectives that are left out or go wrong.

Usage: self_check.py WORKDIR (right | faults | mpi). Faults are put into the executable when it is linked (Inputs/fault.c): each
collective of a program is left out in turn, and the message must name the weight whose gradient it folds.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from two_layers import LINES, write

HERE = pathlib.Path(__file__).resolve().parent
ADAM, SGD = "adamw(lr: 0.01)\n  clip 1.0", "sgd(lr: 0.1, momentum: 0.9)"
# Batches, hidden units and classes that the axes don't divide.
RIGHT = [("dp = 2", "batch: dp", 8, 2, 0.5, ADAM), ("dp = 3", "batch: dp", 8, 1, 0.5, SGD),
         ("tp = 2", "hidden: tp", 8, 1, 0.5, ADAM), ("tp = 2", "classes: tp", 8, 1, 0.0, ADAM),
         ("dp = 2, tp = 3", "batch: dp, hidden: tp", 7, 1, 0.2, ADAM), ("dp = 2, tp = 2", "batch: dp, hidden: tp", 9, 3, 0.2, SGD),
         ("a = 2, b = 2", "batch: (a, b)", 6, 1, 0.5, ADAM)]


def run(*command, cwd, **environment):
    return subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


def expect(good, what, result):
    if not good:
        sys.exit(f"{what}: status {result.returncode}\n{result.stdout}{result.stderr}")


def build(work, mesh, shard, batch, micro, dropout, optimizer, *options):
    write(work, mesh, f"shard {shard}; microbatches {micro}; bucket 1 B", hidden=f"dropout(relu(x @ w1 + b1), {dropout})", batch=batch,
          optimizer=optimizer)
    result = run("ptlc", "m.ptl", "--plan", "p", "-o", "m", *options, cwd=work)
    expect(result.returncode == 0, "ptlc", result)


def right(work):
    for i, case in enumerate(RIGHT):
        build(work / f"right{i}", *case)
        result = run("./m", "--check", "4", cwd=work / f"right{i}")
        expect(result.returncode == 0 and result.stdout.count("\nstep ") == 4 and "check passed: loss, 4 gradients" in result.stdout,
               f"right program on {case}", result)
    build(work / "one", "dp = 1", *RIGHT[0][1:])
    result = run("./m", "--check", cwd=work / "one")
    expect(result.returncode == 1 and "was compiled for one rank" in result.stderr, "one rank", result)
    build(work / "none", *RIGHT[0], "--no-check")
    result = run("./m", "--check", cwd=work / "none")
    expect(result.returncode == 1 and "'ptlc --no-check'" in result.stderr, "--no-check", result)


def metadata(executable):
    """What the executable says of its program for the mesh."""
    blob = executable.read_bytes()
    for match in re.finditer(rb'\{"arena":', blob):
        text = blob[match.start():blob.index(b"\0", match.start())].decode()
        found = json.loads(text)
        if any(axis["size"] > 1 for axis in found["mesh"]):
            return found
    sys.exit(f"{executable}: no metadata")


def build_faulty(work, case):
    """A program into which FAULT puts faults."""
    work.mkdir(parents=True, exist_ok=True)
    compiler = next(filter(None, map(shutil.which, ("clang++-22", "c++", "g++", "clang++"))))
    result = run(compiler, "-x", "c", "-c", "-I", HERE.parent.parent / "runtime/include", HERE / "Inputs/fault.c", "-o", "fault.o", cwd=work)
    expect(result.returncode == 0, compiler, result)
    linker = work / "linker"
    linker.write_text(f'#!/bin/sh\nexec {compiler} "$@" {work}/fault.o -Wl,--wrap=ptlrt_collective\n')
    linker.chmod(0o755)
    build(work, *case, "--linker", linker)
    result = run("./m", "--check", "1", cwd=work)
    expect(result.returncode == 0, f"{case} without a fault", result)
    return metadata(work / "m")


def first_error(result):
    """Name and line of the first message, whose place is that of the name's declaration."""
    match = re.match(r"m\.ptl:(\d+):\d+: error: (.*)", result.stderr)
    expect(result.returncode == 1 and match and "check passed" not in result.stdout, "a fault isn't found", result)
    text = match[2]
    name = "loss" if re.match("(loss|gradient norm) of step 0 ", text) else re.search(r"'([a-z0-9]+)(?:#\w+)?'", text)[1]
    expect(int(match[1]) == LINES[name], f"line of '{name}'", result)
    return name, text


def find(work, fault):
    return first_error(run("./m", "--check", cwd=work, FAULT=fault))


def faults_of_gradients(work):
    """Each collective of data parallelism folds one gradient, or the loss."""
    program = build_faulty(work, ("dp = 2", "batch: dp", 8, 2, 0.5, SGD))
    owners = {weight["grad"]["offset"]: weight["path"] for weight in program["weights"]}
    named = []
    for index, collective in enumerate(program["collectives"]):
        (segment,) = collective["segments"]
        named.append(owners.get(segment["offset"], "loss"))
        name, text = find(work, f"drop {index}")
        if name != named[-1]:
            sys.exit(f"collective {index} folds '{named[-1]}', the message is '{text}'")
    if sorted(named) != sorted(LINES):
        sys.exit(f"collectives fold {named}")
    last, weight = len(named) - 1, program["weights"][2]
    # One rank alone is wrong, in the last bit: no excuse for a replica. Then all have the same wrong value. (Drop-out leaves the
    # gradient of [0, 0] zero in step 0.)
    changes = [("grad", weight["grad"], "1.0000002 1", "in step 1, the gradient of 'w2' differs between ranks: element [0, 0]"),
               ("weight", weight["layout"], "1.01 -1", "after step 0, 'w2' differs from that of one rank: element [0, 0]"),
               ("weight", weight["layout"], "nan -1", "after step 0, 'w2' differs from that of one rank: element [0, 0]"),
               ("weight", weight["layout"], "1.0000002 1", "after step 0, 'w2' differs between ranks: element [0, 0]"),
               ("momentum", weight["states"][0]["layout"], "1.01 -1", "after step 2, 'w2' differs from that of one rank: element [0, 0]")]
    for what, layout, change, message in changes:
        name, text = find(work, f"scale {last} {layout['offset']} {change}")
        if not text.startswith(message):
            sys.exit(f"{what} times {change}: expected '{message}', found '{text}'")


def faults_of_rounding(work):
    """What rounding explains is passed, whichever element has it; clipping by a slightly other norm doesn't add to it."""
    program = build_faulty(work, ("dp = 2", "batch: dp", 8, 1, 0.0, "sgd(lr: 0.1, momentum: 0.9)\n  clip 0.01"))
    indices = {collective["segments"][0]["offset"]: index for index, collective in enumerate(program["collectives"])}
    for weight in program["weights"]:
        begin = weight["grad"]["offset"]
        for offset in range(begin, begin + 4 * weight["grad"]["cols"], 4):
            result = run("./m", "--check", cwd=work, FAULT=f"scale {indices[begin]} {offset} 1.00009 -1")
            expect(result.returncode == 0 and "check passed" in result.stdout, f"rounding in '{weight['path']}'", result)


def faults(work):
    faults_of_gradients(work / "dp")
    faults_of_rounding(work / "rounding")
    # Whatever is left out of other programs, forward or backward, something differs.
    for shard in ("hidden: tp", "classes: tp", "inputs: tp"):
        folder = work / shard.split(":")[0]
        program = build_faulty(folder, ("tp = 2", shard, 8, 1, 0.0, SGD))
        if not program["collectives"]:
            sys.exit(f"{shard} needs no collective")
        for index in range(len(program["collectives"])):
            find(folder, f"drop {index}")


def mpi(work):
    """Ranks as processes: the same, with one message."""
    from golden import ENVIRONMENT

    program = build_faulty(work, ("dp = 2", "batch: dp", 7, 1, 0.5, ADAM))
    result = run("mpirun", "-n", "2", "./m", "--check", cwd=work, **ENVIRONMENT)
    expect(result.returncode == 0 and result.stdout.count("check passed") == 1, "processes", result)
    result = run("mpirun", "-n", "2", "./m", "--check", cwd=work, FAULT="drop 0", **ENVIRONMENT)
    expect(result.returncode == 1 and len(re.findall(r"^m\.ptl:\d+:\d+: error: ", result.stderr, re.M)) == 1, "a fault", result)
    result = run("mpirun", "-n", "2", "./m", "--check", "--data", "x=none.npy", cwd=work, **ENVIRONMENT)
    expect(result.returncode == 1 and len(re.findall(r"^error: ", result.stderr, re.M)) == 1, "no data", result)


def main():
    work = pathlib.Path(sys.argv[1]).resolve()
    {"right": right, "faults": faults, "mpi": mpi}[sys.argv[2]](work / sys.argv[2])
    print("self-check: ok")


if __name__ == "__main__":
    main()
