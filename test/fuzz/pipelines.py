#!/usr/bin/env python3
"""Looks for programs whose pipeline changes what they compute.

Usage: pipelines.py WORKDIR [--seed N] [--count N] [--jobs N] | pipelines.py --print SEED
Random models with stacks of layers, values that skip layers, integers and masks that travel, tied weights, optimizers of all kinds, and plans
with any schedule, number of stages, micro-batches and copies, level of `zero` and kind of `remat`, precision, sequence parallelism and uneven
batches. Each program is compiled for its plan and must pass its own `--check` against one rank (but in bf16); under `reproducible` losses,
norms, metrics, evaluations and weights of two steps must be, bit for bit, those of the same plan without a pipeline, parts and recomputation. A finding
leaves its program and output in WORKDIR/<seed>.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import json
import pathlib
import random
import re
import shutil
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "execute")]
from golden import read_safetensors  # noqa: E402
from runner import Finding, call  # noqa: E402

SCHEDULES = ("gpipe", "one_f_one_b", "interleaved({})", "zb_h1", "zb_v")
ACTS = ("tanh", "gelu", "silu", "relu")
# What a plan may be refused for.
KNOWN = re.compile(r"more stages than|stages? .* layers|axis 'tp'")


class Writer:
    """A program while it grows: lines of modules, of the model, and what a layer is called with."""

    def __init__(self, seed):
        self.random = random.Random(f"pipelines {seed}")
        self.modules = []
        self.extra = []  # values beside h that each layer gets
        self.random_kinds()

    def maybe(self, share):
        return self.random.random() < share

    def random_kinds(self):
        self.extra = [name for name, share in (("e", 0.35), ("tokens", 0.35), ("mask", 0.3)) if self.maybe(share)]
        self.tied = self.maybe(0.4)
        self.attends = self.maybe(0.4)

    def layer(self, name, width):
        """A module that returns what it takes, and may read e (the embedding), tokens (integers) and mask."""
        weights = [f"  weight up: [embed, {width}] = normal(0.3)", f"  weight down: [{width}, embed] = normal(0.3)"]
        lines = ["    let a = x"]
        if self.maybe(0.5):
            weights.insert(0, "  norm = nn.LayerNorm(embed)")
            lines = ["    let a = norm(x)"]
        if self.attends:
            weights += [f"  weight w{n}: [embed, heads, hdim] = normal(0.3)" for n in "qkv"] + ["  weight wo: [heads, hdim, embed] = normal(0.3)"]
            lines.append("    let b = a + dot(attention(a @ wq, a @ wk, a @ wv, over: seq, causal: true), wo, over: (heads, hdim))")
        else:
            lines.append("    let b = a")
        act = self.random.choice(ACTS)
        if self.maybe(0.4):
            weights.append(f"  weight bias: [{width}] = normal(0.1)")
            lines.append(f"    let c = {act}(b @ up + bias) @ down")
        else:
            lines.append(f"    let c = {act}(b @ up) @ down")
        if "e" in self.extra:
            lines.append("    let f = c + 0.3 * e" if self.maybe(0.5) else "    let f = c * sigmoid(e)")
        else:
            lines.append("    let f = c")
        if "tokens" in self.extra:
            weights.append("  weight table: [vocab, embed] = normal(0.2)")
            lines.append("    let g = f + table[vocab: tokens]")
        else:
            lines.append("    let g = f")
        lines.append("    return x + g * mask" if "mask" in self.extra else "    return x + g")
        kinds = {"e": "[batch, seq, embed]", "tokens": "int[batch, seq]", "mask": "[batch, seq]"}
        arguments = "".join(f", {value}: {kinds[value]}" for value in self.extra)
        self.modules += [f"module {name} {{", *weights, f"  fn forward(x: [batch, seq, embed]{arguments}) {{", *lines, "  }", "}"]

    def model(self):
        self.layers = self.random.randint(2, 7)
        self.stacks = ["blocks"]
        self.layer("Block", "ffn")
        parts = ["  weight wte: [vocab, embed] = normal(0.3)", f"  blocks = repeat({self.layers}) Block()"]
        arguments = "".join(f", {value}" for value in self.extra)
        metrics = random.Random(f"metrics {self.layers} {self.tied} {arguments}")
        body = ["    let e = wte[vocab: tokens]", *(["    let mask = weights"] if "mask" in self.extra else []),
                f"    let h = blocks(e{arguments})"]
        if self.maybe(0.3):
            self.layer("Tail", "wide")
            more = self.random.randint(1, 3)
            self.layers += more
            self.stacks.append("tail")
            parts.append(f"  tail = repeat({more}) Tail()")
            body.append(f"    let t = tail(h{arguments})")
        else:
            body.append("    let t = h")
        if self.maybe(0.3):
            parts.append("  norm = nn.LayerNorm(embed)")
            body.append("    let u = norm(t)")
        else:
            body.append("    let u = t")
        body.append("    let v = u + 0.5 * e" if self.maybe(0.3) else "    let v = u")
        for name in metrics.sample(("e", "h", "t", "v"), metrics.choice((0, 0, 1, 3))):
            body.append(f"    metric of_{name} = mean({name} * {name})")
        if self.tied:
            body.append("    let logits = dot(v, wte, over: embed)")
        else:
            parts.append("  weight head: [embed, vocab] = normal(0.3)")
            body.append("    let logits = v @ head")
        ignore = ", ignore: 0" if self.maybe(0.4) else ""
        body.append(f"    return cross_entropy(logits, targets, over: vocab{ignore})")
        return ["model Net {", *parts, "  fn loss(tokens: int[batch, seq], targets: int[batch, seq], weights: [batch, seq]) {", *body, "  }", "}"]

    def schedule(self, stages):
        fitting = [kind for kind in SCHEDULES if (kind != "zb_v" and "(" not in kind) or 2 * stages <= self.layers]
        return self.random.choice(fitting).format(2)

    def plan(self):
        stages = self.random.randint(2, min(4, self.layers))
        self.copies = self.random.choice((1, 1, 1, 2, 3)) if stages < 4 else 1
        tensors = self.random.choice((1, 1, 1, 2)) if stages * self.copies <= 4 else 1
        self.micro = self.random.choice((1, 2, 3, 4, 8))
        axes = [f"pp = {stages}", *([f"dp = {self.copies}"] if self.copies > 1 else []), *([f"tp = {tensors}"] if tensors > 1 else [])]
        self.random.shuffle(axes)
        rules = [*(["batch: dp"] if self.copies > 1 else []), *(["ffn: tp", "heads: tp"] if tensors > 1 else [])]
        stacks = f"({', '.join(self.stacks)})" if len(self.stacks) > 1 else self.stacks[0]
        # Others keep the programs of their seeds. In bf16 a gradient on one rank has other roundings than a check allows for: bits are compared.
        self.half = random.Random(f"precision {stages} {self.layers} {self.micro} {self.copies} {self.tied}").random() < 0.25
        self.reproducible = self.maybe(0.6) or self.half
        common = [*([f"  shard {', '.join(rules)}"] if rules else []), f"  microbatches {self.micro}", *(["  reproducible"] if self.reproducible else [])]
        if tensors > 1 and self.maybe(0.5):
            common.append("  shard seq: tp, between: blocks")
        if self.half:
            common.append("  precision bf16")
        others = [axis for axis in axes if not axis.startswith("pp")] or ["dp = 1"]
        return [f"plan p on mesh({', '.join(axes)}) {{", f"  pipeline {stacks}, over: pp, schedule: {self.schedule(stages)}", *common, *self.storage(), "}",
                f"plan plain on mesh({', '.join(others)}) {{", *common, "}"]

    def storage(self):
        """What changes where values live, but not what they are."""
        lines = []
        if self.copies > 1 and self.maybe(0.7):
            part = self.random.choice(("", "", ", in: blocks", ", in: blocks[0]"))
            lines.append(f"  zero {self.random.randint(1, 3)}, over: dp{part}")
            if self.maybe(0.3):
                lines.append("  bucket 1 KB")
        if self.maybe(0.4):
            lines.append(f"  remat {self.random.choice(('full', 'full, in: blocks[1]', *(['attention', 'selective'] if self.attends else [])))}")
        return lines

    def optimizer(self):
        plain = self.random.choice(("sgd(lr: 0.1)", "sgd(lr: 0.05, momentum: 0.9)", "adamw(lr: 0.01)", "lion(lr: 0.001)"))
        whole = random.Random(f"optimizer {self.layers} {self.micro} {self.batch} {plain}")  # others keep the programs of their seeds
        matrices = whole.choice(("blocks.up", "blocks.down", "(blocks.up, blocks.down)"))
        muon = f"adamw(lr: 0.01), muon(lr: 0.02{whole.choice(('', ', adjust_lr: match_rms_adamw'))}, in: {matrices})"
        return whole.choice((plain, plain, muon, "lamb(lr: 0.01)"))

    def train(self):
        self.batch = self.micro * self.copies * self.random.choice((1, 2)) + (self.random.randint(1, 2) if self.maybe(0.25) else 0)
        return ["train Net {", '  data npy(tokens: "tokens.npy", targets: "targets.npy", weights: "weights.npy")', f"  batch {self.batch}",
                '  eval npy(tokens: "held_tokens.npy", targets: "held_targets.npy", weights: "held_weights.npy"), every: 1',
                "  steps 2", f"  optimizer {self.optimizer()}", *(["  clip 0.5"] if self.maybe(0.5) else []), "}"]

    def text(self):
        model = self.model()
        plan = self.plan()
        train = self.train()
        sizes = "dim vocab = 11, seq = 6, embed = 8, ffn = 12, wide = 10, heads = 2, hdim = 4"
        return "\n".join(["import std.nn", "", sizes, *self.modules, *model, *train, *plan, ""])


def write_data(work, writer, seed):
    rng = numpy.random.default_rng(seed)
    # The last batch of an evaluation is a short one.
    for kind, count in (("", 2 * writer.batch), ("held_", writer.batch + 1)):
        for name in ("tokens", "targets"):
            numpy.save(work / f"{kind}{name}.npy", rng.integers(0, 11, (count, 6)).astype("i4"))
        numpy.save(work / f"{kind}weights.npy", rng.integers(0, 2, (count, 6)).astype("f4"))


def compare_logs(work):
    logs = []
    for name in ("one", "pipe"):
        lines = [json.loads(line) for line in (work / f"{name}.jsonl").read_text().splitlines()]
        logs.append([{key: value for key, value in line.items() if key not in ("ms", "tokens_s")} for line in lines])
    if logs[0] != logs[1]:
        raise Finding(f"'reproducible': expected the log {logs[0]}, found {logs[1]}")


def compare_bits(work):
    expected, found = (read_safetensors(work / f"{name}.safetensors") for name in ("one", "pipe"))
    if set(expected) != set(found):
        raise Finding(f"other weights than expected: {sorted(set(found) ^ set(expected))}")
    for name in expected:
        if expected[name].tobytes() != found[name].tobytes():
            error = numpy.abs(expected[name] - found[name]).max()
            raise Finding(f"'reproducible': weight '{name}' isn't the same bits as in plain plan, but off by {error}")


def try_program(work, seed):
    """Returns the message of a refusal, or ''."""
    writer = Writer(seed)
    (work / "p.ptl").write_text(writer.text())
    write_data(work, writer, seed)
    status, output = call(work, "ptlc", "p.ptl", "--plan", "p", "-O1", "-o", "pipe", status=(0, 1))
    if status:
        message = re.search(r"error: (.*)", output)
        if not message or not KNOWN.search(message[1]):
            raise Finding(f"refused:\n{output}")
        return message[1]
    if not writer.half:
        call(work, "./pipe", "--check", "2")
    if writer.reproducible:
        call(work, "ptlc", "p.ptl", "--plan", "plain", "-O1", "--no-check", "-o", "one")
        for name in ("one", "pipe"):
            call(work, f"./{name}", "--quiet", "--save", f"{name}.safetensors", "--log", f"{name}.jsonl")
        compare_bits(work)
        compare_logs(work)
    return ""


def try_seed(root, seed):
    work = root / str(seed)
    work.mkdir()
    try:
        refusal = try_program(work, seed)
    except Finding as finding:
        (work / "finding.txt").write_text(str(finding))
        return f"seed {seed}: {finding}", ""
    shutil.rmtree(work)
    return "", refusal


def main():
    if sys.argv[1:2] == ["--print"]:
        print(Writer(int(sys.argv[2])).text(), end="")
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    shutil.rmtree(options.workdir, ignore_errors=True)
    options.workdir.mkdir(parents=True)
    root = options.workdir.resolve()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda seed: try_seed(root, seed), range(options.seed, options.seed + options.count)))
    findings, refused = [f for f, _ in results if f], [r for _, r in results if r]
    for finding in findings:
        print(finding)
    print(f"pipelines: {len(results)} programs, {len(refused)} refused, {len(findings)} findings")
    return 1 if findings or len(refused) > len(results) / 3 else 0


if __name__ == "__main__":
    sys.exit(main())
