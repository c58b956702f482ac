#!/usr/bin/env python3
"""Feeds ptlc random programs that use the whole grammar, most of them right, and looks for crashes and hangs.

Usage: ptl_fuzz.py WORKDIR [--count N] [--seed N] [--mode check|obj] [--mutate SHARE] [--fmt] [--jobs N] [--min-share S]
       ptl_fuzz.py --print SEED
generate.py writes deep expressions inside one function and compares what they compute; this one writes modules with
parameters, stacks, helper functions, loops, imports, training and plans of all kinds in any layout of lines and comments. It
tracks the type of every expression, so a program that isn't damaged on purpose should be accepted: refusals of those are
counted by message, for each is a fault of the compiler or of this file.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import concurrent.futures
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys

LIMIT = 10  # seconds of processor time for one run of ptlc: a busy machine is no hang
PATIENCE = 300  # seconds of waiting for it
CRASH = re.compile(r"PLEASE submit|Stack dump|LLVM ERROR|Assertion|AddressSanitizer|runtime error:|terminate called")
TOKENS = re.compile(r'"[^"\n]*"|//[^\n]*|\w+|\s+|.')
STRANGE = ["{", "}", "(", ")", "[", "]", ",", '"', ";", "\n", "é", "->", "..", "@", "if", "fn", "model", "1e99", "-", ":", "=", "\0"]
UNARY = ("tanh", "sigmoid", "relu", "gelu", "silu", "sin", "cos", "stop_gradient", "abs")


class Writer:
    """Random choices, fresh names, and the dimensions of one program."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.counter = 0
        self.size = {}                                   # dimension -> size
        self.decls = []                                  # (name, text), in order
        for stem in self.rng.sample(("width", "depth", "seq", "heads", "slots", "classes"), 4):
            self.dim(stem, self.rng.choice((1, 2, 3, 4, 6)))
        a, b = self.rng.sample(sorted(self.size), 2)
        self.product = (self.dim("both", self.size[a] * self.size[b], f"{a} * {b}"), a, b)
        self.sum = (self.dim("joined", self.size[a] + self.size[b], f"{a} + {b}"), a, b)
        self.twin = (self.dim("twin", self.size[a], a), a)
        self.consts = {"rate": "0.1", "scale": f"1 / sqrt({a})", "times": str(self.rng.randint(1, 3)), "on": self.rng.choice(("true", "false"))}

    def chance(self, share):
        return self.rng.random() < share

    def pick(self, items):
        return self.rng.choice(list(items))

    def fresh(self, stem):
        self.counter += 1
        return f"{stem}{self.counter}"

    def dim(self, name, size, text=None):
        self.size[name] = size
        self.decls.append((name, text or str(size)))
        return name


