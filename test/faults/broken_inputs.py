# broken_inputs.py - runs compiled programs on broken files, options and disks
# SPDX-License-Identifier: Apache-2.0
#
#   broken_inputs.py <folder of .ptl files> <working folder>
#
# Each case spoils one thing of a run that works, and names words that the error must contain.

import os
import resource
import shutil
import struct
import subprocess
import sys


def tokens(ids, magic=20240520, version=1, count=None):
    header = [magic, version, len(ids) if count is None else count] + [0] * 253
    return struct.pack("<256I", *header) + struct.pack(f"<{len(ids)}H", *ids)


def array(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(*shape):
    count = 1
    for size in shape:
        count *= size
    return array("<f4", ", ".join(map(str, shape)) + ",", struct.pack(f"<{count}f", *[0.5] * count))


def longs(values):
    return array("<i8", f"{len(values)},", struct.pack(f"<{len(values)}q", *values))


def tensors(header, data=b""):
    return struct.pack("<Q", len(header)) + header.encode() + data


IDS = [i % 16 for i in range(129)]
GOOD = {"train.bin": tokens(IDS), "x.npy": floats(16, 3), "y.npy": longs([i % 4 for i in range(16)])}
WTE = '"wte":{"dtype":"F32","shape":[16,4],"data_offsets":[0,256]}'
HEAD = '"head":{"dtype":"F32","shape":[4,16],"data_offsets":[256,512]}'
BOTH = "{" + WTE + "," + HEAD + "}"

# program, file to spoil (None: it is missing), arguments, status, words of the message
CASES = [
    ("table", {"train.bin": None}, [], 1, ["'train.bin'", "No such file", "table.ptl:12:3"]),
    ("table", {"train.bin": b"short"}, [], 1, ["'train.bin'", "too short"]),
    ("table", {"train.bin": b"text" * 600}, [], 1, ["'train.bin'", "'text' reads plain text"]),
    ("table", {"train.bin": tokens(IDS, count=500)}, [], 1, ["500 tokens", "room for 129", "truncated"]),
    ("table", {"train.bin": tokens(IDS[:7])}, [], 1, ["7 tokens", "9"]),
    ("table", {"train.bin": tokens(IDS[:20])}, [], 1, ["2 samples", "a batch takes 4", "table.ptl:12:3"]),
    ("table", {"train.bin": tokens(IDS[:29] + [16] + IDS[30:])}, [], 1,
     ["step 0", "'train.bin': token 16 at position 29 is outside [0, 16)"]),
    ("table", {"w": None}, ["--init", "w"], 1, ["'w'", "No such file"]),
    ("table", {"w": tensors(BOTH, bytes(511))}, ["--init", "w"], 1, ["'w'", "'head'", "truncated"]),
    ("table", {"w": tensors("{" + WTE + "}", bytes(256))}, ["--init", "w"], 1, ["has no tensor 'head'"]),
    ("table", {"w": tensors(BOTH.replace('"head"', '"haed"'), bytes(512))}, ["--init", "w"], 1,
     ["'haed'", "did you mean 'head'"]),
    ("table", {"w": tensors(BOTH.replace("[16,4]", "[4,16]"), bytes(512))}, ["--init", "w"], 1,
     ["'wte' is [4, 16], expected [16, 4]"]),
    ("table", {"w": tensors(BOTH.replace("F32", "I32"), bytes(512))}, ["--init", "w"], 1,
     ["type I32, expected F32"]),
    ("table", {"w": tensors(BOTH.replace("[256,512]", "[128,384]"), bytes(512))}, ["--init", "w"], 1, ["overlap"]),
    ("table", {"w": b"not a weight file"}, ["--init", "w"], 1, ["'w'", "header"]),
    ("classes", {"x.npy": floats(16, 2)}, [], 1, ["'x.npy' is [16, 2]", "[samples, 3]"]),
    ("classes", {"x.npy": GOOD["x.npy"][:-4]}, [], 1, ["'x.npy'", "truncated"]),
    ("classes", {"x.npy": b"\x00" * 200}, [], 1, ["'x.npy'", "isn't a NumPy array"]),
    ("classes", {"y.npy": floats(16)}, [], 1, ["'y.npy' holds float32", "'y'"]),
    ("classes", {"y.npy": longs([0] * 15)}, [], 1, ["15 samples", "16"]),
    ("classes", {"y.npy": longs([0] * 6 + [-1] + [0] * 9)}, [], 1, ["step 1", "'y.npy': -1 at position 6", "[0, 4)"]),
    ("classes", {"x.npy": array("<f4", "16, 3", struct.pack("<48f", *[float("nan")] * 48))}, [], 1,
     ["step 0", "not finite"]),
    ("table", {}, ["--resume", "none"], 1, ["'none'"]),
    ("table", {}, ["--save", "none/w"], 1, ["'none/w'", "No such file"]),
    ("table", {}, ["--log", "none/l"], 1, ["'none/l'", "No such file"]),
    ("table", {}, ["--set", "lrr=1"], 1, ["no number 'lrr'", "did you mean 'lr'"]),
    ("table", {}, ["--stesp", "1"], 2, ["unknown option '--stesp'", "'--steps'"]),
    ("table", {}, ["--steps", "many"], 2, ["'--steps'", "'many'"]),
    ("table", {}, ["--ranks", "5"], 1, ["not 5"]),
]


def run(folder, program, arguments, limit=None):
    def restrict():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.run([os.path.join(folder, "..", program), "--quiet", *arguments], cwd=folder, timeout=120,
                          capture_output=True, text=True, preexec_fn=restrict)


def fill(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, content in {**GOOD, **files}.items():
        if content is not None:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)


def check_cases(folder, suffix):
    for program, files, arguments, status, words in CASES:
        fill(folder, files)
        result = run(folder, program + suffix, arguments)
        lines = result.stderr.splitlines()
        assert result.returncode == status and len(lines) == 1 and lines[0].startswith("error: ") and \
            all(word in lines[0] for word in words), \
            f"{program}{suffix} {arguments}: status {result.returncode}, expected {status} and {words}:\n{result.stderr}"


def check_full_disk(folder, suffix):
    """A disk that is full while weights or a checkpoint are written costs nothing that was there."""
    fill(folder, {})
    good = run(folder, "table" + suffix, ["--save", "w", "--checkpoint-dir", "c"])
    assert good.returncode == 0, good.stderr
    before = open(os.path.join(folder, "w"), "rb").read()
    for limit in range(0, 600, 100):
        for arguments in (["--save", "w"], ["--resume", "c", "--checkpoint-dir", "c", "--steps", "5"]):
            result = run(folder, "table" + suffix, arguments, limit)
            assert result.returncode == 1 and "can't write" in result.stderr, (limit, arguments, result.stderr)
        assert open(os.path.join(folder, "w"), "rb").read() == before
        assert os.listdir(os.path.join(folder, "c")) == ["step-000003"]
    good = run(folder, "table" + suffix, ["--resume", "c", "--steps", "5"])
    assert good.returncode == 0, good.stderr


def main():
    inputs, work = sys.argv[1], os.path.abspath(sys.argv[2])
    os.makedirs(work, exist_ok=True)
    for name in ("table", "classes"):
        shutil.copy(os.path.join(inputs, name + ".ptl"), work)
        for suffix, mesh in (("", []), ("-dp2", ["--mesh", "dp=2"])):
            subprocess.run(["ptlc", name + ".ptl", "-o", name + suffix, *mesh], cwd=work, check=True)
    folder = os.path.join(work, "run")
    for suffix in ("", "-dp2"):
        fill(folder, {})
        for name in ("table", "classes"):
            result = run(folder, name + suffix, [])
            assert result.returncode == 0, result.stderr
        check_cases(folder, suffix)
        check_full_disk(folder, suffix)


main()
