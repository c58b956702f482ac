#!/usr/bin/env python3
"""Checks that the kernels of a PTX file move 16 bytes per access.

Usage: accesses.py FILE.ptx    For models whose rows four divides. Narrower are only values of a row, hyper-parameters and
sums that are one number: at most 8 in a kernel, but where a kernel adds up the parts of such a sum.
"""
# SPDX-License-Identifier: Apache-2.0
import re
import sys

MOST_SCALARS = 8


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        kernels = re.findall(r"\.entry (\w+)\((.*?)\n\}", file.read(), re.S)
    failed = not kernels
    for name, body in kernels:
        accesses = re.findall(r"(?:ld|st)\.global[.\w]*", body)
        wide = sum(".v4.b32" in access for access in accesses)
        narrow = len(accesses) - wide
        good = narrow <= MOST_SCALARS or (name.endswith("_sum") and not wide)
        failed |= not good
        print(f"{name}: {wide} accesses of 16 bytes, {narrow} narrower{'' if good else ' - expected fewer'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
