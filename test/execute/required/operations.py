#!/usr/bin/env python3
"""Cases D6 to D10, D12 and D27: single operations on values that are cut, pending or of odd sizes. Usage: operations.py ID WORKDIR."""
# SPDX-License-Identifier: Apache-2.0
import numpy
from runs import Failure, Program, compare, f32, i32, main


def d6(work):
    """A sum over ranks is finished before anything that isn't linear happens to it."""
    six, two = f32(1, 2, 3, 4, 5, 6), f32(5, -7)
    for expression, x, loss, gradient, hint in (
            ("s + 0.5", six, 21.5, six, {22.5: "the constant is added once a rank"}),
            ("s * 2.0", six, 42, 2 * six, {84: "reduced twice"}),
            ("relu(s)", two, 0, 0 * two, {5: "relu of each rank's part"}),
            ("abs(s)", two, 2, -two, {12: "abs of each rank's part"}),
            ("max(s, 0.0)", two, 0, 0 * two, {5: "max of each rank's part"}),
            ("sqrt(s) + exp(0.1 * s)", six, 21**0.5 + numpy.exp(2.1), six * (0.5 / 21**0.5 + 0.1 * numpy.exp(2.1)), {})):
        text = (f"dim n = {len(x)}\nmodel M {{\n  weight w: [n] = ones\n  fn loss(x: [batch, n]) {{\n    let s = sum(dot(x, w, over: n))\n"
                f"    return {expression}\n  }}\n}}\n")
        program = Program(work, text, {"x": x[None]}, 1, steps=1)
        meshes = ("tp = 3", "tp = 4", "tp = 2") if expression == "s + 0.5" else ("tp = 3",) if len(x) == 6 else ("tp = 2",)
        plans = [(mesh, ["shard n: tp"]) for mesh in meshes] + [("dp = 2", ["shard batch: dp"])]
        program.agree(plans, {"loss": loss, "gradient w": gradient}, {"loss": hint})


def d7(work):
    """Means divide by the global count, arg-max gives the global index, also where shards are uneven or empty."""
    five, eight = f32(2, 4, 6, 8, 100), f32(1, 9, 2, 4, 7, 3, 8, 0)
    text = """dim n = 5
model M {
  weight w: [n] = ones
  fn loss(x: [batch, n]) {
    return sum(mean(x * w, over: n))
  }
}
"""
    plans = [(f"tp = {size}", ["shard n: tp"]) for size in (2, 4, 3)] + [("a = 2, b = 2", ["shard n: (a, b)"])]
    Program(work, text, {"x": five[None]}, 1, steps=1).agree(plans, {"loss": 24, "gradient w": five / 5},
                                                            {"loss": {29: "a mean of the shards' means", numpy.nan: "an empty shard's mean"}})
    for values, index in ((eight, 1), (f32(5, 1, 5, 0), 0)):
        text = f"""dim n = {len(values)}
model M {{
  weight w: [n] = ones
  fn loss(x: [batch, n]) {{
    let y = x * w
    metric place = sum(float(argmax(x, over: n)))
    return sum(max(y, over: n))
  }}
}}
"""
        best = numpy.zeros(len(values))
        best[index] = values.max()
        plans = [(f"tp = {size}", ["shard n: tp"]) for size in (2, 3, 4)]
        Program(work, text, {"x": values[None]}, 1, steps=1).agree(
            plans, {"loss": values.max(), "place": index, "gradient w": best},
            {"place": {2: "an index within a shard, or the largest of them", 3: "a sum of indices"}})


