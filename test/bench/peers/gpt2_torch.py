#!/usr/bin/env python3
# GPT-2's training step in PyTorch, random tokens: eager, compiled, or DDP on two processes.
# SPDX-License-Identifier: Apache-2.0
# Prints one JSON line: milliseconds of each timed step, the first losses, peak memory.
import argparse
import json
import os
import resource
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=12)
parser.add_argument("--heads", type=int, default=12)
parser.add_argument("--embed", type=int, default=768)
parser.add_argument("--vocab", type=int, default=50304)
parser.add_argument("--seq", type=int, default=64)
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--warm-up", type=int, default=2)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--mode", choices=["eager", "compile", "ddp"], default="eager")
a = parser.parse_args()

if a.mode == "ddp" and "RANK" not in os.environ:
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000))
    command = [sys.executable] + sys.argv
    ranks = [subprocess.Popen(command, env=dict(env, RANK=str(r), WORLD_SIZE="2")) for r in range(2)]
    sys.exit(max(p.wait() for p in ranks))

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(a.threads)
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(a.threads)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(a.embed), nn.LayerNorm(a.embed)
        self.qkv, self.proj = nn.Linear(a.embed, 3 * a.embed), nn.Linear(a.embed, a.embed)
        self.fc, self.out = nn.Linear(a.embed, 4 * a.embed), nn.Linear(4 * a.embed, a.embed)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, a.heads, -1).transpose(1, 2) for y in self.qkv(self.ln1(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(a.vocab, a.embed), nn.Embedding(a.seq, a.embed)
        self.blocks = nn.Sequential(*(Block() for _ in range(a.layers)))
        self.ln = nn.LayerNorm(a.embed)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, targets):
        x = self.ln(self.blocks(self.wte(tokens) + self.wpe.weight))
        return F.cross_entropy(F.linear(x, self.wte.weight).view(-1, a.vocab), targets.reshape(-1))


torch.manual_seed(1)
model, rank, batch = GPT(), 0, a.batch
if a.mode == "ddp":
    from torch import distributed

    rank, batch = int(os.environ["RANK"]), a.batch // 2
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % len(os.sched_getaffinity(0))]})
    distributed.init_process_group("gloo")
    run = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
else:
    run = torch.compile(model) if a.mode == "compile" else model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
generator = torch.Generator().manual_seed(rank)
times, losses = [], []
for step in range(a.warm_up + a.steps):
    data = torch.randint(0, min(a.vocab, 50257), (batch, a.seq + 1), generator=generator)
    if a.mode == "ddp":
        distributed.barrier()
    start = time.perf_counter()
    loss = run(data[:, :-1], data[:, 1:])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if a.mode == "ddp":
        distributed.barrier()
    times.append((time.perf_counter() - start) * 1e3)
    losses.append(loss.item())
if rank == 0:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"ms": times[a.warm_up:], "losses": losses[:3], "rss_mb": memory}), flush=True)
if a.mode == "ddp":
    distributed.destroy_process_group()
