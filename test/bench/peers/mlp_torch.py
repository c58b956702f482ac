#!/usr/bin/env python3
# The MLP 784-128-10 at batch 32 with SGD in PyTorch. Prints one JSON line: milliseconds of a step, several times.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(1)
images, labels = torch.randn(32, 784), torch.randint(0, 10, (32,))
model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
run = torch.compile(model) if "compile" in sys.argv else model


def step():
    F.cross_entropy(run(images), labels).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


for _ in range(200):
    step()
times = []
for _ in range(10):
    start = time.perf_counter()
    for _ in range(300):
        step()
    times.append((time.perf_counter() - start) / 300 * 1e3)
print(json.dumps({"ms": times}))
