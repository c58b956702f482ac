#!/usr/bin/env python3
"""Case D31: random numbers. Usage: randomness.py ID WORKDIR."""
# SPDX-License-Identifier: Apache-2.0
import numpy
from runs import Failure, Program, main


def d31(work):
    """Initial weights and drop-out depend on neither the mesh nor on recomputation, which replays them."""
    text = """dim rows = 4, feat = 6
module Drop { fn forward(x: [batch, feat]) = dropout(tanh(x), 0.5) }
model M {
  weight t: [rows, feat] = normal(1.0)
  weight u: [rows, feat] = normal(1.0)
  first = Drop()
  second = Drop()
  fn loss(ids: int[batch], x: [batch, feat]) = sum(first(t[rows: ids]) * x) + sum(second(u[rows: ids]) * x)
}
"""
    data = {"ids": numpy.arange(4, dtype="i4"), "x": numpy.arange(1, 25, dtype="f4").reshape(4, 6) / 16}
    meshes = [("dp = 1", []), ("dp = 2", ["shard batch: dp"]), ("tp = 2", ["shard feat: tp"]), ("tp = 3", ["shard feat: tp"]),
              ("dp = 2, tp = 2", ["shard batch: dp", "shard feat: tp"])]
    plans = [(mesh, [*rules, *more]) for mesh, rules in meshes for more in ([], ["remat full"])]
    first, *others = Program(work, text, data, 4).agree(plans)
    masks = {name: gradient != 0 for name, gradient in first.gradients.items()}
    for name, mask in masks.items():
        if not 4 <= mask.sum() <= 20:
            raise Failure(f"half of 24 elements should be dropped, of '{name}' {mask.sum()} are left")
    if numpy.array_equal(masks["t"], masks["u"]):
        raise Failure(f"two layers of the same shape share a mask: {masks['t']}")
    # Each row is looked up once, so nothing is added in another order: the bits are the same everywhere.
    for outcome in others:
        for what in ("gradients", "weights"):
            for name, value in getattr(first, what).items():
                if not numpy.array_equal(getattr(outcome, what)[name], value):
                    raise Failure(f"{outcome.folder.name}: {what} of '{name}': {getattr(outcome, what)[name]}, on one device {value}")
    # What the first step drops, a later one may keep: those weights stand still in the first and move in all three.
    once = Program(work, text, data, 4, steps=1).run()
    dropped = ~masks["t"]
    if not (first.weights["t"] != once.weights["t"])[dropped].any():
        raise Failure(f"each step has the same mask: {masks['t']}")


if __name__ == "__main__":
    main({"D31": d31})
