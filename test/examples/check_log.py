#!/usr/bin/env python3
"""Fails unless the loss of a run falls. Usage: check_log.py LOG STEPS LIMIT [OTHER] [--exact]: as many steps, the last loss below
LIMIT, each within 1e-3 of the log OTHER, or the same number."""
# SPDX-License-Identifier: Apache-2.0
import json
import sys


def losses_of(log):
    with open(log, encoding="utf-8") as file:
        return [line["loss"] for line in map(json.loads, file) if "loss" in line]


steps, limit = int(sys.argv[2]), float(sys.argv[3])
losses = losses_of(sys.argv[1])
print(f"{len(losses)} steps, loss {losses[0]} -> {losses[-1]}")
good = len(losses) == steps and losses[-1] < limit < losses[0]
if len(sys.argv) > 4:
    others = losses_of(sys.argv[4])
    worst = max(abs(a - b) / b for a, b in zip(losses, others, strict=True))
    print(f"at most {worst:.1e} from the other run")
    good &= worst == 0 if "--exact" in sys.argv else worst < 1e-3
sys.exit(0 if good else 1)
