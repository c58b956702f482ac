"""A small program for tests of collectives, and its data: neither batch nor units need to be divisible by an axis."""
# SPDX-License-Identifier: Apache-2.0
import numpy

PROGRAM = """\
dim inputs = 7, hidden = 5, classes = 3

model M {{
  weight w1: [inputs, hidden] = normal(0.5)
  weight b1: [hidden] = zeros
  weight w2: [hidden, classes] = normal(0.5)
  weight b2: [classes] = zeros
  fn loss(x: [batch, inputs], t: int[batch]) {{
    let z = {hidden} @ w2 + b2{metric}
    return cross_entropy(z, t, over: classes)
  }}
}}

train M {{
  data npy(x: "x.npy", t: "t.npy")
  batch {batch}
  steps 3
  optimizer {optimizer}
}}

plan p on mesh({mesh}) {{ {plan} }}
"""
LINES = {"w1": 4, "b1": 5, "w2": 6, "b2": 7, "loss": 8}
SCALARS = 7 * 5 + 5 + 5 * 3 + 3


def write(work, mesh, plan, *, hidden="relu(x @ w1 + b1)", metric="", batch=8, optimizer="sgd(lr: 0.1)"):
    """Writes m.ptl and its data to a folder; `metric` is a line of the loss."""
    work.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    numpy.save(work / "x.npy", random.normal(size=(24, 7)).astype("f4"))
    numpy.save(work / "t.npy", random.integers(3, size=24).astype("i4"))
    text = PROGRAM.format(mesh=mesh, plan=plan, hidden=hidden, metric=metric and f"\n    metric {metric}", batch=batch, optimizer=optimizer)
    (work / "m.ptl").write_text(text)
