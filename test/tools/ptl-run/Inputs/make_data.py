#!/usr/bin/env python3
"""Writes x.npy (1 .. 5), tokens.bin (7 .. 13) and w.safetensors (w = 10) into a folder."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import struct
import sys

import numpy

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
numpy.save(folder / "x.npy", numpy.arange(1, 6, dtype="f4"))
header = numpy.zeros(256, "i4")
header[:3] = 20240520, 1, 7
(folder / "tokens.bin").write_bytes(header.tobytes() + numpy.arange(7, 14, dtype="u2").tobytes())
text = json.dumps({"w": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}).encode()
(folder / "w.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<f", 10))
