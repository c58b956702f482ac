#!/usr/bin/env python3
"""Cases D2, D5, D21, D22, D23 and D24: pipelines. Usage: pipelines.py ID WORKDIR."""
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import math

import numpy
from runs import Failure, Program, compare, f32, i32, main

ONE_STAGE = ("gpipe", "one_f_one_b", "zb_h1")  # schedules with one stage per rank
TWO_STAGES = ("interleaved(2)", "zb_v")
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def pipeline(schedule, micros=1, *more, stacks="blocks"):
    return [f"pipeline {stacks}, over: pp, schedule: {schedule}", f"microbatches {micros}", *more]


def product(layers):
    """A model whose output is x times all of its layers' weights."""
    return ("module B {\n  weight v: [] = ones\n  fn forward(x: [batch]) = x * v\n}\n"
            f"model M {{\n  blocks = repeat({layers}) B()\n  fn loss(x: [batch]) = mean(blocks(x))\n}}\n")


def d2(work):
    """Gradients are of the step's mean, however many micro-batches, whatever the schedule."""
    ones, primes = numpy.ones(8, "f4"), f32(*PRIMES)
    for x, v in ((ones, f32(1, 1, 1, 1)), (primes, f32(1, 1, 1, 1)), (primes, f32(2, 3, 5, 7))):
        weights = {f"blocks.{i}.v": v[i] for i in range(4)}
        mean, factor = x.mean(), v.prod()
        plans = [("", ["microbatches 8"])]
        plans += [("pp = 2", pipeline(schedule, micros)) for schedule in ONE_STAGE + TWO_STAGES for micros in (8, 4)]
        plans += [("dp = 2, pp = 2", ["shard batch: dp", *pipeline("one_f_one_b", micros)]) for micros in (4, 2)]
        expected = {"loss": mean * factor, "grad_norm": mean * math.sqrt(((factor / v) ** 2).sum()),
                    **{f"gradient blocks.{i}.v": mean * factor / v[i] for i in range(4)}}
        right = mean * factor / v[0]
        hints = {"gradient blocks.0.v": {8 * right: "never divided by the micro-batches", 4 * right: "divided by the ranks' samples alone",
                                         1.25 * right: "an earlier window divided again", 0.625 * right: "all windows divided again"}}
        Program(work, product(4), {"x": x}, 8, weights, rate=2.0**-12).agree(plans, expected, hints)


