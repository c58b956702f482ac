#!/usr/bin/env python3
"""Computes along the batch in every way that the language has; on each mesh it must be what one device computes.

Usage: batch.py WORKDIR [EXPRESSION...] [--batch 5] [--mesh dp=2 dp=3] [--native]
An expression of the table below is a loss. Its gradient is held against slopes; its step on each mesh, as kernels, against
the one of one device, in double precision by ptl-run. With --native executables train a step, too, and agree.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import golden  # noqa: E402
import program_data  # noqa: E402

LIMIT = 1e-5
# h is [batch, out] and depends on the weight, y [batch, out] and n int[batch] are data; `other` is the batch under another name.
EXPRESSIONS = {
    "softmax": "mean(tanh(softmax(h, over: batch)) * y)",
    "log_softmax": "mean(log_softmax(h, over: batch) * y)",
    "max": "sum(max(h, over: batch) * max(y, over: batch))",
    "masked_min": "sum(min(h, over: batch, where: y > 0))",
    "argmax": "mean(h) * sum(float(argmax(y, over: batch)))",
    "layer_norm": "mean(layer_norm(h, over: batch) * y)",
    "rms_norm": "mean(rms_norm(h, over: batch) * y)",
    "batch_norm": "mean((h - mean(h, over: batch)) * rsqrt(mean(pow(h - mean(h, over: batch), 2), over: batch) + 1e-3) * y)",
    "rope": "mean(rope(h, over: out, along: batch) * y)",
    "concat": "mean(pow(softmax(concat(h, reshape(y, batch -> other), (batch, other) -> both), over: both), 2))",
    "pad": "mean(pow(pad(h, batch -> longer, before: 1, value: 0.5) * 1.5, 2))",
    "slice": "mean(pow(slice(h, batch -> shorter, from: 1), 2))",
    "stack": "mean(pow(stack((h, y), two), 3))",
    "top_k": "sum(best_of(h) * 1.5)",
    "permute": "mean(h[batch: n] * y)",
    "gather": "mean(reshape(h, batch -> other)[other: n] * y)",
    "scatter": "mean(dot(one_hot(n, other), h, over: batch) * reshape(y, batch -> other))",
    "iota": "mean(where(iota(batch) % 2 == 0, h * expand(float(iota(batch)), out), y))",
    "cross_entropy": "cross_entropy(h, iota(out), over: batch)",
    "attention": "mean(attention(expand(h, one), expand(reshape(h, batch -> other), one), expand(reshape(y, batch -> other), one), "
                 "over: other) * 1.5)",
    "causal_attention": "mean(attention(h, h, y, over: batch, causal: true) * 1.5)",
    "groups": "mean(pow(mean(reshape(h, batch -> (groups, local)), over: local), 2))",
    "strided_groups": "mean(pow(mean(reshape(h, batch -> (groups, local)), over: groups), 2))",
    "merge": "mean(pow(softmax(reshape(expand(h, seq) * 1.5, (batch, seq) -> token), over: token), 2))",
    "merge_minor": "mean(pow(softmax(reshape(expand(h, seq) * 1.5, (seq, batch) -> token), over: token), 2))",
    "gram": "sum(pow(dot(h, reshape(h, out -> out2), over: batch), 2))",
    "scores": "mean(dot(softmax(dot(h, reshape(h, batch -> other), over: out), over: other), reshape(y, batch -> other), over: other) * y)",
    "column_scores": "mean(dot(softmax(dot(h, reshape(h, batch -> other), over: out), over: batch), y, over: batch) "
                     "* reshape(y, batch -> other))",
    "prefix_sums": "mean(dot(where(expand(iota(batch), other) >= iota(other), 1.0, 0.0), reshape(h, batch -> other), over: other) * y)",
    "count": "sum(h * y) / sum(n != 0)",
    "masked_mean": "mean(h, where: y > 0)",
}
PROGRAM = """dim feat = 4, out = 4, out2 = out, seq = 3, one = 1, two = 2, other = batch, local = {local}, groups = batch / local,
    token = batch * seq, longer = batch + 2, shorter = batch - 2, both = batch + other, best = 2

fn best_of(v: [batch, out]) {{
  let (value, index) = top_k(v, batch -> best)
  return value + float(index)
}}

model M {{
  weight w: [feat, out] = normal(0.5)
  fn loss(x: [batch, feat], y: [batch, out], n: int[batch]) {{
    let h = x @ w
    return {expression} + 0.0 * sum(y) + 0.0 * sum(float(n))
  }}
}}

train M {{ data npy(x: "x.npy", y: "y.npy", n: "n.npy"); batch {batch}; steps 1; optimizer sgd(lr: 0.1) }}
"""


def train(work, mesh):
    """Loss, norm and weight after a step."""
    golden.call("ptlc", "model.ptl", "--mesh", mesh, "--no-check", "-o", "model", cwd=work)
    (work / "log.jsonl").unlink(missing_ok=True)
    golden.call("./model", "--save", "saved.safetensors", "--log", "log.jsonl", "--check-replicas", "--quiet", cwd=work)
    (line,) = (line for line in map(json.loads, (work / "log.jsonl").read_text().splitlines()) if "grad_norm" in line)
    weight = golden.read_safetensors(work / "saved.safetensors")["w"]
    return numpy.concatenate([[line["loss"], line["grad_norm"]], weight.ravel()])


def check(name, work, options):
    text = PROGRAM.format(expression=EXPRESSIONS[name], batch=options.batch, local=2 if options.batch % 2 == 0 else 1)
    (work / "model.ptl").write_text(text)
    for stage in ("flat", "train"):
        golden.call("ptlc", "model.ptl", f"--emit={stage}", "-o", f"{stage}.mlir", cwd=work)
    golden.call("ptl-run", "--check-gradients", "flat.mlir", "train.mlir", "--directions", 3, cwd=work)
    one = train(work, "dp=1") if options.native else None
    for mesh in options.mesh:
        golden.call("ptlc", "model.ptl", "--mesh", mesh, "--emit=kernels", "-o", "kernels.mlir", cwd=work)
        golden.call("ptl-run", "--compare", "--f64", "train.mlir", "kernels.mlir", cwd=work)
        if options.native:
            found = train(work, mesh)
            error = (numpy.abs(found - one) / numpy.maximum(numpy.abs(one), 1e-2)).max()
            if not error <= LIMIT:
                sys.exit(f"{mesh}: loss, norm and weight {found}, on one rank {one}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="EXPRESSION")
    parser.add_argument("--batch", type=int, default=5)
    parser.add_argument("--mesh", nargs="+", default=["dp=3"])
    parser.add_argument("--native", action="store_true")
    options = parser.parse_args()
    work = options.workdir.resolve()
    work.mkdir(parents=True, exist_ok=True)
    for name in ("x", "y"):
        numpy.save(work / f"{name}.npy", program_data.source(name).standard_normal((options.batch, 4)).astype("f4"))
    numpy.save(work / "n.npy", program_data.integers("n", (options.batch,), 0, options.batch))
    failed = False
    for name in options.names or EXPRESSIONS:
        try:
            check(name, work, options)
            print(f"ok   {name}", flush=True)
        except SystemExit as failure:
            failed = True
            print(f"FAIL {name}: {failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
