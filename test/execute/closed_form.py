#!/usr/bin/env python3
"""Runs small programs whose every number is known from pen and paper, on many meshes.

Usage: closed_form.py CASE WORKDIR. A case is a function case_<name> below; it trains by plain SGD, with unequal data on
every rank, and its docstring says which known fault of parallel training it would show.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys
import zlib

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from golden import read_safetensors  # noqa: E402


class Run:
    """One program on one mesh, and what it printed and saved."""

    def __init__(self, work, model, data, batch, dp=1, micro=1, steps=1, rate=1.0, tail="drop"):
        self.name = f"dp={dp}, {micro} micro-batches, batch {batch}"
        self.work = work / f"dp{dp}-micro{micro}-batch{batch}-{tail}-{zlib.crc32(model.encode()) % 100000}"
        self.work.mkdir(parents=True, exist_ok=True)
        fields = []
        for field, values in data.items():
            numpy.save(self.work / f"{field}.npy", values)
            fields.append(f'{field}: "{field}.npy"')
        text = (f"dim one = 1\nmodel M {{\n{model}\n}}\n"
                f"train M {{\n  data npy({', '.join(fields)}), tail: {tail}\n  batch {batch}\n  steps {steps}\n"
                f"  optimizer sgd(lr: {rate})\n}}\n"
                f"plan p on mesh(dp = {dp}) {{ shard batch: dp{f'; microbatches {micro}' if micro > 1 else ''} }}\n")
        (self.work / "m.ptl").write_text(text)
        (self.work / "log.jsonl").unlink(missing_ok=True)
        self.call("ptlc", "m.ptl", "--plan", "p", "--no-check", "-o", "m")
        self.output = self.call("./m", "--log", "log.jsonl", "--save", "w.safetensors")
        lines = [json.loads(line) for line in (self.work / "log.jsonl").read_text().splitlines()]
        self.steps = [line for line in lines if "loss" in line]
        self.loss = [line["loss"] for line in self.steps]
        self.norm = [line["grad_norm"] for line in self.steps]
        self.weights = read_safetensors(self.work / "w.safetensors")

    def call(self, *command):
        result = subprocess.run(command, cwd=self.work, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{self.name}: {command[0]}: status {result.returncode}\n{result.stdout}{result.stderr}")
        return result.stdout + result.stderr

    def expect(self, what, found, expected, hints=None):
        """Within 1e-6 relative; `hints` say which mistake gives which wrong value."""
        found, expected = numpy.asarray(found, "f8"), numpy.asarray(expected, "f8")
        if found.shape != expected.shape or not numpy.allclose(found, expected, rtol=1e-6, atol=0):
            guess = [text for value, text in (hints or {}).items() if numpy.allclose(found, value, rtol=1e-5)]
            sys.exit(f"{self.name}: {what}: expected {expected}, found {found} {guess}")


def f32(*values):
    return numpy.array(values, "f4")


def case_token_weighted_mean(work):
    """A mean over valid tokens is divided once, by the global count: not a mean of the pieces' means."""
    model = """  weight w: [one] = constant(1.0)
  fn loss(x: [batch, token], t: [batch, token], valid: int[batch, token]) {
    let e = dot(expand(x, (one)), w, over: one) - t
    return mean(e * e, where: valid > 0)
  }"""
    model = "  dim token = 4\n" + model
    a = ([1, 0, 0, 0], [3, 0, 0, 0], [1, 0, 0, 0])
    b = ([1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0])
    for rows, dp, micro in (((a, b), 1, 1), ((a, b), 1, 2), ((a, b), 2, 1), ((a, b, b, a), 2, 2), ((a, b, b, a), 3, 1)):
        x, t, valid = (numpy.array([row[i] for row in rows]) for i in range(3))
        data = {"x": x.astype("f4"), "t": t.astype("f4"), "valid": valid.astype("i4")}
        run = Run(work, model, data, len(rows), dp, micro, rate=0.1)
        run.expect("loss", run.loss, [1.0], {2.0: "a mean of means"})
        run.expect("gradient norm", run.norm, [1.0], {2.0: "a mean of means"})
        run.expect("w", run.weights["w"], [1.1], {1.2: "a mean of means"})


LINEAR = """  weight w: [one] = constant(1.0)
  fn loss(x: [batch]) = %s(dot(expand(x, (one)), w, over: one))"""


