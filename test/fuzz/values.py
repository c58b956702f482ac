#!/usr/bin/env python3
"""Writes random .ptl programs that are right: every expression has a type, sizes are small and rarely round.

Usage: values.py SEED > program.ptl. The same seed gives the same program. A program is a model whose `loss` builds values
from data and weights by random operations, each allowed by the types at hand, and folds all that remain into one number.
"""
# SPDX-License-Identifier: Apache-2.0
import random
import sys

UNARY = ("tanh({})", "sigmoid({})", "relu({})", "gelu({})", "silu({})", "abs({})", "sin({})", "cos({})", "exp(tanh({}))",
         "sqrt(abs({}) + 1.0)", "rsqrt({0} * {0} + 1.0)", "log(abs({}) + 1.5)", "-{}", "0.5 * {}", "stop_gradient({})",
         "pow(abs({}) + 0.5, 1.5)")
BINARY = ("{} + {}", "{} - {}", "{} * {}", "max({}, {})", "min({}, {})", "{} / (1.0 + abs({}))", "where({} > 0.1, {}, 0.3)")
NAMES = ("rows", "width", "depth", "inner", "group", "slot")


class Program:
    """A program while it grows: dimensions, weights, statements, and the values in scope."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sizes = {name: self.random.choice((1, 2, 3, 4, 5, 6, 8, 12)) for name in NAMES}
        self.dims = []  # (name, text of the size), in order
        self.weights, self.statements, self.values, self.used, self.ints = [], [], {}, set(), {}
        self.batch = self.random.choice((1, 2, 3, 4, 6, 7))
        self.prefix = ""  # of names: those of two functions differ

    def fresh(self, stem):
        return f"{self.prefix}{stem}{len(self.statements) + len(self.weights) + len(self.dims)}"

    def some_dims(self, low, high, without=()):
        names = [name for name in self.sizes if name not in without]
        return self.random.sample(names, min(len(names), self.random.randint(low, high)))

    def new_dim(self, stem, size):
        name = self.fresh(stem)
        self.dims.append((name, size))
        self.sizes[name] = size
        return name

    def weight(self, dims):
        name = self.fresh("w")
        self.weights.append(f"  weight {name}: [{', '.join(dims)}] = normal({self.random.choice((0.1, 0.5, 1.0))})")
        self.values[name] = list(dims)
        return name

    def let(self, text, dims):
        name = self.fresh("v")
        kind = f": [{', '.join(dims)}]" if self.random.random() < 0.3 else ""
        self.statements.append(f"    let {name}{kind} = {text}")
        self.values[name] = list(dims)
        return name

    def pick(self, rank=0, where=lambda dims: True):
        """A value with at least `rank` dimensions; late ones are likelier, so that programs grow deep."""
        names = [name for name, dims in self.values.items() if len(dims) >= rank and where(dims)]
        if not names:
            return None
        name = names[max(self.random.randrange(len(names)), self.random.randrange(len(names)))]
        self.used.add(name)
        return name

    def feature_dim(self, dims):
        """A dimension that isn't the batch: folding that one non-linearly forbids micro-batches."""
        dims = [dim for dim in dims if dim != "batch"]
        return self.random.choice(dims) if dims else None


def add_unary(p):
    x = p.pick()
    p.let(p.random.choice(UNARY).format(x), p.values[x])


def add_binary(p):
    x = p.pick()
    dims = p.values[x]
    y = p.pick(where=lambda other: set(other) <= set(dims)) if p.random.random() < 0.7 else None
    y = y or p.weight(p.random.sample([d for d in dims if d != "batch"], p.random.randint(0, len([d for d in dims if d != "batch"]))))
    p.let(p.random.choice(BINARY).format(x, y), dims)


def add_matmul(p):
    x = p.pick(1, lambda dims: dims[-1] != "batch")
    if x:
        dims = p.values[x]
        out = p.some_dims(1, 2, dims)
        if out:
            p.let(f"{x} @ {p.weight([dims[-1], *out])}", dims[:-1] + out)


def add_dot(p):
    x = p.pick(1)
    dims = p.values[x]
    over = [dim for dim in dims if dim != "batch" and p.random.random() < 0.5]
    if over and len(dims) - len(over) < 4:
        others = p.some_dims(0, 1, dims)
        w = p.weight(over + others + [dim for dim in dims if dim not in over and dim != "batch" and p.random.random() < 0.3])
        rest = [dim for dim in dims + p.values[w] if dim not in over]
        p.let(f"dot({x}, {w}, over: ({', '.join(over)}))", list(dict.fromkeys(rest)))


