#!/usr/bin/env python3
"""Writes random .ptl programs with random plans: shard rules of all strengths on meshes of one to three axes.

Usage: shardings.py SEED > program.ptl. The same seed gives the same program. The operations are those of values.py; a stack of
blocks, applied once or twice, stands between, so that paths and `between:` have something to name. Every statement, weight, rule
and term of the loss has a line of its own, which is what shrink.py drops.
"""
# SPDX-License-Identifier: Apache-2.0
import random
import re
import sys

import values

AXES = ("dp", "tp", "sp")


def add_random(p):
    x = p.pick()
    p.let(p.random.choice(("dropout({}, 0.3)", "{} + 0.1 * random_normal({})", "{} * random_uniform({})")).format(
        x, "(" + ", ".join(p.values[x]) + ")"), p.values[x])


def add_hidden(p):
    """Two products, there and back: what tensor parallelism is for."""
    x = p.pick(2, lambda dims: dims[-1] != "batch")
    hidden = x and p.some_dims(1, 1, p.values[x])
    if hidden:
        dims, act = p.values[x], p.random.choice(("gelu", "relu", "silu", "tanh"))
        bias = p.weight(hidden)
        inner = p.let(f"{act}({x} @ {p.weight([dims[-1], *hidden])} + {bias})", dims[:-1] + hidden)
        p.let(f"{x} + {inner} @ {p.weight([*hidden, dims[-1]])}", dims)
        p.used.add(inner)


def add_heads(p):
    """Attention with fewer key heads, to other positions, with a window."""
    x = p.pick(3, lambda dims: "batch" in dims and len(dims) == 3 and dims[-1] != "batch")
    if not x:
        return
    seq, width = [dim for dim in p.values[x] if dim != "batch"]
    groups, depth = p.random.choice((1, 2, 3)), p.new_dim("hdim", p.random.choice((1, 2, 4)))
    kv = p.new_dim("kv", groups)
    heads = p.new_dim("heads", groups * p.random.choice((1, 2, 3)))
    q, k, v = (f"dot({x}, {p.weight([width, count, depth])}, over: {width})" for count in (heads, kv, kv))
    if p.random.random() < 0.4:
        key, text = p.new_dim("key", p.sizes[seq]), "over: {}"
        k, v = (f"reshape({name}, {seq} -> {key})" for name in (k, v))
        text = f"over: {key}"
    else:
        text = f"over: {seq}, causal: true" + (f", window: {p.random.randint(1, 3)}" if p.random.random() < 0.3 else "")
    p.let(f"attention({q}, {k}, {v}, {text}, group: {heads} -> {kv})", ["batch", seq, heads, depth])


def add_classes(p):
    """A loss over classes, whose table may be one that looks them up, too: a total over the batch."""
    if not p.ints or not p.whole:
        return
    of, dims = p.ints["label"]
    x = p.pick(1, lambda d: set(dims) < set(d) and of not in d and len(d) == len(dims) + 1)
    if x:
        width = next(dim for dim in p.values[x] if dim not in dims)
        tables = [name for name, d in p.values.items() if d == [of, width]]
        table = p.random.choice(tables) if tables else p.weight([of, width])
        ignore = f", ignore: {p.random.randrange(p.sizes[of])}" if p.random.random() < 0.5 else ""
        p.let(f"cross_entropy(dot({x}, {table}, over: {width}), label, over: {of}{ignore})", [])


def add_statistic(p):
    """A sum over the batch that isn't the loss: with micro-batches an error."""
    x = p.pick(1, lambda dims: "batch" in dims)
    if x and p.whole:
        kind = p.random.choice(("mean", "sum", "max", "softmax"))
        rest = [dim for dim in p.values[x] if dim != "batch"]
        p.let(f"0.1 * {kind}({x}, over: batch)", p.values[x] if kind == "softmax" else rest)


ADD = (*values.ADD, values.add_matmul, values.add_dot, values.add_normal, add_random, add_hidden, add_hidden, add_heads, add_classes,
       add_statistic)


def grow(p, least, most):
    for _ in range(p.random.randint(least, most)):
        p.random.choice(ADD)(p)
        if max(len(dims) for dims in p.values.values()) > 4:
            break


