#!/usr/bin/env python3
"""The memory of a run is what its plan says: the arena to the byte, the process within 5 % and a fixed part.

Usage: resident.py WORKDIR. The fixed part, for code, the runtime's buffers and what files are read through, is 32 MB.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys

import numpy

MODEL = pathlib.Path(__file__).resolve().parents[1] / "bench" / "models" / "gpt2.ptl"
SIZES = [f"-D{name}={value}" for name, value in {"vocab": 32768, "embed": 512, "heads": 8, "layers": 1, "seq": 128, "steps": 2}.items()]
FIXED = 32e6


def call(*command, cwd):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout


def main():
    work = pathlib.Path(sys.argv[1]).resolve()
    work.mkdir(parents=True, exist_ok=True)
    tokens = numpy.random.RandomState(1).randint(0, 32768, 4000).astype("<u2")
    header = numpy.zeros(256, "<i4")
    header[:3] = 20240520, 1, len(tokens)
    (work / "tokens.bin").write_bytes(header.tobytes() + tokens.tobytes())
    for name, rule in (("plain", ""), ("full", "remat full")):
        (work / f"{name}.ptl").write_text(MODEL.read_text() + f"\nplan here on mesh(dp = 1) {{ {rule} }}\n")
        plan = json.loads(call("ptlc", f"{name}.ptl", "--plan", "here", *SIZES, "--report", "--json", cwd=work))["arena"]["bytes"]
        call("ptlc", f"{name}.ptl", "--plan", "here", *SIZES, "-o", name, cwd=work)
        call(f"./{name}", "--quiet", "--report", f"{name}.json", cwd=work)
        report = json.loads((work / f"{name}.json").read_text())
        arena, resident = report["arena_bytes"], report["peak_resident_bytes"]
        print(f"{name}: planned {plan}, arena {arena}, resident {resident}: {(resident - arena) / 1e6:.1f} MB more")
        if arena != plan:
            sys.exit(f"{name}: the arena has {arena} bytes, planned were {plan}")
        if not 0.95 * plan <= resident <= 1.05 * plan + FIXED:
            sys.exit(f"{name}: {resident} bytes are resident, planned were {plan}")


if __name__ == "__main__":
    main()
