#!/usr/bin/env python3
"""Checks that the kernels of a PTX file move 16 bytes per access.

Usage: accesses.py FILE.ptx NUMBERS    For models whose rows four divides. Narrower are only values of a row, hyper-parameters
and sums that are one number: at most 8 in a kernel, but where a kernel adds up the parts of such a sum. NUMBERS kernels, such as
the mean of the loss, move nothing but numbers.
"""
# SPDX-License-Identifier: Apache-2.0
import re
import sys

MOST_SCALARS = 8


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        kernels = re.findall(r"\.entry (\w+)\((.*?)\n\}", file.read(), re.S)
    failed, numbers = not kernels, 0
    for name, body in kernels:
        accesses = re.findall(r"(?:ld|st)\.global[.\w]*", body)
        wide = sum(".v4.b32" in access for access in accesses)
        narrow = len(accesses) - wide
        good = narrow <= MOST_SCALARS or (name.endswith("_sum") and not wide)
        failed |= not good
        numbers += not wide and not name.endswith("_sum")
        print(f"{name}: {wide} accesses of 16 bytes, {narrow} narrower{'' if good else ' - expected fewer'}")
    if numbers != int(sys.argv[2]):
        print(f"{numbers} kernels have no access of 16 bytes, expected {sys.argv[2]}")
        failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