def open_ends(p):
    weights = [line.split()[1].rstrip(":") for line in p.weights]
    return [name for name in p.values if name not in p.used or name in weights] or list(p.values)


def fold_to(p, name, dims):
    """The value `name` as a term of a sum of type `dims`."""
    rest = [dim for dim in p.values[name] if dim not in dims]
    text = f"mean({name}, over: ({', '.join(rest)}))" if rest else name
    return f"tanh({text})"


def lines_of(terms, indent):
    return [f"{indent}return 0.0", *(f"{indent}  + {term}" for term in terms)]


class Case:
    """A program and its plan while they grow."""

    def __init__(self, seed):
        self.random = random.Random(f"shardings {seed}")
        self.seed = seed
        self.main = values.Program(seed)
        self.main.random = self.random
        self.micro = self.random.choice((2, 3)) if self.random.random() < 0.25 else 1
        self.main.whole = self.micro == 1
        self.block = None
        if self.random.random() < 0.5:
            self.make_block()
        self.make_loss()
        self.make_mesh()
        self.make_plan()

    def make_block(self):
        block = self.block = values.Program(self.seed)
        block.random, block.sizes, block.dims, block.prefix = self.random, self.main.sizes, self.main.dims, "b"
        block.whole = self.main.whole
        self.state = ["batch", *self.main.some_dims(1, 2)]
        block.values["h"] = self.state
        grow(block, 2, 6)
        self.count = self.random.randint(1, 3)

    def make_loss(self):
        p = self.main
        self.fields = {}
        for name in ("x", "y"):
            dims = self.state if name == "x" and self.block else ["batch", *p.some_dims(1, 2)]
            p.values[name] = dims
            self.fields[name] = f"[{', '.join(dims)}]"
        self.classes = self.random.choice(values.NAMES)
        dims = ["batch", *p.some_dims(0, 1, [self.classes])]
        p.ints["label"] = (self.classes, dims)
        self.fields["label"] = f"int[{', '.join(dims)}]"
        if self.block:
            p.let("blocks(x)", self.state)
            if self.random.random() < 0.3:
                p.let(f"blocks({p.pick(where=lambda d: d == self.state)})", self.state)
        grow(p, 3, 9)
        if not p.weights:
            x = p.pick()
            p.let(f"{x} * {p.weight([])}", p.values[x])

    def make_mesh(self):
        count = self.random.choice((1, 1, 2, 2, 3))
        while True:
            sizes = [self.random.choice((1, 2, 2, 3, 4)) for _ in range(count)]
            product = 1
            for size in sizes:
                product *= size
            if 1 < product <= 12:
                break
        self.mesh = dict(zip(self.random.sample(AXES, count), sizes))

    def axes(self):
        choice = self.random.random()
        if choice < 0.1:
            return "none"
        if choice < 0.3 and len(self.mesh) > 1:
            return f"({', '.join(self.random.sample(list(self.mesh), 2))})"
        return self.random.choice(list(self.mesh))

    def named(self):
        """What paths can name, with its dimensions."""
        found = {name: dims for name, dims in self.main.values.items() if name not in self.fields}
        if self.block:
            for name, dims in self.block.values.items():
                part = self.random.choice(("blocks", "blocks", f"blocks.{self.random.randrange(self.count)}"))
                found[f"{part}.{name}"] = dims
        return {name: dims for name, dims in found.items() if dims}

    def make_plan(self):
        used = sorted({dim for p in (self.main, self.block) if p for dims in p.values.values() for dim in dims} - {"batch"})
        taken, self.rules, named = set(), [], self.named()
        if self.random.random() < 0.4:
            axis = self.random.choice(list(self.mesh))
            self.rules, taken = [f"shard batch: {axis}"], {"batch", axis}
        for _ in range(self.random.randint(1, 5)):
            choice, axes = self.random.random(), self.axes()
            if choice < 0.55:
                dim = self.random.choice(["batch", *used])
                # Two dimensions of a weight on one axis are an error: mostly each axis has one.
                if dim in taken or (self.random.random() < 0.8 and taken & set(re.findall(r"\w+", axes)) - {"none"}):
                    continue
                taken |= {dim, *re.findall(r"\w+", axes)}
                self.rules.append(f"shard {dim}: {axes}")
            elif choice < 0.85 and named:
                name = self.random.choice(list(named))
                self.rules.append(f"shard {self.random.choice(named[name])}: {axes}, in: {name}")
            elif self.block:
                self.rules.append(f"shard {self.random.choice(self.state)}: {axes}, between: blocks")

    def advise(self, line):
        """Advice for a dimension of a declared type."""
        # One weight at least must be trained: the first isn't frozen.
        if line.startswith("  weight") and line not in (self.main.weights[:1]) and self.random.random() < 0.1:
            line = line.replace("weight", "frozen weight", 1)
        kind = re.search(r": \[([^\]]+)\] =", line)
        if not kind or self.random.random() > 0.15:
            return line
        dims = kind[1].split(", ")
        place = self.random.randrange(len(dims))
        dims[place] += f" @ {self.axes()}"
        return line.replace(kind[0], f": [{', '.join(dims)}] =")

    def module(self):
        p = self.block
        if not p:
            return []
        terms = [fold_to(p, name, self.state) for name in open_ends(p) if name != "h"]
        return ["module Block {", *map(self.advise, p.weights), f"  fn forward(h: [{', '.join(self.state)}]) {{",
                *map(self.advise, p.statements), "    return h", *(f"      + {term}" for term in terms), "  }", "}", ""]

    def optimizer(self):
        plain = self.random.choice(("sgd(lr: 1.0)", "sgd(lr: 1.0, momentum: 0.9)", "sgd(lr: 1.0, momentum: 0.9)",
                                    "adamw(lr: 1e-2, betas: (0.9, 0.95), eps: 1e-8, weight_decay: 0.1)"))
        whole = random.Random(f"optimizer {self.seed}")  # others keep the programs of their seeds
        matrix = re.match(r"  weight (\w+): \[\w+, \w+\]", self.main.weights[0]) if self.main.weights else None
        muon = f"{plain}, muon(lr: 1e-2, in: {matrix[1]})" if matrix else plain
        return whole.choice((plain, plain, muon, "lamb(lr: 1e-2)"))

    def text(self):
        p = self.main
        terms = [f"{self.random.choice(('mean', 'mean', 'sum'))}(tanh({name}))" if p.values[name] else f"tanh({name})"
                 for name in open_ends(p)]
        sizes = [f"dim {name} = {size}" for name, size in
                 [*((name, p.sizes[name]) for name in values.NAMES), *p.dims]]
        optimizer = self.optimizer()
        clip = ["  clip 0.5"] if self.random.random() < 0.2 else []
        metric = [f"    metric seen = mean({p.pick(1)})"] if self.random.random() < 0.2 else []
        evaluation = ["  eval npy(" + ", ".join(f'{name}: "{name}.npy"' for name in self.fields) + "), every: 1"] if self.random.random() < 0.2 else []
        arguments = ", ".join(f"{name}: {kind}" for name, kind in self.fields.items())
        data = ", ".join(f'{name}: "{name}.npy"' for name in self.fields)
        mesh = ", ".join(f"{axis} = {size}" for axis, size in self.mesh.items())
        beside = ["overlap", "bucket 256 B"] if random.Random(f"overlap {self.seed}").random() < 0.3 else []
        plan = [*self.rules, *([f"microbatches {self.micro}"] if self.micro > 1 else []), *beside]
        blocks = [f"  blocks = repeat({self.count}) Block()"] if self.block else []
        module = self.module()
        return "\n".join([
            f"// Generated from seed {self.seed}.", f"// Labels are below {p.sizes[self.classes]}.", *sizes, "", *module, "model Random {",
            *blocks, *map(self.advise, p.weights), "", f"  fn loss({arguments}) {{", *map(self.advise, p.statements), *metric,
            *lines_of(terms, "    "), "  }", "}", "", "train Random {", f"  data npy({data})", f"  batch {p.batch}", "  steps 2", *clip, *evaluation,
            f"  optimizer {optimizer}", "}", "", f"plan p on mesh({mesh}) {{", *(f"  {line}" for line in plan), "}", ""])


def generate(seed):
    return Case(seed).text()


if __name__ == "__main__":
    print(generate(int(sys.argv[1])), end="")
