#!/usr/bin/env python3
"""Writes random .ptl programs that use the whole grammar and that should be accepted.

Usage: grammar.py SEED > program.ptl. The same seed gives the same program. values.py writes deep expressions inside one
function; this one writes modules with parameters, stacks, helper functions, loops, imports, training and plans of all kinds
in any layout of lines and comments. It tracks the type of every expression, so a refusal is a fault of the compiler or of
this file.
"""
# SPDX-License-Identifier: Apache-2.0
import random
import sys

from expressions import Expressions, Writer
from runner import TOKENS


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
        first = w.pick(("sgd(lr: 0.1)", "sgd(lr: 1e-2, momentum: 0.9, nesterov: true)", "adamw(lr: rate, betas: (0.9, 0.95), weight_decay: 0.1)", "lion(lr: 1e-3)", "lamb(lr: 1e-2, betas: (0.9, 0.99))"))
        matrices = sorted(name for name, dims in self.weights.items() if len(dims) == 2)
        if matrices and w.chance(0.3):
            return f"{first}, muon(lr: 0.02, ns_steps: {w.rng.randint(1, 6)}, in: {w.pick(matrices)})"
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


def generate(seed):
    rng = random.Random(~seed)
    text = Program(seed).text()
    return layout(text, rng) if rng.random() < 0.5 else text


if __name__ == "__main__":
    print(generate(int(sys.argv[1])), end="")