def case_last_window(work):
    """The last batch of a pass is divided by its own size; ranks may have no sample in it."""
    data = {"x": numpy.arange(10, dtype="f4")}
    for dp, micro in ((1, 1), (1, 2), (2, 1), (4, 1), (3, 1), (2, 2)):
        run = Run(work, LINEAR % "mean", data, 4, dp, micro, steps=3, tail="short")
        run.expect("gradient norms", run.norm, [1.5, 5.5, 8.5], {(1.5, 5.5, 4.25): "divided by the nominal size"})
    for dp in (1, 4):
        run = Run(work, LINEAR % "mean", data, 6, dp, steps=2, tail="short")
        run.expect("gradient norms", run.norm, [2.5, 7.5])
    run = Run(work, LINEAR % "mean", data, 4, 2, steps=4, tail="drop")
    run.expect("gradient norms", run.norm, [1.5, 5.5, 1.5, 5.5])
    if "2 samples" not in run.output:
        sys.exit(f"expected a line that says that a pass leaves out 2 samples, found\n{run.output}")


def case_sum_and_mean(work):
    """A sum isn't divided, a mean is divided once, whatever the mesh."""
    data = {"x": f32(1, 2, 3, 4)}
    for kind, gradient in (("sum", 10.0), ("mean", 2.5)):
        for dp, micro in ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1), (4, 1)):
            run = Run(work, LINEAR % kind, data, 4, dp, micro)
            run.expect(f"gradient of a {kind}", run.norm, [gradient], {5.0: "averaged or summed over ranks"})
            run.expect("w", run.weights["w"], [1 - gradient])


def case_partial_sums(work):
    """A sum over ranks is finished before anything that isn't linear is done to it."""
    six, two = f32(1, 2, 3, 4, 5, 6), f32(5, -7)
    total = "let s = sum(dot(expand(x, (one)), w, over: one))\n    return "
    body = "  weight w: [one] = constant(1.0)\n  fn loss(x: [batch]) {\n    " + total + "%s\n  }"
    for expression, x, dp, loss, gradient, hint in (
            ("s + 0.5", six, 3, 21.5, 21, {22.5: "the constant is added once a rank"}),
            ("s * 2", six, 3, 42, 42, {}),
            ("relu(s)", two, 2, 0, 0, {5: "relu of each rank's part"}),
            ("abs(s)", two, 2, 2, 2, {12: "abs of each rank's part"}),
            ("max(s, 0.0)", two, 2, 0, 0, {5: "max of each rank's part"}),
            ("sqrt(s)", six, 3, 21**0.5, 21 / (2 * 21**0.5), {}),
            ("s * s", six, 4, 441, 882, {})):
        for ranks in (1, dp):
            run = Run(work, body % expression, {"x": x}, len(x), ranks)
            run.expect(f"loss {expression}", run.loss, [loss], hint)
            run.expect(f"gradient of {expression}", run.norm, [gradient])


def case_random_numbers(work):
    """Initial weights and drop-out depend on seed, place, step and global index: not on the mesh."""
    model = """  dim six = 6
  weight w: [six] = zeros
  weight v: [six] = zeros
  weight drawn: [six, four] = normal(1.0)
  dim four = 4
  fn loss(x: [batch, six]) =
    sum(dropout(x, 0.5) * w) + sum(dropout(x, 0.5) * v) + 0.0 * sum(drawn)"""
    x = 2.0 ** numpy.arange(24, dtype="f4").reshape(4, 6) / 4096  # sums of any of them are exact
    masks = {}
    for dp in (1, 2, 3, 4):
        one = Run(work, model, {"x": x}, 4, dp)
        two = Run(work, model, {"x": x}, 4, dp, steps=2, rate=2.0)
        masks[dp] = [one.weights[name].tobytes() for name in ("w", "v", "drawn")] + [two.weights["w"].tobytes()]
        kept = one.weights["w"] / -2.0 * 4096
        if not numpy.array_equal(kept, numpy.round(kept)):
            sys.exit(f"dp={dp}: drop-out keeps more or less than whole elements: {kept}")
        if numpy.array_equal(one.weights["w"], one.weights["v"]):
            sys.exit(f"dp={dp}: two places share a mask")
        if numpy.array_equal(2 * 2 * one.weights["w"], two.weights["w"]):
            sys.exit(f"dp={dp}: two steps share a mask")
    if any(mask != masks[1] for mask in masks.values()):
        sys.exit(f"the mesh changes random numbers: {[dp for dp in masks if masks[dp] != masks[1]]}")


def main():
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("case_")}
    if len(sys.argv) != 3 or sys.argv[1] not in cases:
        sys.exit(f"{__doc__}\nCases: {', '.join(cases)}")
    cases[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())


if __name__ == "__main__":
    main()
