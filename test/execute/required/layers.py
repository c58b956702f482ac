#!/usr/bin/env python3
"""Cases D13 to D20: layers under tensor, sequence and context parallelism. Usage: layers.py ID WORKDIR."""
# SPDX-License-Identifier: Apache-2.0
import math
import re

import numpy
from runs import Failure, Program, compare, f32, i32, main


def d13(work):
    """A row-parallel bias is added once, and its gradient is whole."""
    for size, meshes in ((2, ("tp = 2", "tp = 4")), (6, ("tp = 3", "tp = 2", "tp = 4"))):
        text = f"""dim seq = 3, inner = {size}, outer = 1
model M {{
  weight w: [inner, outer] = ones
  weight b: [outer] = constant(10.0)
  fn loss(x: [batch, seq, inner]) {{
    let y: [batch, seq, outer] = x @ w + b
    return sum(slice(y, seq -> first, from: 0)) + 0.0 * sum(y * y)
  }}
  dim first = 1
}}
"""
        x = numpy.arange(1, 3 * size + 1, dtype="f4").reshape(1, 3, size)
        w = numpy.arange(3, size + 3, dtype="f4")[:, None]
        plans = [(mesh, rules) for mesh in meshes for rules in (["shard inner: tp"], ["shard inner: tp", "shard seq: tp, in: y"])]
        y = float(x[0, 0] @ w[:, 0] + 10)
        Program(work, text, {"x": x}, 1, {"w": w, "b": f32(10)}, rate=1 / 16).agree(
            plans, {"loss": y, "gradient b": [1], "gradient w": x[0, 0][:, None]},
            {"loss": {y + 10: "the bias is added by every rank"}, "gradient b": {0.5: "the bias was divided by the ranks"}})


def attention(heads, kv, size, packed):
    """Identity projections of q, k and v: head h of token s sees element h of its embedding."""
    total = heads + 2 * kv
    weight = "weight w: [packed, embed] = zeros" if packed else "weight wq: [heads, embed] = zeros\n  weight wk: [kv, embed] = zeros\n  weight wv: [kv, embed] = zeros"
    parts = f"""    let all = dot(x, w, over: embed)
    let q = reshape(slice(all, packed -> heads, from: 0), heads -> (heads2, one))
    let k = reshape(slice(all, packed -> kv, from: {heads}), kv -> (kv2, one))
    let v = reshape(slice(all, packed -> kv, from: {heads + kv}), kv -> (kv2, one))
""" if packed else """    let q = reshape(dot(x, wq, over: embed), heads -> (heads2, one))
    let k = reshape(dot(x, wk, over: embed), kv -> (kv2, one))
    let v = reshape(dot(x, wv, over: embed), kv -> (kv2, one))
"""
    return f"""dim seq = {size}, embed = {heads}, heads = {heads}, kv = {kv}, heads2 = heads, kv2 = kv, one = 1, packed = {total}
model M {{
  {weight}
  weight out: [heads2, one, embed] = ones
  fn loss(x: [batch, seq, embed], t: [batch, seq, embed]) {{
{parts}    let a = attention(q, k, v, over: seq, causal: true, group: heads2 -> kv2)
    return sum(dot(a, out, over: (heads2, one)) * t)
  }}
}}
"""