class Expressions:
    """Writes expressions of a wanted type from the values in scope. A type is (kind, frozenset of dimensions)."""

    def __init__(self, writer, values, parts=(), functions=(), make_weight=None):
        self.w, self.values, self.parts, self.functions, self.make_weight = writer, dict(values), parts, functions, make_weight

    def named(self, kind, dims):
        return [name for name, (k, d) in self.values.items() if k == kind and d == dims]

    def leaf(self, dims):
        """A float value: one in scope, a weight made for it, or one of these, expanded."""
        names = self.named("float", dims)
        if names and self.w.chance(0.8):
            return self.w.pick(names)
        if not dims:
            return self.w.pick(("0.5", "rate", "2.0", "1e-2", "float(times)", "scale"))
        if self.make_weight and "batch" not in dims:
            return self.make_weight(dims)
        smaller = [name for name, (k, d) in self.values.items() if k == "float" and d < dims]
        if not smaller:
            return f"random_normal({self.listed(dims)})" if self.w.chance(0.5) else f"expand({self.leaf(frozenset())}, {self.listed(dims)})"
        name = self.w.pick(smaller)
        return f"expand({name}, {self.listed(dims - self.values[name][1])})"

    def listed(self, dims):
        order = sorted(dims)
        self.w.rng.shuffle(order)
        return order[0] if len(order) == 1 and self.w.chance(0.8) else f"({', '.join(order)})" if len(order) > 1 else f"({order[0]},)"

    def some(self, dims, least=0):
        order = sorted(dims)
        return frozenset(self.w.rng.sample(order, self.w.rng.randint(least, len(order))))

    def other(self, dims):
        """A dimension that these lack."""
        free = sorted(set(self.w.size) - dims)
        return self.w.pick(free) if free else None

    def integer(self, dims, depth):
        names = self.named("int", dims)
        free = self.other(dims)
        if names and self.w.chance(0.6) or not free:
            return self.w.pick(names) if names else f"int({self.leaf(dims)})"
        if len(dims) == 1 and self.w.chance(0.3):
            return f"iota({next(iter(dims))})"
        return f"argmax({self.floats(dims | {free}, depth - 1)}, over: {free})"

    def condition(self, dims, depth):
        part = self.some(dims)
        both = [self.floats(dims, depth - 1), self.floats(part, depth - 1)]
        self.w.rng.shuffle(both)
        text = f"{both[0]} {self.w.pick(('<', '<=', '>', '>=', '==', '!='))} {both[1]}"
        if self.w.chance(0.2):
            text = f"not ({text})"
        if depth > 1 and self.w.chance(0.2):
            text = f"({text} {self.w.pick(('and', 'or'))} {self.condition(dims, depth - 1)})"
        return text

    def floats(self, dims, depth):
        if depth <= 0 or len(dims) > 5:
            return self.leaf(dims)
        return self.w.pick((self.unary, self.binary, self.choose, self.fold, self.contract, self.special, self.shape, self.call))(dims, depth)

    def unary(self, dims, depth):
        inner = self.floats(dims, depth - 1)
        texts = [f"{self.w.pick(UNARY)}({inner})", f"-({inner})", f"pow(abs({inner}) + 0.5, {self.w.pick(('2', '1.5', 'times'))})",
                 f"float(int({inner}))", f"dropout({inner}, rate)", f"({inner},)" if self.w.chance(0.05) else f"({inner})"]
        return self.w.pick(texts)

    def binary(self, dims, depth):
        both = [self.floats(dims, depth - 1), self.floats(self.some(dims), depth - 1)]
        self.w.rng.shuffle(both)
        a, b = both
        return self.w.pick((f"({a} + {b})", f"({a} - {b})", f"{a} * {b}".join("()"), f"max({a}, {b})", f"min({a}, {b})",
                            f"({a} / (1.0 + abs({b})))"))

    def choose(self, dims, depth):
        both = [self.floats(dims, depth - 1), self.floats(self.some(dims), depth - 1)]
        self.w.rng.shuffle(both)
        return f"where({self.condition(self.some(dims), depth - 1)}, {both[0]}, {both[1]})"

    def fold(self, dims, depth):
        extra = self.other(dims)
        if not extra:
            return self.leaf(dims)
        inner = self.floats(dims | {extra}, depth - 1)
        mask = f", where: {self.condition(self.some(dims | {extra}, 1), 1)}" if self.w.chance(0.3) else ""
        return f"{self.w.pick(('sum', 'mean', 'max', 'min'))}({inner}, over: {extra}{mask})"

    def contract(self, dims, depth):
        inner = self.other(dims)
        if not inner:
            return self.leaf(dims)
        left = self.some(dims)
        right = frozenset(dims - left) | self.some(left)
        return f"dot({self.floats(left | {inner}, depth - 1)}, {self.floats(right | {inner}, depth - 1)}, over: {inner})"

    def special(self, dims, depth):
        inner = sorted(dims - {"batch"})
        extra = self.other(dims)
        if not inner:
            return f"cross_entropy({self.floats(dims | {extra}, depth - 1)}, {self.integer(dims, 1)}, over: {extra}, reduce: false)" if extra else self.leaf(dims)
        over = self.w.pick(inner)
        x = self.floats(dims, depth - 1)
        texts = [f"{self.w.pick(('softmax', 'log_softmax'))}({x}, over: {over})", f"layer_norm({x}, over: {over}, eps: 1e-3)", f"rms_norm({x}, over: {over})"]
        if len(inner) >= 2:
            along = self.w.pick([name for name in inner if name != over])
            if self.w.size[over] % 2 == 0:
                texts.append(f"rope({x}, over: {over}, along: {along})")
            texts.append(self.attend(dims, over, along, depth))
        return self.w.pick(texts)

    def attend(self, dims, depth_dim, over, depth):
        """Attention wants the depth last, which a declared order gives; here all three are names of that order."""
        q = self.ordered(dims, depth_dim, depth)
        k = self.ordered(self.some(dims - {depth_dim, over}) | {depth_dim, over}, depth_dim, depth)
        options = self.w.pick(("", ", causal: true", f", window: {self.w.rng.randint(1, 4)}", ", scale: 0.5"))
        return f"attention({q}, {k}, {k}, over: {over}{options})"

    def ordered(self, dims, last, depth):
        return f"to_{last}({self.floats(dims, depth - 1)})" if f"to_{last}" in self.functions else self.leaf_ending(dims, last)

    def leaf_ending(self, dims, last):
        order = sorted(dims - {last})
        # An operand with all names fixes the order: what is expanded to comes first.
        return f"expand(random_uniform(({last},)), ({', '.join(order)},))" if order else f"random_uniform({last})"

    def shape(self, dims, depth):
        w, texts = self.w, [self.leaf(dims)]
        big, a, b = w.product
        if a in dims and b in dims and big not in dims:
            texts.append(f"reshape({self.floats(dims - {a, b} | {big}, depth - 1)}, {big} -> ({a}, {b}))")
        if big in dims and a not in dims and b not in dims:
            texts.append(f"reshape({self.floats(dims - {big} | {a, b}, depth - 1)}, ({a}, {b}) -> {big})")
        whole, a, b = w.sum
        if whole in dims and a not in dims and b not in dims:
            rest = dims - {whole}
            texts.append(f"concat({self.floats(rest | {a}, depth - 1)}, {self.floats(rest | {b}, depth - 1)}, ({a}, {b}) -> {whole})")
            texts.append(f"pad({self.floats(rest | {a}, depth - 1)}, {a} -> {whole}, before: {w.rng.randint(0, w.size[b])}, value: 0.5)")
        if a in dims and whole not in dims:
            texts.append(f"slice({self.floats(dims - {a} | {whole}, depth - 1)}, {whole} -> {a}, from: {w.rng.randint(0, w.size[b])})")
        twin, one = w.twin
        for new, old in ((twin, one), (one, twin)):
            if new in dims and old not in dims:
                texts.append(f"reshape({self.floats(dims - {new} | {old}, depth - 1)}, {old} -> {new})")
        extra = self.other(dims)
        if extra:
            texts.append(f"({self.floats(dims | {extra}, depth - 1)})[{extra}: {w.rng.randrange(w.size[extra])}]")
            table = self.some(dims - {"batch"})
            ids = self.integer(frozenset(dims - table), 1)
            texts.append(f"({self.floats(table | {extra}, depth - 1)})[{extra}: {ids} % {extra}]")
            inner = sorted(dims - {"batch"})
            if inner:
                new = w.pick(inner)
                texts.append(f"one_hot({self.integer(dims - {new}, 1)}, {new})")
        small = [d for d in dims if w.size.get(d) in (2, 3)]
        if small:
            new = w.pick(sorted(small))
            inner = ", ".join(self.leaf(dims - {new}) for _ in range(w.size[new]))
            texts.append(f"expand({self.floats(dims - {new}, depth - 1)}, {new})" if w.chance(0.7) else f"stack(({inner}), {new})")
        return w.pick(texts)

    def call(self, dims, depth):
        options = [(f, None) for f in self.functions if not f.startswith("to_")] + [(p, k) for p, k in self.parts if k is None or k <= dims]
        if not options:
            return self.unary(dims, depth)
        name, kept = self.w.pick(options)
        return f"{name}({self.floats(dims, depth - 1)})"