def d8(work):
    """Concatenation and padding of cut operands, on a mesh whose second axis cuts nothing."""
    text = """dim a = 2, b = 6, ab = 8, padded = 5
model M {
  weight out: [ab] = ones
  weight wide: [padded] = ones
  weight va: [a] = ones
  fn loss(x: [batch, a], y: [batch, b]) {
    let joined = concat(x * va, y, (a, b) -> ab)
    return sum(joined * out) + sum(pad(x * va, a -> padded, before: 3, value: 0.0) * wide)
  }
}
"""
    data = {"x": f32([1, 2]), "y": f32([10, 20, 30, 40, 50, 60])}
    joined = f32(1, 2, 10, 20, 30, 40, 50, 60)
    plans = [("i = 2, j = 2", rules) for rules in (["shard a: i"], ["shard a: i", "shard b: i"], ["shard a: i", "shard b: j"],
                                                    ["shard a: i", "shard b: i", "shard ab: j"], ["shard ab: (i, j)", "shard padded: i"],
                                                    ["shard a: i", "shard padded: i"], ["shard a: i", "shard padded: j"], ["shard padded: (j, i)"])]
    plans += [("i = 3", ["shard a: i", "shard b: i", "shard ab: i"]), ("i = 4", ["shard b: i", "shard padded: i"])]
    Program(work, text, data, 1).agree(plans, {"gradient out": joined, "gradient wide": [0, 0, 0, 1, 2], "gradient va": [2, 4], "loss": 216},
                                       {"gradient out": {tuple(2 * joined): "replicas were added"}})


def d9(work):
    """Flattening, splitting and transposing along cut dimensions keeps the order of elements."""
    text = """dim two = 2, four = 4, eight = 8, six = 6, three = 3, pair = 2
model M {
  weight flat: [eight] = ones
  weight parts: [three, pair] = ones
  weight rows: [four] = ones
  fn loss(x: [batch, two, four], y: [batch, six]) {
    let t: [four, two, batch] = x
    return sum(reshape(x, (two, four) -> eight) * flat) + sum(reshape(y, six -> (three, pair)) * parts)
         + sum(sum(t, over: two) * rows)
  }
}
"""
    x, y = numpy.arange(8, dtype="f4").reshape(1, 2, 4), numpy.arange(6, dtype="f4")[None] * 10
    rules = (["shard four: tp"], ["shard two: tp"], ["shard eight: tp"], ["shard six: tp"], ["shard pair: tp"],
             ["shard four: tp, in: rows", "shard six: tp", "shard three: tp"])
    plans = [("tp = 2", some) for some in rules] + [(f"tp = {size}", ["shard four: tp", "shard six: tp"]) for size in (3, 4)]
    plans += [("a = 2, b = 2", ["shard four: a", "shard two: b", "shard six: (a, b)"])]
    Program(work, text, {"x": x, "y": y}, 1).agree(
        plans, {"gradient flat": numpy.arange(8), "gradient parts": 10 * numpy.arange(6).reshape(3, 2), "gradient rows": [4, 6, 8, 10]},
        {"gradient flat": {(0, 1, 4, 5, 2, 3, 6, 7): "local reshape of a cut inner dimension"}})


def d10(work):
    """Two axes on one dimension, in both orders: gathered and saved weights are in the logical order."""
    for size in (8, 6, 5):
        text = (f"dim n = {size}\nmodel M {{\n  weight w: [n] = zeros\n  weight v: [n] = ones\n"
                "  fn loss(x: [batch, n]) = sum(dot(x, w * v, over: n))\n}\n")
        order = numpy.arange(size, dtype="f4")
        program = Program(work, text, {"x": order[None] + 1}, 1, {"w": order, "v": order + 2})
        # Some change the order between the weight and its use; the last ones store parts over dp of what tp cuts.
        rules = (["shard n: (tp, dp)"], ["shard n: (dp, tp)"], ["shard n: none", "shard n: (dp, tp), in: w"],
                 ["shard n: tp", "shard n: (dp, tp), in: w"], ["shard n: (tp, dp)", "shard n: (dp, tp), in: w"],
                 *(["shard n: tp", f"zero {level}, over: dp"] for level in (1, 2, 3)), ["shard batch: dp", "shard n: tp", "zero 3, over: dp"])
        outcomes = program.agree([("tp = 2, dp = 2", some) for some in rules])
        still = Program(work, text, program.data, 1, program.weights, rate=0.0)
        for mesh, some in [("tp = 2, dp = 2", rule) for rule in rules] + [("tp = 3, dp = 2", rules[0])]:
            compare(f"mesh({mesh}) {some}", "the saved weight", still.run(mesh, some).weights["w"], order,
                    {(0, 1, 4, 5, 2, 3, 6, 7): "the order of the devices"})
        # What one mesh saved is read on all others.
        path = outcomes[-1].folder / "w.safetensors"
        for mesh, some in (("", ()), ("tp = 2, dp = 2", rules[0]), ("tp = 4", ["shard n: tp"])):
            compare(f"loaded from {path.parent.name} on mesh({mesh})", "w", still.run(mesh, some, init=str(path)).weights["w"],
                    outcomes[0].weights["w"])


