"""Weights and data for the programs of programs.py, all made from names, so that nothing but shapes is on record.

A value depends on the name of its weight or file alone, by the generator that numpy promises to keep for ever.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import struct
import zlib

import numpy

DEVIATION = 0.25  # of weights: small enough for f32, large enough that each weight matters to the loss


def source(name):
    return numpy.random.RandomState(zlib.crc32(name.encode()))


def weight(path, mean, shape):
    """Noise around the mean that the program declares, since zeros and ones hide mistakes."""
    return (mean + DEVIATION * source(path).standard_normal(shape)).astype("<f4")


def integers(name, shape, low, high):
    return source(name).randint(low, high, shape).astype("<i4")


def padded(name, shape, high):
    """Rows that end in up to half a row of zeros."""
    values = integers(name, shape, 1, high)
    length = source(name + " length").randint((shape[1] + 1) // 2, shape[1] + 1, shape[0])
    values[numpy.arange(shape[1])[None] >= length[:, None]] = 0
    return values


def field(name, spec):
    """The array of one file: {"shape": …} and, for whole numbers, "low" and "high" or "padded"; "same": all rows are equal."""
    if "padded" in spec:
        return padded(name, spec["shape"], spec["padded"])
    if "high" in spec:
        return integers(name, spec["shape"], spec["low"], spec["high"])
    values = source(name).standard_normal(spec["shape"]).astype("<f4")
    return numpy.repeat(values[:1], len(values), 0) if "same" in spec else values


def stream(name, spec):
    """The tokens of a file that holds just what one batch reads."""
    return integers(name, [spec["tokens"]], 0, spec["high"])


def write_file(folder, name, spec):
    path = pathlib.Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if "tokens" not in spec:
        numpy.save(path, field(name, spec))
    elif name.endswith(".txt"):
        path.write_bytes(stream(name, spec).astype("u1").tobytes())
    else:  # the header of llm.c: magic, version, count
        header = numpy.zeros(256, "<i4")
        header[:3] = 20240520, 1, spec["tokens"]
        path.write_bytes(header.tobytes() + stream(name, spec).astype("<u2").tobytes())


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t.tobytes() for t in tensors.values()))


def weights(record):
    return {path: weight(path, mean, shape) for path, (mean, shape) in record["weights"].items()}


def write_inputs(folder, record):
    """All files that the program names, and weights.safetensors."""
    for name, spec in record["files"].items():
        write_file(folder, name, spec)
    tensors = weights(record)
    write_safetensors(folder / "weights.safetensors", tensors)
    for name, part in record.get("init", {}).items():
        below = {path[len(part):]: tensor for path, tensor in tensors.items() if path.startswith(part)}
        write_safetensors(folder / name, below)
