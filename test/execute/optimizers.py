#!/usr/bin/env python3
"""Compares three steps of the optimizers that need whole tensors with a reference in numpy, at all levels of `zero`.

Usage: optimizers.py CASE WORKDIR; cases: muon, muon_rms, lamb, stages. The reference is torch.optim.Muon, and LAMB of You et al. (2020), in f64, on
a network whose gradients are written out. Runs on the same mesh must have the same bits, whatever the level; a run goes on from a checkpoint.
`stages`: with stages of a pipeline and parts, in f32 and in bf16, both have the bits of one stage with whole storage; bf16 moves weights as
f32 does, within 20 % of the way.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import math
import pathlib
import shutil
import sys

import numpy
from golden import call, read_safetensors
from program_data import write_safetensors

STEPS = 3
PROGRAM = """\
dim inputs = 6, hidden = 10, outputs = 4
model M {{
  weight w1: [inputs, hidden] = zeros
  weight b1: [hidden] = zeros
  weight w2: [hidden, outputs] = zeros
  weight b2: [outputs] = zeros
  fn loss(x: [batch, inputs], t: [batch, outputs]) = mse(tanh(x @ w1 + b1) @ w2 + b2, t)
}}
train M {{
  data npy(x: "x.npy", t: "t.npy")
  batch 12
  steps {steps}
  optimizer {optimizer}
  clip 0.5
}}
plan p on mesh({mesh}) {{ {rules} }}
"""


def adam(state, gradient, step, betas, eps):
    """The step for a learning rate of 1."""
    m, v = state
    m += (1 - betas[0]) * (gradient - m)
    v += (1 - betas[1]) * (gradient**2 - v)
    return m / (1 - betas[0] ** (step + 1)) / (numpy.sqrt(v / (1 - betas[1] ** (step + 1))) + eps)


def adamw(weight, state, gradient, step):
    weight *= 1 - 0.01 * (0.01 if weight.ndim > 1 else 0)
    weight -= 0.01 * adam(state, gradient, step, (0.9, 0.999), 1e-8)


def lamb(weight, state, gradient, step):
    direction = adam(state, gradient, step, (0.8, 0.99), 1e-6) + (0.1 if weight.ndim > 1 else 0) * weight
    sizes = numpy.sqrt((weight**2).sum()), numpy.sqrt((direction**2).sum())
    weight -= 0.05 * (sizes[0] / sizes[1] if min(sizes) > 0 else 1) * direction


def newton_schulz(x, coefficients, steps):
    a, b, c = coefficients
    x = x / max(numpy.linalg.norm(x), 1e-7)
    transposed = x.shape[0] > x.shape[1]
    x = x.T if transposed else x
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if transposed else x


def muon(weight, state, gradient, step):
    state[0] += 0.05 * (gradient - state[0])
    update = newton_schulz(gradient + 0.95 * (state[0] - gradient), (3.4445, -4.7750, 2.0315), 5)
    weight *= 1 - 0.02 * 0.1
    weight -= 0.02 * math.sqrt(max(1, weight.shape[0] / weight.shape[1])) * update


def muon_rms(weight, state, gradient, step):
    state[0] += 0.2 * (gradient - state[0])
    weight -= 0.02 * 0.2 * math.sqrt(max(weight.shape)) * newton_schulz(state[0], (2, -1.5, 0.5), 3)


CASES = {
    "muon": ("adamw(lr: 0.01), muon(lr: 0.02, momentum: 0.95, nesterov: true, weight_decay: 0.1, ns_steps: 5, in: (w1, w2))", muon, adamw),
    "muon_rms": ("muon(lr: 0.02, momentum: 0.8, nesterov: false, weight_decay: 0, ns_steps: 3, ns_coefficients: (2, -1.5, 0.5), "
                 "adjust_lr: match_rms_adamw, in: (w1, w2)), adamw(lr: 0.01)", muon_rms, adamw),
    "lamb": ("lamb(lr: 0.05, betas: (0.8, 0.99), weight_decay: 0.1)", lamb, lamb),
}


def gradients(weights, x, t):
    hidden = numpy.tanh(x @ weights["w1"] + weights["b1"])
    out = 2 * (hidden @ weights["w2"] + weights["b2"] - t) / t.size
    inner = out @ weights["w2"].T * (1 - hidden**2)
    return {"w1": x.T @ inner, "b1": inner.sum(0), "w2": hidden.T @ out, "b2": out.sum(0)}


def reference(case, start, x, t):
    weights = {name: value.astype("f8") for name, value in start.items()}
    states = {name: [numpy.zeros(value.shape), numpy.zeros(value.shape)] for name, value in weights.items()}
    for step in range(STEPS):
        rows = slice(12 * step, 12 * step + 12)
        found = gradients(weights, x[rows].astype("f8"), t[rows].astype("f8"))
        norm = math.sqrt(sum((gradient**2).sum() for gradient in found.values()))
        for name, weight in weights.items():
            CASES[case][1 if weight.ndim == 2 else 2](weight, states[name], found[name] * min(1, 0.5 / (norm + 1e-6)), step)
    return weights


class Runs:
    def __init__(self, case, work):
        random = numpy.random.default_rng(7)
        self.case, self.work = case, work
        self.data = {"x": random.normal(size=(36, 6)).astype("f4"), "t": random.normal(size=(36, 4)).astype("f4")}
        # A bias of zeros: its first trust ratio is 1.
        shapes = {"w1": (6, 10), "b1": (10,), "w2": (10, 4), "b2": (4,)}
        self.start = {name: (random.normal(size=shape) * (name != "b2") / 2).astype("f4") for name, shape in shapes.items()}
        self.expected = reference(case, self.start, self.data["x"], self.data["t"])

    def compile(self, mesh, rules, steps=STEPS):
        folder = self.work / f"{self.case}-{mesh}-{rules}-{steps}".translate(str.maketrans("", "", " :;,()="))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for field, values in self.data.items():
            numpy.save(folder / f"{field}.npy", values)
        write_safetensors(folder / "init.safetensors", self.start)
        (folder / "m.ptl").write_text(PROGRAM.format(optimizer=CASES[self.case][0], mesh=mesh, rules=rules, steps=steps))
        call("ptlc", "m.ptl", "--plan", "p", "--no-check", "-o", "m", cwd=folder)
        return folder

    def train(self, mesh, rules):
        """Returns the bytes of the weights after the last step."""
        folder = self.compile(mesh, rules)
        call("./m", "--init", "init.safetensors", "--save", "w.safetensors", "--check-replicas", "--quiet", "--report", "run.json",
             "--checkpoint-dir", "c", "--checkpoint-every", "2", cwd=folder)
        for entry in json.loads((folder / "run.json").read_text())["collectives"]:
            if entry["bytes"] != entry["predicted_bytes"]:
                sys.exit(f"{folder.name}: {entry}")
        self.compare(folder)
        return folder, (folder / "w.safetensors").read_bytes()

    def compare(self, folder):
        found = read_safetensors(folder / "w.safetensors")
        for name, expected in self.expected.items():
            error, moved = numpy.abs(found[name] - expected).max(), numpy.abs(self.start[name] - expected).max()
            if error > 1e-4 * moved or moved < 1e-3:
                sys.exit(f"{folder.name}: {name} differs by {error:.2e}, it moved by {moved:.2e}\n{found[name]}\n{expected}")

    def resume(self, folder, mesh, rules):
        """Goes on from the checkpoint of another run, after its second step."""
        other = self.compile(mesh, rules, steps=STEPS)
        (checkpoint,) = [path for path in (folder / "c").iterdir() if "2" in path.name]
        call("./m", "--resume", checkpoint, "--save", "w.safetensors", "--quiet", cwd=other)
        self.compare(other)
        return (other / "w.safetensors").read_bytes()


STACK = """\
dim inputs = 6, hidden = 10
module Layer {{
  weight up: [inputs, hidden] = normal(0.5)
  weight down: [hidden, inputs] = normal(0.5)
  fn forward(x: [batch, inputs]) = x + tanh(x @ up) @ down
}}
model M {{
  weight scale: [inputs] = ones
  blocks = repeat(2) Layer()
  fn loss(x: [batch, inputs], t: [batch, inputs]) = mse(blocks(x) * scale, t)
}}
train M {{ data npy(x: "x.npy", t: "t.npy"); batch 12; steps {steps}; optimizer {optimizer} }}
plan p on mesh({mesh}) {{ shard batch: dp; microbatches 2; reproducible; {rules} }}
"""


def train_stack(work, optimizer, mesh, rules):
    folder = work / "stack"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = numpy.random.default_rng(7)
    for field in "xt":
        numpy.save(folder / f"{field}.npy", random.normal(size=(36, 6)).astype("f4"))
    (folder / "m.ptl").write_text(STACK.format(optimizer=optimizer, mesh=mesh, rules=rules, steps=STEPS))
    call("ptlc", "m.ptl", "--plan", "p", "--no-check", "-O1", "-o", "m", cwd=folder)
    call("./m", "--steps", "0", "--save", "start.safetensors", "--quiet", cwd=folder)
    call("./m", "--save", "end.safetensors", "--check-replicas", "--quiet", cwd=folder)
    return (read_safetensors(folder / f"{name}.safetensors") for name in ("start", "end"))


def check_stages(work):
    pipeline = "pipeline blocks, over: pp; "
    settings = [("dp = 2", ""), ("dp = 2, pp = 2", pipeline), ("dp = 2, pp = 2", f"{pipeline}zero 3, over: dp"), ("dp = 2", "zero 1, over: dp"),
                ("dp = 2", "zero 3, over: dp")]
    for optimizer in ("adamw(lr: 0.01), muon(lr: 0.02, in: (blocks.up, blocks.down))", "lamb(lr: 0.05)"):
        wide = None
        for precision in ("", "precision bf16; "):
            start, whole = train_stack(work, optimizer, settings[0][0], precision)
            wide = wide or whole
            for name, weight in whole.items():
                # Of single elements the first step of LAMB is a sign.
                error, moved = numpy.linalg.norm(weight - wide[name]), numpy.linalg.norm(wide[name] - start[name])
                if error > 0.2 * moved or moved < 1e-3:
                    sys.exit(f"{optimizer}, {precision}: {name} differs by {error:.2e}, it moved by {moved:.2e}")
            for mesh, rules in settings[1:]:
                _, found = train_stack(work, optimizer, mesh, precision + rules)
                other = [name for name in whole if whole[name].tobytes() != found[name].tobytes()]
                if other or len(found) != len(whole):
                    sys.exit(f"{optimizer}, mesh({mesh}) {precision}{rules}: other bits of {other}")
        print(f"ok {optimizer}: stages and parts, in f32 and bf16")


def main():
    case, work = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if case == "stages":
        return check_stages(work)
    runs = Runs(case, work)
    folder, _ = runs.train("dp = 1", "")
    # Muon keeps one state of a matrix, adamw and lamb two of each weight.
    states = json.loads(call("ptlc", "estimate", "m.ptl", "--plan", "p", "--json", cwd=folder))["stages"][0]["optimizer"]
    if states != 4 * (2 * 114 if case == "lamb" else 100 + 2 * 14):
        sys.exit(f"{case}: estimate counts {states} bytes of states")
    meshes = [("dp = 2", "shard batch: dp", range(4)), ("dp = 3", "shard batch: dp", range(4)), ("dp = 4", "shard batch: dp", (0, 3)),
              ("dp = 2, tp = 2", "shard batch: dp, hidden: tp", range(4)), ("dp = 2", "shard batch: dp; microbatches 3; reproducible", range(4)),
              ("tp = 3", "shard inputs: tp, outputs: tp", (0,))]
    for mesh, rules, levels in meshes:
        found = [runs.train(mesh, rules + (f"; zero {level}, over: dp" if level else "")) for level in levels]
        for level, (_, weights) in zip(levels, found):
            if weights != found[0][1]:
                sys.exit(f"{case}: mesh({mesh}) {rules}: level {level} and level {levels[0]} have other bits")
        print(f"ok {case}: mesh({mesh}) {rules}: levels {list(levels)}")
    folder, weights = runs.train("dp = 2", "shard batch: dp; zero 3, over: dp")
    if runs.resume(folder, "dp = 2", "shard batch: dp") != weights:
        sys.exit(f"{case}: other bits from a checkpoint")
    runs.resume(folder, "tp = 2", "shard hidden: tp")
    print(f"ok {case}: from a checkpoint")


if __name__ == "__main__":
    main()
