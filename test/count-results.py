#!/usr/bin/env python3
"""Adds up what lit (lit*.json) and ctest (ctest*.xml) wrote into a folder, and prints 'N passed, N failed'.

Fails if anything failed, or if no test ran. A test that a machine can't run (unsupported, skipped) counts as neither.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

PASS = {"PASS", "XFAIL", "FLAKYPASS"}
NEITHER = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def count_lit(path):
    """Returns the numbers of passed, failed and skipped lit tests, and the names of the failed."""
    tests = json.loads(path.read_text())["tests"]
    passed = [t for t in tests if t["code"] in PASS]
    skipped = [t for t in tests if t["code"] in NEITHER]
    failed = [t["name"] for t in tests if t["code"] not in PASS | NEITHER]
    return len(passed), len(skipped), failed


def count_ctest(path):
    """The same for ctest's JUnit file, whose test cases are GoogleTest cases."""
    passed, skipped, failed = 0, 0, []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.get("status") == "fail":
            failed.append(case.get("name"))
        elif case.find("skipped") is not None or case.get("status") != "run":
            skipped += 1
        else:
            passed += 1
    return passed, skipped, failed


def main():
    passed, skipped, failed = 0, 0, []
    for folder in map(pathlib.Path, sys.argv[1:]):
        counts = [count_lit(p) for p in sorted(folder.glob("lit*.json"))]
        counts += [count_ctest(p) for p in sorted(folder.glob("ctest*.xml"))]
        for one_passed, one_skipped, one_failed in counts:
            passed += one_passed
            skipped += one_skipped
            failed += [f"{folder.parent.name}: {name}" for name in one_failed]
    for name in failed:
        print(f"FAILED {name}")
    if not passed:
        failed = failed or ["no test ran"]
        print("no test ran")
    print(f"{passed} passed, {len(failed)} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
