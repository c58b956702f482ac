"""Random expressions of a wanted type: what grammar.py builds its programs of."""
# SPDX-License-Identifier: Apache-2.0
import random

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
            # Numbers can't be stacked.
            stacks = dims != {new} and w.chance(0.3)
            texts.append(f"stack(({inner}), {new})" if stacks else f"expand({self.floats(dims - {new}, depth - 1)}, {new})")
        return w.pick(texts)

    def call(self, dims, depth):
        options = [(f, None) for f in self.functions if not f.startswith("to_")] + [(p, k) for p, k in self.parts if k is None or k <= dims]
        if not options:
            return self.unary(dims, depth)
        name, kept = self.w.pick(options)
        return f"{name}({self.floats(dims, depth - 1)})"