def by_hand(x, wq, wk, wv, out):
    """Causal attention with heads of one element; returns [batch, seq, embed]."""
    q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
    group, seq, a = q.shape[2] // k.shape[2], x.shape[1], numpy.zeros(q.shape)
    for b in range(len(x)):
        for h in range(q.shape[2]):
            for i in range(seq):
                score = numpy.exp(q[b, i, h] * k[b, : i + 1, h // group])
                a[b, i, h] = (score / score.sum()) @ v[b, : i + 1, h // group]
    return a @ out[:, 0]


def d14(work):
    """Weights that hold several blocks are cut within the blocks, whatever the number of ranks that wrote or read them."""
    rng = numpy.random.RandomState(7)
    x, t = (rng.randint(-4, 5, (2, 3, 4)).astype("f4") / 8 for _ in range(2))
    for heads, kv in ((4, 4), (4, 2)):
        wq, wk, wv = 1 * numpy.eye(heads, 4), 2 * numpy.eye(kv, 4), 3 * numpy.eye(kv, 4)
        out = rng.randint(-3, 4, (heads, 1, 4)) / 4
        loss = (by_hand(x, wq, wk, wv, out) * t).sum()
        weights = {"w": numpy.concatenate([wq, wk, wv]).astype("f4"), "out": out.astype("f4")}
        rules = (["shard packed: tp"], ["shard heads: tp", "shard heads2: tp", "shard kv: tp", "shard kv2: tp"],
                 ["shard packed: tp", "shard heads2: tp"])
        plans = [("tp = 2", some) for some in rules] + [("tp = 3", rules[0]), ("tp = 4", rules[1])]
        program = Program(work, attention(heads, kv, 3, packed=True), {"x": x, "t": t}, 2, weights, rate=0.01)
        outcomes = program.agree(plans, {"loss": loss})
        apart = Program(work, attention(heads, kv, 3, packed=False), {"x": x, "t": t}, 2, rate=0.01,
                        weights={"wq": wq.astype("f4"), "wk": wk.astype("f4"), "wv": wv.astype("f4"), "out": out.astype("f4")})
        gradients = apart.agree([("tp = 2", rules[1][1::2])], {"loss": loss})[0].gradients
        together = numpy.concatenate([gradients[name] for name in ("wq", "wk", "wv")])
        compare("the packed weight on one device", "gradient w", outcomes[0].gradients["w"], together)
        reload(program, outcomes[1], [("", ()), ("tp = 4", rules[0])])
    gate_and_up(work, rng)


def reload(program, outcome, plans):
    """What one mesh saved must be what others read: with rate 0 they save it again, byte for byte."""
    path = outcome.folder / "w.safetensors"
    still = Program(program.work, program.text, program.data, program.batch, program.weights, steps=1, rate=0.0)
    for mesh, some in plans:
        again = still.run(mesh, some, init=str(path)).folder / "w.safetensors"
        if again.read_bytes() != path.read_bytes():
            raise Failure(f"mesh({mesh}) {some} reads other weights than {outcome.folder.name} wrote")


def gate_and_up(work, rng):
    text = """dim embed = 4, packed = 12, gate = 2, ffn = 6, first = 1
model M {
  weight w: [packed, embed] = zeros
  weight down: [ffn, embed] = ones
  fn loss(x: [batch, embed]) {
    let h = reshape(dot(x, w, over: embed), packed -> (gate, ffn))
    let g = reshape(slice(h, gate -> first, from: 0), (first, ffn) -> ffn)
    let u = reshape(slice(h, gate -> first, from: 1), (first, ffn) -> ffn)
    return sum((silu(g) * u) @ down)
  }
}
"""
    x, w, down = (rng.randint(-4, 5, shape).astype("f4") / 8 for shape in ((3, 4), (12, 4), (6, 4)))
    g, u = x @ w[:6].T, x @ w[6:].T
    rules = (["shard packed: tp"], ["shard ffn: tp"], ["shard packed: tp", "shard ffn: tp"])
    program = Program(work, text, {"x": x}, 3, {"w": w, "down": down}, rate=0.01)
    loss = float((g / (1 + numpy.exp(-g)) * u @ down).sum())
    outcomes = program.agree([(f"tp = {size}", some) for size in (2, 4) for some in rules], {"loss": loss})
    reload(program, outcomes[1], [("", ()), ("tp = 4", rules[2])])


def d15(work):
    """Fewer key heads than ranks, heads that the ranks don't divide; a start with another number of ranks says so."""
    rng = numpy.random.RandomState(3)
    for heads, kv, mesh in ((4, 2, "tp = 4"), (5, 5, "tp = 2"), (6, 2, "tp = 3")):
        x, t = (rng.randint(-4, 5, (2, 3, heads)).astype("f4") / 8 for _ in range(2))
        weights = {"wq": numpy.eye(heads, dtype="f4"), "wk": 2 * numpy.eye(kv, heads, dtype="f4"), "wv": 3 * numpy.eye(kv, heads, dtype="f4"),
                   "out": rng.randint(-3, 4, (heads, 1, heads)).astype("f4") / 4}
        loss = (by_hand(x, weights["wq"], weights["wk"], weights["wv"], weights["out"]) * t).sum()
        plans = [(mesh, rules) for rules in (["shard heads: tp", "shard heads2: tp"],
                                             ["shard heads: tp", "shard heads2: tp", "shard kv: tp", "shard kv2: tp"])]
        Program(work, attention(heads, kv, 3, packed=False), {"x": x, "t": t}, 2, weights, rate=0.01).agree(plans, {"loss": loss})
    text = "dim n = 4\nmodel M {\n  weight w: [n] = ones\n  fn loss(x: [batch, n]) = sum(x * w)\n}\n"
    program = Program(work, text, {"x": f32([1, 2, 3, 4])}, 1)
    folder = program.compile("dp = 2, tp = 2, pp = 2", ["shard n: (dp, tp)"])
    said = program.call(folder, "./m", "--ranks", "6", status=1)
    if not re.search(r"compiled for 8 ranks \(dp = 2, tp = 2, pp = 2, as in m\.ptl:\d+:16\), not 6;", said):
        raise Failure(f"expected a message with both numbers and the mesh's line, found\n{said}")
    # Eight layers on two, three and eight stages, by cost and as told.
    stack = ("dim n = 4\nmodule B {\n  weight v: [n] = ones\n  fn forward(x: [batch, n]) = x * v\n}\n"
             "model M {\n  blocks = repeat(8) B()\n  fn loss(x: [batch, n]) = sum(blocks(x))\n}\n")
    plans = [(f"pp = {size}", [f"pipeline blocks, over: pp{more}"]) for size, more in ((2, ""), (3, ", schedule: gpipe"), (8, ""), (2, ", cut: blocks[7]"))]
    Program(work, stack, {"x": f32([1, 2, 3, 4])}, 1, rate=0.01).agree(plans, {"loss": 10.0})


HEAD = """dim vocab = {0}, width = 4
model M {{
  weight head: [vocab, width] = zeros
  fn loss(x: [batch, width], t: int[batch]) {{
    let z = dot(x, head, over: width)
    return cross_entropy(z, t, over: vocab)
  }}
}}
"""


def head_gradient(x, head, t):
    z = x @ head.T
    p = numpy.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    loss = -numpy.log(p[numpy.arange(len(t)), t]).mean()
    p[numpy.arange(len(t)), t] -= 1
    return loss, p.T @ x / len(t)


def d16(work):
    """Whatever the layout of head and logits, the loss is the same."""
    rng = numpy.random.RandomState(5)
    x, t = rng.standard_normal((3, 4)).astype("f4"), i32(5, 0, 6)
    plans = [(f"tp = {size}", rules) for size in (2, 4, 3) for rules in (
        ["shard batch: none"], ["shard vocab: tp"], ["shard width: tp, in: head"], ["shard vocab: tp, in: head", "shard vocab: none, in: z"])]
    plans += [("a = 2, b = 2", ["shard vocab: (a, b)"]), ("a = 2, b = 2", ["shard vocab: a", "shard width: b"])]
    for head in (numpy.zeros((8, 4), "f4"), rng.standard_normal((8, 4)).astype("f4")):
        loss, gradient = head_gradient(x.astype("f8"), head.astype("f8"), t)
        expected = {"loss": math.log(8) if not head.any() else loss, "gradient head": gradient}
        Program(work, HEAD.format(8), {"x": x, "t": t}, 3, {"head": head}).agree(
            plans, expected, {"loss": {math.log(16): "reduced over ranks though whole", math.log(4): "of one rank's classes"}})


def d17(work):
    """Sizes that the ranks don't divide: padding takes no part in anything, and isn't saved."""
    rng = numpy.random.RandomState(6)
    x, t = rng.standard_normal((3, 4)).astype("f4"), i32(6, 0, 3)
    plans = [(f"tp = {size}", ["shard vocab: tp"]) for size in (2, 3, 4)]
    loss, gradient = head_gradient(x.astype("f8"), numpy.zeros((7, 4)), t)
    program = Program(work, HEAD.format(7), {"x": x, "t": t}, 3)
    outcomes = program.agree(plans, {"loss": math.log(7), "gradient head": gradient}, {"loss": {math.log(8): "padding is a class"}})
    for outcome in outcomes:
        if outcome.weights["head"].shape != (7, 4):
            raise Failure(f"{outcome.folder.name}: the saved weight is {outcome.weights['head'].shape}")
    reload(program, outcomes[1], [("", ()), plans[2]])
    text = """dim seq = 7, embed = 3, hidden = 10
model M {
  weight up: [embed, hidden] = normal(0.5)
  weight down: [hidden, embed] = normal(0.5)
  weight gain: [embed] = ones
  fn loss(x: [batch, seq, embed]) {
    let h = x + gelu(layer_norm(x, over: embed) * gain @ up) @ down
    return mean(h * h)
  }
}
"""
    x = rng.standard_normal((2, 7, 3)).astype("f4")
    plans = [("tp = 4", ["shard hidden: tp"]), ("sp = 2", ["shard seq: sp"]), ("sp = 2, tp = 4", ["shard seq: sp", "shard hidden: tp"]),
             ("tp = 3", ["shard hidden: tp", "shard seq: tp"])]
    Program(work, text, {"x": x}, 2, rate=0.1).agree(plans)


def d18(work):
    """Token ids out of range are errors on every mesh, with the same words but for the rank; a label that is ignored is none."""
    text = """dim vocab = 8, width = 2
model M {
  weight table: [vocab, width] = normal(1.0)
  fn loss(ids: int[batch], t: int[batch]) = cross_entropy(dot(table[vocab: ids], table, over: width), t, over: vocab, ignore: -100)
}
"""
    plans = [*((f"tp = {size}", ["shard vocab: tp"]) for size in (2, 3, 4)), ("dp = 2", ["shard batch: dp"]),
             ("dp = 2, tp = 2", ["shard batch: dp", "shard vocab: tp"]),
             ("fsdp = 2", ["shard batch: fsdp", "zero 3, over: fsdp"])]
    program = Program(work, text, {"ids": i32(0, 7, 3), "t": i32(1, -100, 2)}, 3)
    cases = (((0, 7, 8), (1, 2, 3), 8, "ids"), ((-1, 0, 1), (1, 2, 3), -1, "ids"), ((-100, 0, 1), (1, 2, 3), -100, "ids"),
             ((0, 1, 2), (1, 8, 2), 8, "t"))
    for outcome in program.agree(plans):
        for ids, t, bad, field in cases:
            numpy.save(outcome.folder / "ids.npy", i32(*ids))
            numpy.save(outcome.folder / "t.npy", i32(*t))
            message = f"step 0: '{field}.npy': {bad} at position {(ids if field == 'ids' else t).index(bad)} is outside [0, 8)"
            said = program.call(outcome.folder, "./m", status=1)
            if not re.search(rf"^error: (rank \d+, )?{re.escape(message)}$", said, re.M):
                raise Failure(f"{outcome.folder.name}: expected '{message}', found\n{said}")


def d19(work):
    """Replicated weights that see a part of the sequence on each rank: their gradients are sums over all of it."""
    text = """dim seq = 4, embed = 4, hidden = 6
module Block {
  weight gamma: [embed] = ones
  weight gate: [embed] = constant(0.5)
  weight up: [embed, hidden] = normal(0.5)
  weight down: [hidden, embed] = normal(0.5)
  fn forward(x: [batch, seq, embed]) {
    let n = rms_norm(x, over: embed) * gamma
    let y = x + relu(n @ up) @ down
    return y * sigmoid(dot(y, gate, over: embed))
  }
}
model M {
  blocks = repeat(2) Block()
  fn loss(x: [batch, seq, embed], t: [batch, seq, embed]) = sum(blocks(x) * t)
}
"""
    rng = numpy.random.RandomState(8)
    x, t = (rng.standard_normal((2, 4, 4)).astype("f4") for _ in range(2))
    t[:, 3] *= 100  # one position outweighs all others
    weights = {f"blocks.{i}.{name}": rng.standard_normal(shape).astype("f4") / 2
               for i in range(2) for name, shape in (("gamma", 4), ("gate", 4), ("up", (4, 6)), ("down", (6, 4)))}
    both = ["shard hidden: tp", "shard seq: tp, between: blocks"]
    plans = [(f"tp = {size}", rules) for size in (2, 3, 4) for rules in (both, ["shard seq: tp"])]
    plans += [("dp = 2, tp = 2", ["shard batch: dp", *both]), ("tp = 2", [*both, "microbatches 2"])]
    Program(work, text, {"x": x, "t": t}, 2, weights, rate=1e-4).agree(plans)


def attention_gradients(query, key, content):
    """Of the sum of causal attention with one head of two elements: weights are [seq, 1, 2]."""
    q, k, v = (weight[:, 0].astype("f8") for weight in (query, key, content))
    p = numpy.tril(numpy.exp(q @ k.T / math.sqrt(2)))
    p /= p.sum(1, keepdims=True)
    d_p = numpy.ones(v.shape) @ v.T
    d_score = p * (d_p - (d_p * p).sum(1, keepdims=True)) / math.sqrt(2)
    found = {"query": d_score @ k, "key": d_score.T @ q, "content": p.T @ numpy.ones(v.shape)}
    return {f"gradient {name}": value[:, None] for name, value in found.items()}


def d20(work):
    """Positions, rotations and causal masks go by the global position. Shards are contiguous; no other order is offered."""
    text = """dim seq = 8, pair = 2, heads = 1, other = seq
model M {
  weight table: [seq] = zeros
  weight out: [seq] = ones
  weight mean: [seq] = ones
  weight turn: [seq, other] = ones
  weight q: [pair] = ones
  weight query: [seq, heads, pair] = zeros
  weight key: [seq, heads, pair] = zeros
  weight content: [seq, heads, pair] = zeros
  fn loss(x: [batch, seq]) {
    let placed = x + table
    let zero: [batch, seq, heads, pair] = expand(0.0 * x, (heads, pair))
    let value: [batch, seq, heads, pair] = expand(placed, (heads, pair))
    let seen = sum(attention(zero, zero, value, over: seq, causal: true), over: (heads, pair)) * 0.5
    let ahead: [batch, seq, pair] = rope(expand(x, (pair)) * 0.0 + q, over: pair, along: seq, theta: 1.0)
    let scores = dot(ahead, reshape(ahead, seq -> other), over: pair)
    let mixed = attention(zero + query, zero + key, zero + content, over: seq, causal: true)
    return sum(placed * out) + sum(seen * mean) + sum(scores * turn) + sum(mixed)
  }
}
"""
    place = numpy.arange(8, dtype="f4")
    turn = numpy.cos(place[:, None] - place[None])
    rng = numpy.random.RandomState(9)
    query, key, content = (rng.randint(-4, 5, (8, 1, 2)).astype("f4") / 4 for _ in range(3))
    weights = {"table": place, "q": f32(1, 0), "query": query, "key": key, "content": content, "out": numpy.ones(8, "f4"), "mean": numpy.ones(8, "f4"), "turn": numpy.ones((8, 8), "f4")}
    plans = [(f"sp = {size}", rules) for size in (2, 3, 4) for rules in (["shard seq: sp"], ["shard seq: sp", "shard other: none"])]
    plans += [("a = 2, b = 2", ["shard seq: (a, b)"]), ("a = 2, b = 2", ["shard seq: (b, a)"]), ("a = 2, b = 3", ["shard seq: (b, a)"])]
    plans += [("sp = 2", ["shard seq: sp", "shard other: sp, in: turn", "shard seq: none, in: turn"])]
    Program(work, text, {"x": numpy.zeros((1, 8), "f4")}, 1, weights, rate=0.01).agree(
        plans, {"gradient out": place, "gradient mean": place / 2, "gradient turn": turn, **attention_gradients(query, key, content)},
        {"gradient out": {(0, 1, 2, 3, 0, 1, 2, 3): "positions within the shard"},
         "gradient mean": {(0, 0.5, 1, 1.5, 4, 4.5, 5, 5.5): "keys of the own shard alone", (0, 0.5, 1, 1.5) * 2: "a mask within the shard"}})


if __name__ == "__main__":
    main({name.upper(): case for name, case in globals().items() if name[:1] == "d" and name[1:].isdigit()})
