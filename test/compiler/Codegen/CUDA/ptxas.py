#!/usr/bin/env python3
"""Assembles PTX and checks what becomes of each kernel.

Usage: ptxas.py FILE.ptx ARCH...    Every kernel must have no stack and no spills; prints a line for each.
"""
# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys


def resources(ptx, arch):
    """Yields (kernel, stack, spill stores, spill loads, registers) of each kernel that ptxas reports."""
    run = subprocess.run(["ptxas", "-v", "-O3", f"-arch={arch}", ptx, "-o", "/dev/null"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"ptxas -arch={arch}: {run.stderr.strip()[:2000]}")
    report = re.compile(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                        r"(\d+) bytes spill loads.*?Used (\d+) registers", re.S)
    for match in report.finditer(run.stderr):
        yield match[1], *map(int, match.groups()[1:])


def main():
    ptx, archs = sys.argv[1], sys.argv[2:]
    with open(ptx, encoding="utf-8") as file:
        entries = re.findall(r"\.entry (\w+)", file.read())
    failed = not entries
    for arch in archs:
        found = {kernel: numbers for kernel, *numbers in resources(ptx, arch)}
        for kernel in entries:
            stack, stores, loads, registers = found[kernel]
            good = stack == stores == loads == 0
            failed |= not good
            print(f"{arch} {kernel}: {registers} registers, {stack} bytes stack frame, {stores} bytes spill stores"
                  f"{'' if good else ' - expected none'}")
        print(f"{arch}: {len(entries)} kernels")
    return failed


if __name__ == "__main__":
    sys.exit(main())