class Program:
    """A whole file."""

    def __init__(self, seed):
        self.w = Writer(seed)
        self.modules = []  # (name, how many dim parameters, other parameters)
        self.functions = []

    def text(self):
        w = self.w
        items = self.head() + self.helpers() + [self.module() for _ in range(w.rng.randint(0, 3))]
        items += [self.model()] + self.tail()
        return "\n\n".join(items) + "\n"

    def head(self):
        w = self.w
        binds = ", ".join(f"{name} = {text}" for name, text in w.decls)
        items = ["import std.nn", ("/// Sizes.\n" if w.chance(0.3) else "") + f"dim {binds}"]
        items.append("const " + ", ".join(f"{name} = {text}" for name, text in w.consts.items()))
        if w.chance(0.4):
            name, size = w.pick(w.size.items())
            items.append(f'assert {name} {w.pick(("==", "<=", ">="))} {size}' + (', "sizes hold"' if w.chance(0.5) else ""))
        return items

    def helpers(self):
        """Element-wise functions of the file, and one for each dimension that puts it last."""
        w, items = self.w, []
        for name in sorted(w.size):
            if w.chance(0.5):
                items.append(f"fn to_{name}(x: [.., {name}]) -> [.., {name}] = x")
                self.functions.append(f"to_{name}")
        for _ in range(w.rng.randint(0, 2)):
            name = w.fresh("shape_")
            body = w.pick(("x * sigmoid(k * x)", "where(x > 0, x, k * x)", "tanh(x) + k", "x"))
            form = f" = {body}" if w.chance(0.5) else f" {{ let y = {body}; return y }}"
            items.append(f"fn {name}(x, k: float = 0.5){form}")
            self.functions.append(name)
        return items

    def module(self):
        """A map from [.., d] to [.., d] with weights, a loop, and perhaps parts of earlier modules."""
        w, name = self.w, self.w.fresh("Part")
        lines, given = [], [m for m in self.modules]
        lines += w.pick((["dim inner = 2 * d"], ["dim inner = d + 1"], ["dim inner = d"]))
        if w.chance(0.3):
            lines.append("assert n > 0 and d >= 1")
        lines.append(f"{w.pick(('', '', 'frozen '))}weight up: [d, inner] = {self.initial()}")
        lines.append(f"weight down: [inner, d] = {self.initial()}")
        lines.append("weight bias: [d] = zeros")
        inner = []
        for other in given[-1:]:
            lines.append(f"inside = {other}(d{w.pick(('', ', n: 1', ', 1, 0.5', ', slope: 0.1'))})")
            inner = ["h = inside(h)"]
        if w.chance(0.4):
            lines.append(f"norm = nn.{w.pick(('LayerNorm', 'RMSNorm'))}(d)")
            inner.append("h = norm(h)")
        steps = ["var h = x", f"for i in 0..n {{ {'; '.join(inner + ['h = h + slope * (relu(x @ up) @ down)'])} }}"]
        if w.chance(0.5):
            steps.append("let (a, b) = two(h)")
            steps.append("return a + b * bias")
            lines.append("fn two(x: [.., d]) -> ([.., d], [.., d]) = (x, -x)")
        else:
            steps.append("return h * bias + x")
        lines.append("fn forward(x: [.., d])" + w.pick((" -> [.., d]", "")) + " {\n    " + "\n    ".join(steps) + "\n  }")
        self.modules.append(name)
        params = "d: dim, n: int = 1, slope: float = 0.2" + w.pick(("", ", on: bool = true,"))
        return f"module {name}({params}) {{\n  " + "\n  ".join(lines) + "\n}"

    def initial(self):
        return self.w.pick(("normal(0.1)", "zeros", "ones", "constant(0.5)", "trunc_normal(0.2)", "uniform(-0.5, 0.5)", "normal(scale)"))

    def model(self):
        w = self.w
        weights, parts, lines = {}, [], []

        def make_weight(dims):
            for name, have in weights.items():
                if have == dims and w.chance(0.7):
                    return name
            name, order = w.fresh("w"), sorted(dims)
            w.rng.shuffle(order)
            advice = f" @ {w.pick(('tp', '(tp, cp)', 'none'))}" if w.chance(0.1) and order else ""
            lines.append(f"weight {name}: [{', '.join(order)}{advice}] = {self.initial()}")
            weights[name] = dims
            return name

        for module in self.modules:
            d = w.pick(sorted(w.size))
            name, times = w.fresh("p"), w.rng.randint(1, 3)
            repeat = w.pick(("", f"repeat({times}) ", f"repeat(i in 0..{times}) ", "repeat(times) "))
            extra = ", n: i + 1" if "i in" in repeat else w.pick(("", ", n: times", ", slope: rate"))
            lines.append(f"{name} = {repeat}{module}({d}{extra})")
            parts.append((name, frozenset((d,))))
        fields = self.fields()
        values = {name: (kind, frozenset(dims)) for name, kind, dims in fields}
        gen = Expressions(w, values, parts, self.functions, make_weight)
        body = self.statements(gen)
        self.field_list = fields
        params = ", ".join(f"{name}: {'' if kind == 'float' else kind}[{', '.join(dims)}]" for name, kind, dims in fields)
        lines.append(f"fn loss({params}) {{\n    " + "\n    ".join(body) + "\n  }")
        self.weights, self.parts, self.values = weights, parts, [n for n in gen.values if n.startswith("v")]
        return "model Net {\n  " + "\n  ".join(lines) + "\n}"

    def fields(self):
        w, fields = self.w, []
        for stem, kind in (("x", "float"), ("y", "float"), ("labels", "int")):
            if stem == "x" or w.chance(0.6):
                fields.append((stem, kind, ["batch"] + w.rng.sample(sorted(w.size), w.rng.randint(0, 2))))
        return fields

    def statements(self, gen):
        w, body = self.w, []
        for _ in range(w.rng.randint(1, 4)):
            name, dims = w.fresh("v"), frozenset(["batch"] if w.chance(0.8) else []) | frozenset(w.rng.sample(sorted(w.size), w.rng.randint(0, 2)))
            order = sorted(dims)
            w.rng.shuffle(order)
            typed = f": [{', '.join(order)}]" if w.chance(0.3) else ""
            body.append(f"{'var' if w.chance(0.2) else 'let'} {name}{typed} = {gen.floats(dims, w.rng.randint(1, 4))}")
            if body[-1].startswith("var") and w.chance(0.8):
                body.append(f"for t in 0..times {{ {name} = {name} + {gen.floats(dims, 1)} }}")
            gen.values[name] = ("float", dims)
            if w.chance(0.2):
                body.append(f"metric m{name} = mean({name})")
        total = [f"mean({name})" for name in list(gen.values)[-3:] if gen.values[name][0] == "float"]
        total.append(f"mean({gen.floats(frozenset(['batch']), 2)})")
        # Every weight must reach the loss; a model without weights has nothing to train.
        kept = gen.make_weight(frozenset(w.rng.sample(sorted(w.size), 1)))
        total.append(f"0.1 * mean({kept} * {kept})")
        body.append("return " + " + ".join(total))
        return body

    def tail(self):
        w = self.w
        files = ", ".join(f'{name}: "{name}.npy"' for name, _, _ in self.field_list)
        entries = [f"data npy({files}){w.pick(('', ', shuffle: true', ', tail: wrap', ', tail: drop, shuffle: false'))}",
                   f"batch {w.rng.randint(1, 6)}", f"steps {w.rng.randint(1, 9)}", f"optimizer {self.optimizer()}"]
        options = ["schedule warmup_cosine(warmup: 1, total: 50, min_lr: 0.0)", "schedule steps(at: (2, 5), factor: 0.1)", "schedule constant",
                   "clip 1.0", "seed 7", f"eval npy({files}), every: 2, batches: 1", 'checkpoint "out", every: 3', "on_nonfinite skip"]
        w.rng.shuffle(options)
        for option in options[:w.rng.randint(0, 4)]:
            if not any(entry.split()[0] == option.split()[0] for entry in entries):
                entries.append(option)
        w.rng.shuffle(entries)
        items = [f"train Net {self.block(entries)}"]
        if w.chance(0.4):
            items.append("cluster box " + self.block(["nodes 1", "devices 4", "intra 300 GB/s", "inter 25 GB/s", "memory 16 GiB", "peak 19.5 TFLOP/s"]))
        items += [self.plan(k, "cluster box" in items[-1]) for k in range(w.rng.randint(0, 3))]
        return items

    def optimizer(self):
        w = self.w
        first = w.pick(("sgd(lr: 0.1)", "sgd(lr: 1e-2, momentum: 0.9, nesterov: true)", "adamw(lr: rate, betas: (0.9, 0.95), weight_decay: 0.1)", "lion(lr: 1e-3)"))
        return first + (f", sgd(lr: 0.1, in: {w.pick(sorted(self.weights))})" if w.chance(0.3) else "")

    def plan(self, number, has_cluster):
        w = self.w
        axes = w.rng.sample(("dp", "tp", "pp"), w.rng.randint(1, 3))
        d, axis = w.pick(sorted(w.size)), w.pick(axes)
        entries = [f"shard batch: {axes[0]}"]
        options = ["overlap", "bucket 25 MB", f"zero {w.rng.randint(0, 3)}, over: {axis}", "precision f32", "remat full", "reproducible",
                   f"place {', '.join(axes)}", "assert memory <= 10 GB", f"assert traffic({axis}) < 2.5 GiB", "assert bubble <= 0.5", "microbatches 1"]
        options += [f"shard {d}: {axes[1]}"] if len(axes) > 1 else []
        options += [f"precision bf16, in: {w.pick(sorted(self.weights))}"]
        entries += w.rng.sample(options, w.rng.randint(0, 5))
        mesh = ", ".join(f"{axis} = {w.rng.randint(1, 3)}" for axis in axes)
        return f"plan plan{number} on mesh({mesh}){' of box' if has_cluster and w.chance(0.5) else ''} {self.block(entries)}"

    def block(self, entries):
        return "{ " + "; ".join(entries) + " }" if self.w.chance(0.3) else "{\n  " + "\n  ".join(entries) + "\n}"


