#!/usr/bin/env python3
"""Fails unless the loss of a run falls. Usage: check_log.py LOG STEPS LIMIT: as many steps, the last loss below LIMIT."""
# SPDX-License-Identifier: Apache-2.0
import json
import sys

log, steps, limit = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with open(log, encoding="utf-8") as file:
    losses = [line["loss"] for line in map(json.loads, file) if "loss" in line]
print(f"{len(losses)} steps, loss {losses[0]} -> {losses[-1]}")
sys.exit(0 if len(losses) == steps and losses[-1] < limit < losses[0] else 1)
