#!/usr/bin/env python3
"""Usage: simulate_cluster.py FILE PLAN STAGES. With times of a cluster, a played step takes as long as the closed form of `ptlc
estimate` says (which is exact for equal stages but for messages and for what is done once), and idles as 1F1B does."""
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys

FILE, PLAN, STAGES = sys.argv[1], sys.argv[2], int(sys.argv[3])


def call(command):
    return json.loads(subprocess.run(["ptlc", command, FILE, "--plan", PLAN, "--json"], check=True, capture_output=True, text=True).stdout)


played, estimated = call("simulate"), call("estimate")
closed = estimated["time"]["seconds"] - 0.02  # data and logs
print(f"{played['seconds']} s played, {closed} s estimated; idle {played['idle_of_total']}")
if abs(played["seconds"] / closed - 1) > 0.03:
    sys.exit("the simulator and the closed form differ")
bubble = (STAGES - 1) / (played["micros"] + STAGES - 1)
if not bubble - 0.02 < played["idle_of_total"] < bubble + 0.05:
    sys.exit(f"idle {played['idle_of_total']}, expected about {bubble}")
