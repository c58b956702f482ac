"""Runs one small program on one device and on meshes, and holds every number against pen and paper and against one device.

A case says what its numbers are on paper: losses, metrics, gradients and weights. Whatever it doesn't say must be as on one device:
losses, norms and metrics of three steps of plain SGD, all gradients of the first step, all weights after the third; and replicas must
agree bit for bit after each. A failure message says which known mistake gives the number that was found.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys
import zlib

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from golden import read_safetensors  # noqa: E402
from program_data import write_safetensors  # noqa: E402

TOLERANCE = 1e-6


def f32(*values):
    return numpy.array(values, "f4")


def i32(*values):
    return numpy.array(values, "i4")


class Failure(Exception):
    """A number that isn't what it must be."""


class Outcome:
    """What one run printed and saved."""

    def __init__(self, steps, gradients, weights, output, folder):
        self.steps, self.gradients, self.weights, self.output, self.folder = steps, gradients, weights, output, folder

    def numbers(self):
        """All numbers by name: those of step 0 by their own names, the others by their step."""
        found = {}
        for step, line in enumerate(self.steps):
            for name, value in line.items():
                if name not in ("step", "lr", "tokens_s", "ms"):
                    found[name if step == 0 else f"{name} of step {step}"] = value
        found |= {f"gradient {name}": value for name, value in self.gradients.items()}
        found |= {f"weight {name}": value for name, value in self.weights.items()}
        return found


class Program:
    """A model with its data. `plan` texts are lines of a plan; weights that aren't given begin as the model says. `more` is a line of
    `train`, `limit` how many seconds a run may take."""

    def __init__(self, work, text, data, batch, weights=None, steps=3, rate=1.0, tail="wrap", more="", limit=None):
        self.work, self.text, self.data, self.batch, self.weights = work, text, data, batch, weights
        self.steps, self.rate, self.tail, self.more, self.limit = steps, rate, tail, more, limit

    def write(self, mesh, rules):
        """Makes the folder of one run."""
        name = zlib.crc32(repr((self.text, sorted((k, v.tolist()) for k, v in self.data.items()), mesh, rules, self.steps, self.rate, self.more)).encode())
        folder = self.work / f"{mesh.replace(' ', '').replace(',', '-') or 'one'}-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        for field, values in self.data.items():
            numpy.save(folder / f"{field}.npy", values)
        if self.weights:
            write_safetensors(folder / "init.safetensors", self.weights)
        fields = ", ".join(f'{field}: "{field}.npy"' for field in self.data)
        body = "\n".join(f"  {rule}" for rule in rules)
        (folder / "m.ptl").write_text(
            f"{self.text}\ntrain M {{\n  data npy({fields}), tail: {self.tail}\n  batch {self.batch}\n  steps {self.steps}\n"
            f"  optimizer sgd(lr: {self.rate})\n  {self.more}\n}}\nplan p on mesh({mesh}) {{\n{body}\n}}\n")
        return folder

    def compile(self, mesh, rules, status=0):
        folder = self.write(mesh, rules)
        self.call(folder, "ptlc", "m.ptl", "--plan", "p", "-O1", "--no-check", "-o", "m", status=status)
        return folder

    def run(self, mesh="", rules=(), status=0, init=None):
        """Trains; returns the outcome, or for another status than 0 what was said."""
        folder = self.compile(mesh, rules)
        (folder / "log.jsonl").unlink(missing_ok=True)
        begin = ["--init", init or "init.safetensors"] if init or self.weights else []
        output = self.call(folder, "./m", *begin, "--log", "log.jsonl", "--save", "w.safetensors", "--save-grads", "g.safetensors",
                           "--check-replicas", status=status)
        if status:
            return output
        lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        return Outcome([line for line in lines if "loss" in line], read_safetensors(folder / "g.safetensors"),
                       read_safetensors(folder / "w.safetensors"), output, folder)

    def call(self, folder, *command, status=0):
        try:
            result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=self.limit)
        except subprocess.TimeoutExpired:
            raise Failure(f"{folder.name}: {' '.join(command)}: not done after {self.limit} s") from None
        output = result.stdout + result.stderr
        if result.returncode != status:
            raise Failure(f"{folder.name}: {command[0]}: status {result.returncode}, expected {status}\n{output[-3000:]}")
        return output

    def agree(self, plans, expected=None, hints=None):
        """Runs on one device and for each (mesh, rules); `expected` is what pen and paper say, by name; `hints` are known mistakes:
        name -> {value: "what gives it"}. Returns the outcomes, that of one device first."""
        outcomes = [self.run(mesh, rules) for mesh, rules in [("", ()), *plans]]
        first = outcomes[0].numbers()
        for name, value in (expected or {}).items():
            if name not in first:
                raise Failure(f"no number is called '{name}', only {sorted(first)}")
            compare("one device", name, first[name], value, (hints or {}).get(name))
        for (mesh, rules), outcome in zip(plans, outcomes[1:]):
            where, found = f"mesh({mesh}) {rules}", outcome.numbers()
            if found.keys() != first.keys():
                raise Failure(f"{where}: numbers differ: {sorted(found.keys() ^ first.keys())}")
            for name, value in {**first, **(expected or {})}.items():
                compare(where, name, found[name], value, (hints or {}).get(name))
        return outcomes


def compare(where, name, found, expected, hints=None):
    """Within 1e-6 of the largest element."""
    found, expected = numpy.asarray(found, "f8"), numpy.asarray(expected, "f8")
    scale = max(1e-3, numpy.abs(expected).max()) if expected.size else 1
    if found.shape == expected.shape and numpy.isfinite(found).all() and (numpy.abs(found - expected) <= TOLERANCE * scale).all():
        return
    guess = [text for value, text in (hints or {}).items() if numpy.allclose(found, numpy.array(value), rtol=1e-5, equal_nan=True)]
    raise Failure(f"{where}: {name}: expected {expected}, found {found} {guess or ''}")


def main(cases):
    """Runs the case of the command line: `ID WORKDIR`."""
    if len(sys.argv) != 3 or sys.argv[1] not in cases:
        sys.exit(f"usage: {sys.argv[0]} ID WORKDIR; cases: {', '.join(cases)}")
    try:
        cases[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())
    except Failure as failure:
        sys.exit(f"{sys.argv[1]}: {failure}")
