#!/usr/bin/env python3
"""Cases D25 and D26: gradients and weights in parts. Usage: storage.py ID WORKDIR."""
# SPDX-License-Identifier: Apache-2.0
import json

import numpy
from runs import Failure, Program, compare, i32, main

LEVELS = [[], *([f"zero {level}, over: fsdp"] for level in (1, 2, 3))]


def d25(work):
    """Every micro-batch reaches the optimizer, and the next step begins at zero."""
    text = """dim n = 4
model M {
  weight w: [n] = ones
  fn loss(x: [batch, n]) = mean(dot(x, w, over: n))
}
"""
    # Three micro-batches of a sample per rank, with gradients of 1, 2 and 4; both steps see the same.
    x = numpy.repeat(numpy.array([1, 1, 2, 2, 4, 4], "f4")[:, None], 4, 1)
    mean, ones = 7 / 3, numpy.ones(4)
    for rules in ([], ["reproducible"]):
        plans = [("fsdp = 2", ["shard batch: fsdp", "microbatches 3", *level, *rules]) for level in LEVELS]
        Program(work, text, {"x": x}, 6, steps=2).agree(
            plans, {"gradient w": mean * ones, "grad_norm": 2 * mean, "grad_norm of step 1": 2 * mean, "weight w": 1 - 2 * mean * ones},
            {"gradient w": {4 / 3: "the last micro-batch only", 7: "a sum over micro-batches"},
             "grad_norm of step 1": {4 * mean: "the gradient of the first step is still there"},
             "weight w": {1 - 3 * mean: "the gradient of the first step is still there", 1 - 8 / 3: "the last micro-batch only"}})


def softmax_gradients(table, ids, targets):
    """Gradients of the mean cross entropy of tied logits: as an embedding and as a head."""
    hidden = table[ids].astype("f8")
    p = numpy.exp(hidden @ table.T)
    p /= p.sum(1, keepdims=True)
    p[numpy.arange(len(ids)), targets] -= 1
    p /= len(ids)
    embedding = numpy.zeros(table.shape)
    numpy.add.at(embedding, ids, p @ table)
    return embedding, p.T @ hidden


def d26(work):
    """A table that is embedding and head is one weight: in parts, in files, and on one device again."""
    text = """dim vocab = 8, width = 4
model M {
  weight table: [vocab, width] = zeros
  fn loss(ids: int[batch], targets: int[batch]) {
    return cross_entropy(dot(table[vocab: ids], table, over: width), targets, over: vocab)
  }
}
"""
    ids, targets = i32(1, 5, 5, 1), i32(5, 2, 1, 7)
    start = numpy.random.default_rng(26).normal(size=(8, 4)).astype("f4")
    embedding, head = softmax_gradients(start, ids, targets)
    program = Program(work, text, {"ids": ids, "targets": targets}, 4, {"table": start}, steps=4, rate=0.5)
    three = Program(work, text, program.data, 4, program.weights, steps=3, rate=0.5)
    plans = [("fsdp = 2", ["shard batch: fsdp", *level]) for level in LEVELS]
    through = program.agree(plans, {"gradient table": embedding + head},
                            {"gradient table": {tuple(map(tuple, head)): "the gradient of the head alone", tuple(map(tuple, embedding)): "that of the embedding alone"}})
    stopped = three.agree(plans)
    for (mesh, rules), whole, before in zip([("", ()), *plans], through, stopped):
        where = f"mesh({mesh}) {rules}"
        if list(before.weights) != ["table"] or before.weights["table"].shape != (8, 4):
            raise Failure(f"{where}: the file has {[(name, value.shape) for name, value in before.weights.items()]}, expected one table of 8 x 4")
        if not (numpy.abs(before.weights["table"] - start).max(axis=1) > 1e-3).all():
            raise Failure(f"{where}: rows that nobody looked up are part of the head, but didn't move: {before.weights['table'] - start}")
        last = Program(work, text, program.data, 4, steps=1, rate=0.5).run(init=str(before.folder / "w.safetensors"))
        compare(where, "loss of step 3 from the file, on one device", last.steps[0]["loss"], whole.steps[3]["loss"])
        compare(where, "the table after it", last.weights["table"], whole.weights["table"])
    counted = json.loads(three.call(stopped[1].folder, "ptlc", "estimate", "m.ptl", "--plan", "p", "--mesh", "fsdp=2", "--json"))
    compare("estimate", "parameters", counted["parameters"], 32)


if __name__ == "__main__":
    main({name.upper(): case for name, case in globals().items() if name[:1] == "d" and name[1:].isdigit()})
