#!/usr/bin/env python3
"""Trains a golden model on every pipeline of a grid: the recorded steps, and the same bits as without a pipeline.

Usage: stages.py CASE WORKDIR [--stages 2,3,4] [--microbatches 1,3,4,8] [--every N] [--plain]
CASE is a folder of test/execute/golden. The grid is stages x schedules x micro-batches, as far as the model has layers; `--every N` takes
each Nth cell. Each is compared with the recorded run, as golden.py does it, and bit for bit with one device and as many micro-batches:
losses, norms and metrics of all steps, gradients of the first, weights after the last. The program itself compares tied weights of two
stages after each step. With --plain the plan isn't `reproducible`, so there are no bits to compare.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import itertools
import json
import pathlib
import shutil
import sys

import golden

SCHEDULES = ("gpipe", "one_f_one_b", "interleaved(2)", "zb_h1", "zb_v", 'file("orders.csv")')


def stages_per_rank(schedule):
    return 2 if schedule in ("interleaved(2)", "zb_v") else 1


def orders(ranks, micros):
    """Orders that no generator makes: twice as many forwards ahead as 1F1B, backwards split, gradients of weights one behind."""
    lines = [f"ptl-schedule,1,compute,name=ahead,p={ranks},v=1,m={micros},place={' '.join(map(str, range(ranks)))}"]
    for rank in range(ranks):
        ahead = min(micros, 2 * (ranks - rank) - 1)
        cells = [f"F{rank}.{micro}" for micro in range(ahead)]
        for micro in range(micros):
            cells += [f"B{rank}.{micro}"]
            cells += [f"F{rank}.{micro + ahead}"] if micro + ahead < micros else []
            cells += [f"W{rank}.{micro - 1}"] if micro else []
        lines.append(",".join([*cells, f"W{rank}.{micros - 1}"]))
    return "\n".join(lines) + "\n"


class Grid:
    def __init__(self, options):
        self.options = options
        self.case = golden.HERE / "golden" / options.case
        self.expected = json.loads((self.case / "expected.json").read_text())
        self.kind = options.case.split("_")[0]
        self.work = options.workdir.resolve() / f"{options.case}-{'plain' if options.plain else 'bits'}"
        shutil.rmtree(self.work, ignore_errors=True)
        self.alone = {}  # by micro-batches: what one device writes

    def cells(self):
        counts = [[int(number) for number in text.split(",")] for text in (self.options.stages, self.options.microbatches)]
        grid = [cell for cell in itertools.product(counts[0], SCHEDULES, counts[1])
                if cell[0] * stages_per_rank(cell[1]) <= self.expected["layers"]]
        return grid[self.options.first :: self.options.every]

    def train(self, stages, schedule, micros):
        """Returns the folder of a run that has ended."""
        folder = self.work / "".join(letter if letter.isalnum() else "_" for letter in f"{stages} {schedule} {micros}")
        folder.mkdir(parents=True)
        options = argparse.Namespace(mesh=f"pp={stages}", shard="", microbatches=micros, reproducible=not self.options.plain,
                                     pipeline=f"schedule: {schedule}" if schedule else "")
        (folder / "orders.csv").write_text(orders(stages, micros))
        golden.build(self.case, self.expected, options, folder, "--no-check")
        golden.train(self.case, folder)
        return folder

    def differences(self, folder, micros):
        """Names of what isn't the same bits as on one device, and how many there are in all."""
        if micros not in self.alone:
            self.alone[micros] = golden.everything(self.train(1, "", micros))
        expected, found = self.alone[micros], golden.everything(folder)
        return sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)), len(expected)

    def run(self):
        failed = 0
        cells = self.cells()
        for cell in cells:
            print(f"pp = {cell[0]}, schedule: {cell[1]}, microbatches {cell[2]}")
            folder = self.train(*cell)
            bad = golden.compare(self.case, self.expected, folder)
            if not self.options.plain:
                others, count = self.differences(folder, cell[2])
                print(f"{'FAIL' if others else 'ok  '} {len(others)} of {count} arrays and numbers differ from one device: {others[:6]}")
                bad |= bool(others)
            failed += bad
            shutil.rmtree(folder)
        print(f"{failed} of {len(cells)} cells failed")
        return 1 if failed or not cells else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--stages", default="2,3,4")
    parser.add_argument("--microbatches", default="1,3,4,8")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first cell taken")
    parser.add_argument("--plain", action="store_true")
    return Grid(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