def d5(work):
    """The norm counts what is replicated once, and all stages; all gradients are scaled alike."""
    twice = {"grad_norm": {math.sqrt(34): "a replica counted twice", 3: "one stage's norm", 4: "one stage's norm"}}
    text = """dim n = 2
model M {
  weight w: [n] = zeros
  weight b: [] = zeros
  fn loss(c: [batch, n], d: [batch]) = sum(dot(c, w, over: n) + d * b)
}
"""
    data = {"c": f32([4, 0]), "d": f32(3)}
    plans = [(f"tp = {size}", rules) for size in (2, 3) for rules in (["shard n: tp"], ["shard n: tp, in: w"], ["shard n: none"])]
    tensors = Program(work, text, data, 1, rate=1.0, more="clip 1.0")
    tensors.agree(plans, {"grad_norm": 5, "weight w": [-2.4, 0], "weight b": -1.8}, twice)
    # In bf16 a norm of the weights' norms, or one that is rounded, depends on how weights are grouped and cut.
    many = numpy.random.default_rng(5).integers(-127, 128, 300).astype("f4")
    norm = math.sqrt((many.astype("f8") ** 2).sum() + 9)
    rounded = (f32(norm).view("u4") & 0xFFFF0000).view("f4")[0]
    wide = Program(work, text.replace("n = 2", "n = 300"), {"c": many.reshape(1, 300), "d": f32(3)}, 1, steps=1, rate=1.0, more="clip 1.0")
    plans = [(mesh, ["precision bf16", *rules]) for mesh, rules in
             (("", []), ("tp = 2", ["shard n: tp"]), ("tp = 3", ["shard n: tp", "zero 1, over: tp"]), ("dp = 2", ["shard batch: dp", "zero 3, over: dp"]))]
    wide.agree(plans, {"grad_norm": norm, "weight w": -many / norm}, {"grad_norm": {rounded: "a norm in bf16"}})
    # Stages of norms 3 and 4: with x = 1 a layer's gradient is the other layer's weight.
    stages = Program(work, product(2), {"x": f32(1, 1, 1, 1)}, 4, {"blocks.0.v": f32(4)[0], "blocks.1.v": f32(3)[0]}, steps=1, rate=1.0, more="clip 1.0")
    plans = [("pp = 2", pipeline(schedule, micros)) for schedule in ONE_STAGE for micros in (1, 4)]
    plans += [("pp = 2", pipeline("one_f_one_b", 2, "precision bf16"))]
    stages.agree(plans, {"grad_norm": 5, "weight blocks.0.v": 4 - 0.6, "weight blocks.1.v": 3 - 0.8},
                 {"weight blocks.0.v": {3: "clipped by its own stage's norm"}, "weight blocks.1.v": {2: "clipped by its own stage's norm"}, **twice})
    # Both, and copies: 3, 4, 12 and [84, 0], so that the norm is 85.
    text = """dim n = 2
module B {
  weight v: [] = ones
  fn forward(x: [batch]) = x * v
}
model M {
  blocks = repeat(2) B()
  weight w: [n] = zeros
  weight b: [] = zeros
  fn loss(x: [batch], c: [batch, n]) = mean(blocks(x)) + mean(dot(c, w, over: n) + 12.0 * x * b)
}
"""
    data = {"x": numpy.ones(8, "f4"), "c": numpy.array([[80 + i, i - 4] for i in range(9) if i != 4], "f4")}
    weights = {"blocks.0.v": f32(4)[0], "blocks.1.v": f32(3)[0], "w": f32(0, 0), "b": f32(0)[0]}
    plans = [(mesh, ["shard batch: dp, n: tp", *pipeline(schedule, micros), *more]) for mesh in ("dp = 2, tp = 2, pp = 2", "pp = 2, tp = 2, dp = 2")
             for schedule, micros, more in (("one_f_one_b", 2, ()), ("gpipe", 4, ()), ("zb_h1", 1, ("reproducible",)), ("one_f_one_b", 2, ("precision bf16",)))]
    Program(work, text, data, 8, weights, steps=1, rate=1.0, more="clip 1.0").agree(
        plans, {"grad_norm": 85, "weight b": -12 / 85, "weight w": [-84 / 85, 0], "weight blocks.0.v": 4 - 3 / 85, "weight blocks.1.v": 3 - 4 / 85},
        {"grad_norm": {math.sqrt(85**2 + 12**2): "a replica counted twice"}})


def report_of(program, mesh, rules):
    """What the compiler says of a plan."""
    folder = program.write(mesh, rules)
    return json.loads(program.call(folder, "ptlc", "m.ptl", "--plan", "p", "--report", "--json"))


def d21(work):
    """Seven layers on any number of stages: each exactly once, in order, in parts as equal as can be."""
    # The loss reads one of many equal columns, so that it costs next to nothing beside a layer.
    text = ("dim n = 32\nmodule B {\n  weight v: [] = ones\n  fn forward(x: [batch, n]) = x * v\n}\n"
            "model M {\n  blocks = repeat(7) B()\n  fn loss(x: [batch, n]) = mean(blocks(x)[n: 5])\n}\n")
    primes = PRIMES[:7]
    program = Program(work, text, {"x": numpy.ones((5, 32), "f4")}, 5, {f"blocks.{i}.v": f32(p)[0] for i, p in enumerate(primes)}, steps=1, rate=2.0**-12)
    plans = [(f"pp = {size}", pipeline(schedule, 5)) for size in (2, 3, 4, 5, 7) for schedule in ("one_f_one_b", "zb_h1")]
    plans += [(f"pp = {size}", pipeline(schedule, 5)) for size in (2, 3) for schedule in TWO_STAGES]
    lost = {510510 / prime: f"the layer that multiplies by {prime} is lost" for prime in primes}
    lost |= {510510 * prime: f"the layer that multiplies by {prime} is there twice" for prime in primes}
    program.agree(plans, {"loss": 510510, **{f"gradient blocks.{i}.v": 510510 / p for i, p in enumerate(primes)}}, {"loss": lost})
    for mesh, rules in plans:
        found = [stage["layers"] for stage in report_of(program, mesh, rules)["stages"]]
        lengths = [len(layers) for layers in found]
        if sum(found, []) != [f"blocks.{i}" for i in range(7)] or max(lengths) - min(lengths) > 1:
            raise Failure(f"mesh({mesh}) {rules}: layers of the stages are {found}")
    told = ["pipeline blocks, over: pp, cut: (blocks[1], blocks[6])"]
    program.agree([("pp = 3", told)], {"loss": 510510}, {"loss": lost})
    if [len(stage["layers"]) for stage in report_of(program, "pp = 3", told)["stages"]] != [1, 5, 1]:
        raise Failure("cuts at layers 1 and 6 don't make stages of 1, 5 and 1 layers")
    folder = program.write("pp = 8", pipeline("one_f_one_b", 5))
    said = program.call(folder, "ptlc", "m.ptl", "--plan", "p", "-o", "m", status=1)
    line = [number for number, text in enumerate((folder / "m.ptl").read_text().splitlines(), 1) if "pipeline blocks" in text][0]
    if f"m.ptl:{line}:3: error: 8 stages need as many layers, there are 7\n" not in said:
        raise Failure(f"eight stages of seven layers: found\n{said}")


