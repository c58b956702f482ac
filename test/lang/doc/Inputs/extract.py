#!/usr/bin/env python3
"""Writes the ```ptl blocks of a page into a folder: 1.ptl, 2.ptl, ... Usage: extract.py PAGE FOLDER"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

page, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
blocks = re.findall(r"^```ptl\n(.*?)^```$", page.read_text(), re.M | re.S)
for number, text in enumerate(blocks, 1):
    (folder / f"{number}.ptl").write_text(text)
print(f"{len(blocks)} programs")
