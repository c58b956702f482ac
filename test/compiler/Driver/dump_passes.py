#!/usr/bin/env python3
"""Checks the files that --dump-passes has written.

Usage: dump_passes.py DIR STAGE..., or dump_passes.py --self-test. The stages must have files in this order; in the last file every operation must lead to
a line of a .ptl file, through the aliases of locations that the file defines.
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

ALIAS = re.compile(r"^(#loc\d*) = (loc\(.*\))$")
PLACE = re.compile(r" loc\((#loc\d*|.*)\)$")


def leads_to_source(location, aliases):
    """Whether a location names a line of a .ptl file, itself or by what it is made of."""
    if re.search(r'\.ptl":\d+:\d+', location):
        return True
    return any(leads_to_source(aliases[name], aliases) for name in re.findall(r"#loc\d*\b", location) if name in aliases)


def unplaced(text):
    """Returns the lines whose operation has no place in a .ptl file, and the number of operations."""
    lines = text.splitlines()
    aliases = dict(match.groups() for match in map(ALIAS.match, lines) if match)
    bad, count = [], 0
    for line in lines:
        body = line.strip()
        if not body or body.startswith(("#", "//", "^")) or body.endswith("{"):
            continue  # an operation with a region has its place behind the region
        count += 1
        place = PLACE.search(body)
        if not place or not leads_to_source(place.group(0), aliases):
            bad.append(body)
    return bad, count


def self_test():
    good = '#loc1 = loc("m.ptl":3:4)\n#loc2 = loc("part"(#loc1))\n%0 = ptl.iota : t loc(#loc2)\n'
    assert unplaced(good) == ([], 1), unplaced(good)
    assert unplaced(good.replace("m.ptl", "x.cpp"))[0]
    assert unplaced(good.replace(" loc(#loc2)", ""))[0]
    assert unplaced(good.replace("loc(#loc2)", "loc(unknown)"))[0]
    assert unplaced("rt.kernel rows() {\n} loc(unknown)\n".replace("\n}", "\n  }"))[0]


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.mlir"))
    stages = []
    for file in files:
        match = re.match(r"// stage (\w+): ", file.read_text())
        if not match:
            sys.exit(f"{file}: the first line doesn't name the stage")
        if not stages or stages[-1] != match.group(1):
            stages.append(match.group(1))
    if stages != sys.argv[2:]:
        sys.exit(f"stages: expected {sys.argv[2:]}, found {stages}")
    bad, count = unplaced(files[-1].read_text())
    if bad or count < 100:
        sys.exit(f"{files[-1]}: of {count} operations {len(bad)} lead to no line of a .ptl file, such as\n" + "\n".join(bad[:5]))
    print(f"{len(files)} files, {count} operations in the last")


if __name__ == "__main__":
    main()