def exchanged(program, outcome):
    """Bytes that ranks gave each other for tied weights, by rank and exchange, in all steps."""
    said = program.call(outcome.folder, "./m", *(["--init", "init.safetensors"] if program.weights else []), "--counters", "--quiet")
    return [int(line.split(" bytes between ranks")[0].split()[-1]) for line in said.splitlines() if "sums of a tied weight" in line]


def d22(work):
    """A weight that two stages use has one gradient, the sum of both uses, and stays one weight."""
    text = """module B {
  weight m: [] = ones
  fn forward(x: [batch]) = x * m
}
model M {
  weight e: [] = constant(3.0)
  blocks = repeat(2) B()
  fn loss(x: [batch]) = mean(blocks(x * e) * e)
}
"""
    plans = [("pp = 2", pipeline(schedule, micros)) for schedule in ONE_STAGE for micros in (1, 3)]
    program = Program(work, text, {"x": f32(1, 1, 1)}, 3, {"e": f32(3)[0], "blocks.0.m": f32(2)[0], "blocks.1.m": f32(1)[0]}, rate=2.0**-8)
    program.agree(plans, {"loss": 18, "gradient e": 12}, {"gradient e": {6: "each stage applies its own use's gradient alone"}})
    text = """dim vocab = 8, width = 4
module B {
  weight m: [width] = normal(0.5)
  fn forward(x: [batch, width]) = x + tanh(x * m)
}
model M {
  weight wte: [vocab, width] = normal(0.5)
  blocks = repeat(4) B()
  fn loss(ids: int[batch], t: int[batch]) = cross_entropy(dot(blocks(wte[vocab: ids]), wte, over: width), t, over: vocab)
}
"""
    program = Program(work, text, {"ids": i32(1, 5, 5, 1, 1, 5), "t": i32(0, 3, 7, 2, 2, 6)}, 6, rate=0.1)
    apart = [("pp = 2", pipeline("one_f_one_b", 3)), ("pp = 4", pipeline("zb_h1", 2)), ("pp = 2", pipeline("interleaved(2)", 3))]
    together = [("pp = 2", pipeline("zb_v", 3))]
    cut = [("pp = 2, tp = 2", [f"shard {rule}", *pipeline(schedule, 2)]) for rule in ("vocab: tp", "width: tp", "vocab: tp, width: none, in: wte")
           for schedule in ("one_f_one_b", "zb_v")]
    cut += [("dp = 2, tp = 2, pp = 2", ["shard batch: dp, vocab: tp", *pipeline("one_f_one_b", 3)])]
    outcomes = program.agree(apart + together + cut)
    for plan, outcome in zip(apart + together, outcomes[1:]):
        # Each of two ranks gives the other its sums once per step.
        expected = [] if plan in together else [8 * 4 * 4 * program.steps] * 2
        if exchanged(program, outcome) != expected:
            raise Failure(f"{plan}: tied weights moved {exchanged(program, outcome)} bytes, expected {expected}")