def layout(text, rng):
    """The same program in another layout: line ends and comments where a line goes on, blanks where none matter."""
    out, depth = [], 0
    for token in TOKENS.findall(text):
        depth += (token in "([") - (token in ")]") if len(token) == 1 else 0
        out.append(token)
        if token == "," and rng.random() < 0.1 or depth > 0 and token in "([" and rng.random() < 0.05:
            out.append(rng.choice(("\n", "  // why\n", "\n\n  ", "\n// alone\n")))
        if token == "\n" and rng.random() < 0.05:
            out.append(rng.choice(("\n", "// a comment\n", "  \n")))
    return "".join(out)


def mutate(text, rng):
    tokens = TOKENS.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place, choice = rng.randrange(len(tokens)), rng.random()
        if choice < 0.35:
            tokens[place] = ""
        elif choice < 0.6:
            tokens.insert(place, rng.choice(tokens))
        elif choice < 0.8:
            other = rng.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        else:
            tokens[place] = rng.choice(STRANGE)
    return "".join(tokens)


def program(seed):
    rng = random.Random(~seed)
    text = Program(seed).text()
    return layout(text, rng) if rng.random() < 0.5 else text


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))


def call(work, *command):
    """Runs ptlc; returns (finding or None, status, output)."""
    try:
        result = subprocess.run(command, cwd=work, capture_output=True, text=True, errors="replace", timeout=PATIENCE, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return f"hangs: {' '.join(command)}", None, ""
    output = result.stdout + result.stderr
    if result.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"hangs (or was killed): {' '.join(command)}", None, output
    if result.returncode < 0 or result.returncode >= 128 or CRASH.search(output):
        return f"crashes with {result.returncode}: {' '.join(command)}", None, output
    return None, result.returncode, output


def try_fmt(work, text):
    """Formatting must keep the program, and formatting again must change nothing."""
    finding, status, once = call(work, "ptlc", "fmt", "m.ptl")
    if finding or status:
        return finding or f"ptlc fmt refuses what ptlc check accepts:\n{once}"
    (work / "once.ptl").write_text(once)
    finding, status, twice = call(work, "ptlc", "fmt", "once.ptl")
    if finding or status or once != twice:
        return finding or "ptlc fmt of its own output changes it or fails"
    finding, status, output = call(work, "ptlc", "check", "once.ptl")
    return finding or (f"ptlc check refuses what ptlc fmt printed:\n{output}" if status else None)


def try_one(root, seed, options):
    """Returns (outcome, detail): right, refused, damaged, finding."""
    rng = random.Random(seed * 7919)
    text, damaged = program(seed), rng.random() < options.mutate
    work = root / str(seed)
    work.mkdir(parents=True)
    (work / "m.ptl").write_text(mutate(text, rng) if damaged else text)
    command = ("ptlc", "check", "m.ptl") if options.mode == "check" else ("ptlc", "m.ptl", "--emit=obj", "-o", "m.o")
    finding, status, output = call(work, *command)
    if not finding and status == 0 and options.fmt:
        finding = try_fmt(work, text)
    if not finding and status not in (0, 1):
        finding = f"status {status}"
    if not finding and status and "error:" not in output:
        finding = "fails without an error message"
    if finding:
        (work / "output.txt").write_text(finding + "\n" + output)
        return "finding", f"{work}: {finding}"
    message = re.search(r"error: (.*)", output)
    outcome = "right" if status == 0 else "damaged" if damaged else "refused"
    detail = re.sub(r"'[^']*'|\[[^\]]*\]", "…", message[1]) + f"  (such as {seed})" if message else ""
    shutil.rmtree(work)
    return outcome, detail


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path, nargs="?")
    parser.add_argument("--print", type=int, metavar="SEED", help="print the program of a seed and stop")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=("check", "obj"), default="check")
    parser.add_argument("--mutate", type=float, default=0.3, help="share of programs that are damaged on purpose")
    parser.add_argument("--fmt", action="store_true", help="also format each right program, twice")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--min-share", type=float, default=0.33, help="share of all programs that must be accepted")
    options = parser.parse_args()
    if options.print is not None:
        print(program(options.print), end="")
        return 0
    shutil.rmtree(options.workdir, ignore_errors=True)
    root = options.workdir.resolve()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda seed: try_one(root, seed, options), range(options.seed, options.seed + options.count)))
    count = collections.Counter(outcome for outcome, _ in results)
    for text in [detail for outcome, detail in results if outcome == "finding"]:
        print(text)
    refusals = collections.Counter(re.sub(r"  \(such as \d+\)$", "", detail) for outcome, detail in results if outcome == "refused")
    example = {re.sub(r"  \(such as \d+\)$", "", detail): detail for outcome, detail in results if outcome == "refused"}
    for message, times in refusals.most_common(20):
        print(f"refused {times}x: {example[message]}")
    share = count["right"] / len(results)
    print(f"{len(results)} programs: {count['right']} accepted ({share:.0%}), {count['damaged']} damaged and refused, "
          f"{count['refused']} refused, {count['finding']} findings")
    return 1 if count["finding"] or share < options.min_share else 0


if __name__ == "__main__":
    sys.exit(main())
