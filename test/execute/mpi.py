#!/usr/bin/env python3
"""Runs one executable with ranks as threads and under mpirun with ranks as processes: all that it writes must be the same bits.

Usage: mpi.py CASE WORKDIR --mesh dp=2,tp=2 --shard "batch: dp, heads: tp" [--failures]
Compared are weights, gradients of the first step, losses and norms of each step, the bytes that ranks exchanged; a checkpoint
written by processes is resumed by threads and the other way round. With --failures: whatever goes wrong with one process ends
all of them, with one message.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import time

import psutil

import golden

LIMIT = 600


def end(process, why):
    """Kills a process that hangs and all that it started, and fails."""
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    process.kill()
    output, errors = process.communicate(timeout=10)
    sys.exit(f"{' '.join(process.args)}: {why} after {LIMIT} s\n{output}{errors}")


def finish(process):
    """Returns status, output and errors; a hang is a failure."""
    try:
        output, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        end(process, "not done")
    return process.returncode, output, errors


class Program:
    """The executable of a golden case on a mesh."""

    def __init__(self, options):
        self.case = golden.HERE / "golden" / options.case
        self.ranks = golden.ranks(options.mesh)
        variant = "".join(letter if letter.isalnum() else "_" for letter in options.zero)
        self.work = options.workdir.resolve() / f"{options.case}-{options.mesh}-{variant}"
        self.work.mkdir(parents=True, exist_ok=True)
        run = json.loads((self.case / "expected.json").read_text())
        golden.build(self.case, run, options, self.work, "--no-check")
        self.overlaps = options.overlap
        self.init = ["--init", str(self.case / "init.safetensors")]
        # Comparing replicas is many fetches, each of which waits for a process that may not have a core.
        self.shorter = ["--steps", "5"] if options.short else ["--check-replicas"]

    def start(self, arguments, launch, **environment):
        command = ["./model", *arguments]
        if launch:
            command = ["mpirun", "-n", str(self.ranks), *command]
        return subprocess.Popen(command, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**golden.ENVIRONMENT, **environment})

    def run(self, *arguments, launch, **environment):
        return finish(self.start(arguments, launch, **environment))

    def succeed(self, *arguments, launch):
        status, output, errors = self.run(*arguments, launch=launch)
        if status:
            sys.exit(f"{'mpirun ' if launch else ''}./model {' '.join(arguments)}: status {status}\n{output}{errors}")
        return output


def expect(condition, what):
    if not condition:
        sys.exit(f"FAIL {what}")
    print(f"ok   {what}")


def compare(program):
    outputs = {}
    for name, launch in (("threads", False), ("processes", True)):
        for old in program.work.glob(f"{name}*"):
            if old.is_file():
                old.unlink()
        outputs[name] = program.succeed(
            *program.init, "--log", f"{name}.jsonl", "--save", f"{name}.safetensors", "--save-grads", f"{name}.grads",
            "--trace", f"{name}.trace", "--report", f"{name}.report", "--counters", "--quiet", *program.shorter, launch=launch)
    expect(outputs["threads"] == outputs["processes"] and "bytes between ranks" in outputs["threads"], "counters")
    for suffix in ("safetensors", "grads"):
        files = [(program.work / f"{name}.{suffix}").read_bytes() for name in outputs]
        expect(files[0] == files[1], f"{suffix}: {len(files[0])} bytes")
    timed = ("ms", "tokens_s")
    logs = [[{key: value for key, value in json.loads(line).items() if key not in timed}
             for line in (program.work / f"{name}.jsonl").read_text().splitlines()] for name in outputs]
    expect(logs[0] == logs[1] and len(logs[0]) > 1, f"log: {len(logs[0])} lines")
    traces = [json.loads((program.work / f"{name}.trace").read_text())["traceEvents"] for name in outputs]
    names = [sorted((event["tid"], event["name"]) for event in trace if "tid" in event) for trace in traces]
    expect(names[0] == names[1], f"trace: {len(names[0])} events")
    starts, waits = (sum(name.startswith(word) for _, name in names[0]) for word in ("start ", "wait for "))
    expect(starts == waits and (starts > 0) == program.overlaps, f"{starts} collectives are started and waited for")
    reports = [json.loads((program.work / f"{name}.report").read_text()) for name in outputs]
    expect(reports[0]["collectives"] == reports[1]["collectives"], "report")


def resume(program):
    """Half of the steps on the one, the rest on the other, both ways."""
    saved = []
    for first in (False, True):
        folder = f"checkpoints-{first}"
        program.succeed(*program.init, "--steps", "3", "--checkpoint-dir", folder, "--quiet", launch=first)
        program.succeed("--resume", folder, "--steps", "6", "--save", "resumed.safetensors", "--quiet", launch=not first)
        saved.append((program.work / "resumed.safetensors").read_bytes())
    program.succeed(*program.init, "--steps", "6", "--save", "resumed.safetensors", "--quiet", launch=False)
    saved.append((program.work / "resumed.safetensors").read_bytes())
    expect(saved[0] == saved[1] == saved[2], "checkpoints go from threads to processes and back")


def expect_failure(what, result, message):
    status, output, errors = result
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    expect(status != 0 and len(lines) == 1 and message in lines[0], f"{what}: status {status}, {lines or errors}")


def disturb(program, number, **environment):
    """Sends a signal to the second process of a run that has begun its steps."""
    log = program.work / "long.jsonl"
    log.unlink(missing_ok=True)
    process = program.start([*program.init, "--steps", "1000000", "--log", "long.jsonl", "--quiet"], True, **environment)
    deadline = time.monotonic() + LIMIT
    while process.poll() is None and (not log.exists() or log.stat().st_size == 0):
        if time.monotonic() > deadline:
            end(process, "no step")
        time.sleep(0.1)
    # One that has ended has no ranks left; what it wrote says why.
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        ranks = [child for child in psutil.Process(process.pid).children() if child.name() == "model"]
        ranks[1].send_signal(number)
    return finish(process)


def failures(program):
    wrong = program.run(*program.init, launch=True, PTL_MPI_LIBRARY="/nowhere/libptlrt_mpi.so")
    expect_failure("no library", wrong, "its library for MPI can't be loaded")
    expect_failure("no file", program.run("--init", "none.safetensors", launch=True), "none.safetensors")
    expect_failure("bad option", program.run("--bogus", launch=True), "unknown option '--bogus'")
    expect_failure("file that can't be written", program.run(*program.init, "--steps", "1", "--save", "/nowhere/x", launch=True),
                   "can't write '/nowhere/x'")
    expect_failure("not finite", program.run(*program.init, "--set", "lr=1e38", launch=True), "not finite")
    inherited = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    status, output, errors = program.run(*program.init, "--steps", "1", launch=False, PTL_MPI_LIBRARY="", **inherited)
    expect(status == 0 and "dp = 2" in output, f"no library wanted: status {status}, {errors or 'ranks are threads'}")
    ranks, program.ranks = program.ranks, program.ranks + 1
    expect_failure("too many processes", program.run(*program.init, launch=True), f"compiled for {ranks} ranks")
    program.ranks = ranks
    status, _, _ = disturb(program, signal.SIGKILL)
    expect(status != 0, f"a killed process ends the run: status {status}")
    expect_failure("a stopped process", disturb(program, signal.SIGSTOP, PTL_COMM_TIMEOUT="2"), "waited 2 s in ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--shard", default="batch: dp")
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--zero", default="", help="what is stored in parts: '1, over: dp'")
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--bucket", default="", help="as 64 KB")
    parser.add_argument("--failures", action="store_true")
    parser.add_argument("--short", action="store_true", help="five steps, replicas aren't compared: for many more processes than cores")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    program = Program(options)
    if options.failures:
        failures(program)
    else:
        compare(program)
    if options.resume:
        resume(program)


if __name__ == "__main__":
    main()
