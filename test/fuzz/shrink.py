"""Makes a failing program smaller while it fails in the same way.

A program is its lines: most steps drop some, since generators write one statement, weight, rule or term on each. Others replace a
value by one that it is made of, a size by a smaller one. What isn't a program any more is refused, and so doesn't fail.
"""
# SPDX-License-Identifier: Apache-2.0
import re
import time

BATCH = 24  # candidates at once: starting the tool is as dear as a few programs
LET = re.compile(r"^ *let (\w+)(?:: \[[^\]]*\])? = (.*)$")


def without_lines(lines):
    """Copies without half of the lines, a quarter, and so on to single ones; later ones first, since they are used less."""
    size = max(1, len(lines) // 2)
    while True:
        for start in range(len(lines) - size, -size, -size):
            yield lines[: max(0, start)] + lines[max(0, start) + size :]
        if size == 1:
            return
        size //= 2


def with_parts(lines):
    """Copies in which a value is replaced by one that it is made of."""
    for place, line in enumerate(lines):
        let = LET.match(line)
        for part in dict.fromkeys(re.findall(r"\b[a-z]\w*\b(?![(:])", let[2])) if let else ():
            rest = [re.sub(rf"\b{let[1]}\b", part, other) for other in lines[place + 1 :]]
            yield lines[:place] + rest


def with_sizes(lines):
    """Copies with one number made smaller: sizes, axes, parts, samples, micro-batches."""
    for place, line in enumerate(lines):
        if not re.match(r"dim |  batch |  microbatches |plan |.* = repeat\(", line):
            continue
        for number in re.finditer(r"\b\d+\b", line):
            value = int(number[0])
            for smaller in sorted({1, 2, value // 2, value - 1}):
                if 0 < smaller < value:
                    yield [*lines[:place], line[: number.start()] + str(smaller) + line[number.end() :], *lines[place + 1 :]]


def first_failing(candidates, fails, batch, end):
    """The first of the candidates that fails, or None; `fails` says for a list of texts which do."""
    candidates = list(candidates)
    for start in range(0, len(candidates), batch):
        if time.monotonic() > end:
            return None
        some = candidates[start : start + batch]
        for lines, failing in zip(some, fails(["\n".join(lines) + "\n" for lines in some])):
            if failing:
                return lines
    return None


def shrink(text, fails, batch=BATCH, seconds=120):
    """The smallest program found that still fails, after at most some `seconds`. `fails` takes up to `batch` texts and returns a truth value for
    each."""
    lines, end = text.splitlines(), time.monotonic() + seconds
    while True:
        for steps in (without_lines, with_parts, with_sizes):
            found = first_failing(steps(lines), fails, batch, end)
            if found is not None:
                lines = found
                break
        else:
            break
    return "\n".join(lines) + "\n"