def add_fold(p):
    x = p.pick(2)
    dim = x and p.feature_dim(p.values[x])
    if dim:
        kind = p.random.choice(("sum", "mean", "max", "min"))
        p.let(f"{kind}({x}, over: {dim})", [d for d in p.values[x] if d != dim])


def add_normal(p):
    x = p.pick(1)
    dim = p.feature_dim(p.values[x])
    if dim:
        p.let(f"{p.random.choice(('softmax', 'log_softmax', 'layer_norm', 'rms_norm'))}({x}, over: {dim})", p.values[x])


def add_reshape(p):
    x = p.pick(2)
    dim = x and p.feature_dim(p.values[x])
    if not dim:
        return
    dims, size = p.values[x], p.sizes[dim]
    place = dims.index(dim)
    after = dims[place + 1] if place + 1 < len(dims) else None
    if after and after != "batch" and size * p.sizes[after] < 64 and p.random.random() < 0.4:
        both = p.new_dim("both", size * p.sizes[after])
        p.let(f"reshape({x}, ({dim}, {after}) -> {both})", dims[:place] + [both] + dims[place + 2 :])
        return
    factor = next((f for f in (2, 3, 5) if size % f == 0 and size > f), 1)
    major, minor = p.new_dim("major", factor), p.new_dim("minor", size // factor)
    p.let(f"reshape({x}, {dim} -> ({major}, {minor}))", dims[:place] + [major, minor] + dims[place + 1 :])


def add_resize(p):
    x = p.pick(1)
    dim = p.feature_dim(p.values[x])
    if not dim:
        return
    dims, size = p.values[x], p.sizes[dim]
    kind = p.random.choice(("slice", "pad", "concat"))
    if kind == "slice" and size > 1:
        start = p.random.randrange(size - 1)
        new = p.new_dim("part", p.random.randint(1, size - start))
        text = f"slice({x}, {dim} -> {new}, from: {start})"
    elif kind == "pad":
        before = p.random.randint(0, 2)
        new = p.new_dim("wide", size + before + p.random.randint(0, 2))
        text = f"pad({x}, {dim} -> {new}, before: {before}, value: 0.25)"
    else:
        new = p.new_dim("double", 2 * size)
        other = p.new_dim("copy", size)
        p.let(f"reshape(0.5 * {x}, {dim} -> {other})", [other if d == dim else d for d in dims])
        text = f"concat({x}, {list(p.values)[-1]}, ({dim}, {other}) -> {new})"
        p.used.add(list(p.values)[-1])
    p.let(text, [new if d == dim else d for d in dims])


def add_lookup(p):
    if not p.ints:
        return
    field = p.random.choice(list(p.ints))
    of, dims = p.ints[field]
    extra = p.some_dims(1, 1, [*dims, of])
    if extra:
        p.let(f"{p.weight([of, *extra])}[{of}: {field}]", [*dims, *extra])


def add_loss(p):
    """A loss per target, kept as a value."""
    if not p.ints:
        return
    field = p.random.choice(list(p.ints))
    of, dims = p.ints[field]
    x = p.pick(1, lambda d: sorted(d) == sorted([*dims, of]))
    if x:
        p.let(f"cross_entropy({x}, {field}, over: {of}, reduce: false)", dims)


def add_attention(p):
    x = p.pick(2, lambda dims: "batch" in dims and len(dims) in (2, 3) and dims[-1] != "batch")
    if not x:
        return
    others = [dim for dim in p.values[x] if dim != "batch"]
    if len(others) != 2:
        return
    seq, width = others
    heads, depth = p.new_dim("heads", p.random.choice((1, 2, 3))), p.new_dim("hdim", p.random.choice((2, 4)))
    q, k, v = (f"dot({x}, {p.weight([width, heads, depth])}, over: {width})" for _ in range(3))
    causal = p.random.choice(("true", "false"))
    p.let(f"attention({q}, {k}, {v}, over: {seq}, causal: {causal})", ["batch", seq, heads, depth])


def add_index(p):
    """Operations on indices: one_hot, iota, argmax, top_k."""
    kind = p.random.choice(("one_hot", "iota", "argmax", "top_k"))
    if kind == "one_hot" and not p.ints:
        return None
    if kind == "one_hot":
        of, dims = p.ints["label"]
        return p.let(f"one_hot(label, {of}) * {p.weight([of])}", [*dims, of])
    x = p.pick(1)
    dim = p.feature_dim(p.values[x])
    if not dim:
        return None
    rest = [d for d in p.values[x] if d != dim]
    if kind == "iota":
        return p.let(f"{x} * (0.5 + float(iota({dim})))", p.values[x])
    if kind == "argmax":
        return p.let(f"0.1 * float(argmax({x}, over: {dim}))", rest)
    chosen = p.new_dim("best", p.random.randint(1, p.sizes[dim]))
    values, indices = p.fresh("v"), p.fresh("i")
    p.statements.append(f"    let ({values}, {indices}) = top_k({x}, {dim} -> {chosen})")
    p.values[values] = [chosen if d == dim else d for d in p.values[x]]
    return p.let(f"{values} + 0.1 * float({indices})", p.values[values])


def add_new_dim(p):
    x = p.pick()
    dims = p.values[x]
    if p.random.random() < 0.5:
        new = p.some_dims(1, 1, dims)
        if new:
            p.let(f"expand({x}, ({new[0]})) * {p.weight(new)}", [*new, *dims])
    else:
        two = p.new_dim("both", 2)
        p.let(f"stack(({x}, tanh({x})), {two})", [two, *dims])


def add_rope(p):
    x = p.pick(2, lambda dims: dims[-1] != "batch" and any(d not in ("batch", dims[-1]) for d in dims))
    if x and p.sizes[p.values[x][-1]] % 2 == 0:
        dims = p.values[x]
        along = p.random.choice([d for d in dims[:-1] if d != "batch"])
        p.let(f"rope({x}, over: {dims[-1]}, along: {along}, theta: 100.0)", dims)


ADD = (add_unary, add_unary, add_binary, add_binary, add_matmul, add_matmul, add_dot, add_fold, add_normal, add_reshape, add_resize,
       add_lookup, add_loss, add_attention, add_index, add_new_dim, add_rope)


def generate(seed, plan="dp = 2", most=18):
    """Returns the text of one program. Its plan `p` shards the batch over `dp`."""
    p = Program(seed)
    base = dict(p.sizes)
    fields = {}
    for name in ("x", "y"):
        dims = ["batch", *p.some_dims(1, 2)]
        p.values[name] = dims
        fields[name] = f"[{', '.join(dims)}]"
    classes = p.random.choice(NAMES)
    dims = ["batch", *p.some_dims(0, 1, [classes])]
    p.ints["label"] = (classes, dims)
    fields["label"] = f"int[{', '.join(dims)}]"
    for _ in range(p.random.randint(4, most)):
        p.random.choice(ADD)(p)
        if max(len(dims) for dims in p.values.values()) > 5:
            break
    if not p.weights:
        x = p.pick()
        p.let(f"{x} * {p.weight([])}", p.values[x])
    weights = [line.split()[1].rstrip(":") for line in p.weights]
    open_ends = [name for name in p.values if name not in p.used or name in weights] or list(p.values)
    terms = [f"{p.random.choice(('mean', 'mean', 'sum'))}(tanh({name}))" if p.values[name] else f"tanh({name})" for name in open_ends]
    sizes = [f"dim {name} = {size}" for name, size in [*base.items(), *p.dims]]
    optimizer = p.random.choice(("sgd(lr: 0.01)", "sgd(lr: 0.01, momentum: 0.9)", "sgd(lr: 0.01, momentum: 0.9, nesterov: true)",
                                 "adamw(lr: 1e-3, betas: (0.9, 0.95), eps: 1e-8, weight_decay: 0.1)"))
    micro = f"; microbatches {p.random.choice((2, 3))}" if p.random.random() < 0.3 else ""
    arguments = ", ".join(f"{name}: {kind}" for name, kind in fields.items())
    data = ", ".join(f'{name}: "{name}.npy"' for name in fields)
    return "\n".join([f"// Generated from seed {seed}.", f"// Labels are below {base[classes]}.", *sizes, "", "model Random {", *p.weights, "", f"  fn loss({arguments}) {{",
                      *p.statements, f"    return {' + '.join(terms)}", "  }", "}", "", "train Random {", f"  data npy({data})",
                      f"  batch {p.batch}", "  steps 2", f"  optimizer {optimizer}", "}", "",
                      f"plan p on mesh({plan}) {{ shard batch: dp{micro} }}", ""])


if __name__ == "__main__":
    print(generate(int(sys.argv[1])), end="")