def d23(work):
    """Any number of micro-batches and a stage without weights end, and give the numbers of one device."""
    text = """dim n = 3
module B {{
  weight v: [n] = normal(1.0)
  fn forward(x: [batch, n]) = x * v
}}
module R {{
  fn forward(x: [batch, n]) = relu(x)
}}
model M {{
  first = repeat({0}) B()
  act = repeat({1}) R()
  last = repeat({0}) B()
  fn loss(x: [batch, n]) {{
    let h = last(act(first(x)))
    return mean(h * h)
  }}
}}
"""
    x = numpy.random.RandomState(23).standard_normal((40, 3)).astype("f4")
    for schedules, sizes in ((ONE_STAGE, (1, 2)), (TWO_STAGES, (3, 2))):
        counts = (1, 2, 3, 4, 5, 8)
        program = Program(work, text.format(*sizes), {"x": x}, 40, rate=0.01, more="clip 0.01", limit=20)
        plans = [("pp = 4", pipeline(schedule, micros, stacks="(first, act, last)")) for schedule in schedules for micros in counts]
        program.agree(plans)


def d24(work):
    """What a stage keeps is bounded by the stages behind it, not by the number of micro-batches; gradients are accumulated in one place."""
    text = """dim wide = 64, mid = 256
module Layer {
  weight up: [wide, mid] = normal(0.02)
  weight down: [mid, wide] = normal(0.02)
  fn forward(x: [batch, wide]) = x + gelu(x @ up) @ down
}
model M {
  blocks = repeat(8) Layer()
  fn loss(x: [batch, wide]) = mean(sin(blocks(x)))
}
"""
    peaks = {}
    for micros in (8, 16, 64):
        x = numpy.random.RandomState(24).standard_normal((32 * micros, 64)).astype("f4")
        program = Program(work, text, {"x": x}, 32 * micros, steps=2, rate=0.01)
        rules = pipeline("one_f_one_b", micros)
        report = report_of(program, "pp = 4", rules)
        kept = [stage["kept"] for stage in report["stages"]]
        if any(count > min(micros, 4 - stage) for stage, count in enumerate(kept)):
            raise Failure(f"{micros} micro-batches: the stages keep {kept}, at most 4, 3, 2 and 1")
        trained = 2 * 2 * 64 * 256 * 4
        for number, rank in enumerate(report["ranks"]):
            gradients = sum(4 * weight["grad"]["rows"] * weight["grad"]["cols"] for weight in rank["weights"])
            if gradients != trained:
                raise Failure(f"{micros} micro-batches: rank {number} has {gradients} bytes of gradients, expected {trained}")
            # The batch itself grows; what the step keeps of it doesn't.
            fields = sum(4 * field["layout"]["rows"] * field["layout"]["stride"] for field in rank["data"]["fields"])
            peaks.setdefault(number, []).append(rank["arena"]["bytes"] - fields)
        folder = program.run("pp = 4", rules).folder
        program.call(folder, "./m", "--trace", "trace.json", "--quiet")
        found = most_kept(json.loads((folder / "trace.json").read_text())["traceEvents"])
        if found != kept:
            raise Failure(f"{micros} micro-batches: the run kept {found}, the plan {kept}")
    for number, bytes_ in peaks.items():
        if len(set(bytes_)) != 1:
            raise Failure(f"rank {number}: peaks for 8, 16 and 64 micro-batches are {bytes_} bytes")


def most_kept(events):
    """By stage: the most micro-batches at once whose forward had begun, and whose backward hadn't ended."""
    kept, most = collections.Counter(), collections.Counter()
    for event in sorted((event for event in events if event.get("ph") == "X"), key=lambda event: event["ts"]):
        words = event["name"].split()
        if words[0] in ("F", "BW"):
            stage = int(words[1].removeprefix("s"))
            kept[stage] += 1 if words[0] == "F" else -1
            most[stage] = max(most[stage], kept[stage])
    return [most[stage] for stage in sorted(most)]


if __name__ == "__main__":
    main({name.upper(): case for name, case in globals().items() if name[:1] == "d" and name[1:].isdigit()})
