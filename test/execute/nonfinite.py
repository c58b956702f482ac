#!/usr/bin/env python3
"""One rank's batch of one step holds what no f32 can: all ranks stop, or all leave the step out and agree bit for bit.

Usage: nonfinite.py WORKDIR
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from golden import call, read_safetensors  # noqa: E402

PROGRAM = """dim n = 4
model M {{
  weight w: [n] = ones
  fn loss(x: [batch, n]) = mean(exp(x * w))
}}
train M {{ data npy(x: "x.npy"), tail: wrap; batch 4; steps 3; optimizer sgd(lr: 0.1); on_nonfinite {word} }}
plan p on mesh(dp = 2) {{ shard batch: dp{plan} }}
"""


def main():
    work = pathlib.Path(sys.argv[1]).resolve()
    x = numpy.full((12, 4), 0.5, "f4")
    x[7] = 1e4  # step 1, the second rank: the exponential is infinite
    for plan in ("", "; precision bf16"):
        for word in ("stop", "skip"):
            folder = work / (word + ("-bf16" if plan else ""))
            folder.mkdir(parents=True, exist_ok=True)
            numpy.save(folder / "x.npy", x)
            (folder / "m.ptl").write_text(PROGRAM.format(word=word, plan=plan))
            call("ptlc", "m.ptl", "--plan", "p", "-o", "m", cwd=folder)
            command = ["./m", "--quiet", "--check-replicas", "--log", "log.jsonl", "--save", "w.safetensors"]
            if word == "stop":
                found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                if found.returncode == 0 or "step 1" not in found.stderr or "not finite" not in found.stderr:
                    sys.exit(f"FAIL: should have stopped in step 1: {found.returncode} {found.stderr}")
                print(f"ok   stop{plan}: {found.stderr.strip()}")
                continue
            call(*command, cwd=folder)
            losses = [line["loss"] for line in map(json.loads, (folder / "log.jsonl").read_text().splitlines()) if "loss" in line]
            weights = read_safetensors(folder / "w.safetensors")["w"]
            # Two updates, as if the second step hadn't been.
            expected = numpy.ones(4, "f8")
            for _ in range(2):
                expected -= 0.1 * 0.5 * numpy.exp(0.5 * expected) / 4
            error = numpy.abs(weights - expected).max()
            if len(losses) != 3 or not error < (1e-3 if plan else 1e-6):
                sys.exit(f"FAIL: skip{plan}: losses {losses}, weights {weights}, expected {expected}")
            print(f"ok   skip{plan}: weights differ by {error:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