def d12(work):
    """Micro-batches of a lookup in a table that is cut by rows; each token has its own gradient."""
    text = """dim rows = 8, width = 2
model M {
  weight table: [rows, width] = ones
  fn loss(ids: int[batch], t: [batch]) = sum(table[rows: ids] * t)
}
"""
    ids = i32(0, 7, 7, 3, 1, 1, 1, 5, 2, 0, 7, 6, 4, 4, 3, 0)
    weight = numpy.arange(16, dtype="f4") / 16
    by_hand = numpy.zeros((8, 2))
    numpy.add.at(by_hand, ids, weight[:, None])
    plans = [(mesh, [*rules, *([f"microbatches {count}"] if count > 1 else [])]) for count in (1, 2, 3, 4) for mesh, rules in (
        ("tp = 4", ["shard rows: tp"]), ("tp = 3", ["shard rows: tp"]), ("dp = 2, tp = 2", ["shard rows: tp", "shard batch: dp"]))]
    for outcome in Program(work, text, {"ids": ids, "t": weight}, 16, steps=2).agree(plans, {"gradient table": by_hand}):
        if not numpy.array_equal(outcome.gradients["table"], by_hand):
            raise Failure(f"{outcome.folder.name}: sums of sixteenths must be exact: {outcome.gradients['table']}")


def d27(work):
    """Weights that are smaller than the group that they are cut over; one that isn't trained."""
    text = """dim one = 1, two = 2, three = 3, five = 5
model M {
  weight a: [] = constant(2.0)
  weight b: [one] = constant(3.0)
  weight c: [three] = constant(5.0)
  weight d: [five, two] = constant(7.0)
  frozen weight e: [two] = constant(11.0)
  fn loss(x: [batch, five]) = mean(a * sum(b) * dot(dot(x, d, over: five), e, over: two)) + sum(c * c)
}
"""
    x = f32([1, 2, 3, 4, 5], [7, 11, 13, 17, 19])
    total = x.sum() / 2
    plans = [(f"tp = {size}", rules) for size in (1, 2, 3, 4) for rules in (
        ["shard one: tp", "shard three: tp, in: c", "shard five: tp"], ["shard two: tp"], ["shard batch: tp", "shard three: tp", "shard two: tp, in: e"])]
    plans += [("dp = 1", ["shard batch: dp"]), ("dp = 1, tp = 1", ["shard batch: dp", "shard five: tp"]),
              ("dp = 2, tp = 1", ["shard batch: dp", "shard five: tp"]), ("dp = 2, tp = 4", ["shard batch: dp", "shard five: (tp, dp), in: d"])]
    plans += [(f"fsdp = {size}", ["shard batch: fsdp", f"zero {level}, over: fsdp"]) for size in (1, 2, 4) for level in (1, 2, 3)]
    plans += [("fsdp = 2, tp = 2", ["shard batch: fsdp", "shard five: tp", "zero 3, over: fsdp"])]
    outcomes = Program(work, text, {"x": x}, 2, rate=2.0**-20).agree(plans, {
        "loss": 2 * 3 * 2 * 7 * 11 * total + 75, "gradient a": 3 * 2 * 7 * 11 * total, "gradient b": [2 * 2 * 7 * 11 * total],
        "gradient c": [10, 10, 10], "gradient d": numpy.repeat(2 * 3 * 11 * x.mean(0)[:, None], 2, 1)})
    for outcome in outcomes:
        if not numpy.array_equal(outcome.weights["e"], f32(11, 11)) or "e" in outcome.gradients:
            raise Failure(f"{outcome.folder.name}: the frozen weight moved, or has a gradient: {outcome.weights['e']}")


if __name__ == "__main__":
    main({name.upper(): case for name, case in globals().items() if name[:1] == "d" and name[1:].isdigit()})
