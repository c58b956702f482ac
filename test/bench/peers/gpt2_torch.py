#!/usr/bin/env python3
# GPT-2's training step in PyTorch, random tokens: eager, compiled, or two processes with DDP, FSDP2, tensor parallelism
# or a 1F1B pipeline of as many micro-batches as samples.
# SPDX-License-Identifier: Apache-2.0
# Prints one JSON line: milliseconds of each timed step, the first losses, peak memory.
import argparse
import contextlib
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
parser.add_argument("--mode", choices=["eager", "compile", "ddp", "fsdp", "tp", "pp"], default="eager")
parser.add_argument("--cut", type=int, default=9, help="layers of the first stage (pp)")
a = parser.parse_args()
parallel = a.mode in ("ddp", "fsdp", "tp", "pp")

if parallel and "RANK" not in os.environ:
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000))
    command = [sys.executable] + sys.argv
    ranks = [subprocess.Popen(command, env=dict(env, RANK=str(r), WORLD_SIZE="2")) for r in range(2)]
    sys.exit(max(p.wait() for p in ranks))

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(a.threads)
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(a.threads)


class Projections(nn.Module):
    """Queries, keys and values by one product; by three where each is split over ranks by heads."""

    def __init__(self):
        super().__init__()
        count = 3 if a.mode == "tp" else 1
        self.parts = nn.ModuleList(nn.Linear(a.embed, 3 // count * a.embed) for _ in range(count))

    def forward(self, x):
        return [p(x) for p in self.parts] if len(self.parts) > 1 else self.parts[0](x).split(a.embed, 2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(a.embed), nn.LayerNorm(a.embed)
        self.qkv, self.proj = Projections(), nn.Linear(a.embed, a.embed)
        self.fc, self.out = nn.Linear(a.embed, 4 * a.embed), nn.Linear(4 * a.embed, a.embed)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, -1, a.embed // a.heads).transpose(1, 2) for y in self.qkv(self.ln1(x)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, -1))
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(a.vocab, a.embed), nn.Embedding(a.seq, a.embed)
        self.blocks = nn.Sequential(*(Block() for _ in range(a.layers)))
        self.ln, self.head = nn.LayerNorm(a.embed), nn.Linear(a.embed, a.vocab, bias=False)
        self.head.weight = self.wte.weight
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, targets):
        x = self.ln(self.blocks(self.wte(tokens) + self.wpe.weight))
        return F.cross_entropy(self.head(x).view(-1, a.vocab), targets.reshape(-1))


class Stage(nn.Module):
    """A half of the model. Its head isn't tied to the embedding, which is on the other rank."""

    def __init__(self, model, rank):
        super().__init__()
        self.first = rank == 0
        if self.first:
            self.wte, self.wpe, self.blocks = model.wte, model.wpe, model.blocks[:a.cut]
        else:
            self.blocks, self.ln, self.head = model.blocks[a.cut:], model.ln, model.head

    def forward(self, x):
        return self.blocks(self.wte(x) + self.wpe.weight) if self.first else self.head(self.ln(self.blocks(x)))


def split_over_ranks(model):
    """Megatron's split: heads, the hidden layer and the vocabulary, whose logits are never gathered."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (2,))
    layers = {f"qkv.parts.{i}": ColwiseParallel() for i in range(3)}
    layers.update(proj=RowwiseParallel(), fc=ColwiseParallel(), out=RowwiseParallel())
    for block in model.blocks:
        parallelize_module(block, mesh, layers)
    parallelize_module(model, mesh, {
        "wte": RowwiseParallel(input_layouts=Replicate()),
        "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)})
    model.head.weight = model.wte.weight


torch.manual_seed(1)
model, rank, batch, context = GPT(), 0, a.batch, contextlib.nullcontext
run = torch.compile(model) if a.mode == "compile" else model
if parallel:
    from torch import distributed

    rank = int(os.environ["RANK"])
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % len(os.sched_getaffinity(0))]})
    distributed.init_process_group("gloo")
    if a.mode == "ddp":
        batch //= 2
        run = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    elif a.mode == "fsdp":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        batch //= 2
        mesh = init_device_mesh("cpu", (2,))
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    elif a.mode == "pp":
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        model = Stage(model, rank)

        def loss_of(scores, targets):
            return F.cross_entropy(scores.view(-1, a.vocab), targets.reshape(-1))

        schedule = Schedule1F1B(PipelineStage(model, rank, 2, torch.device("cpu")), batch, loss_fn=loss_of)

        def run(tokens, targets):
            """Forward and backward; the loss is known on the last rank."""
            losses = []
            schedule.step(tokens.contiguous()) if rank == 0 else schedule.step(target=targets.contiguous(), losses=losses)
            return torch.stack(losses).mean() if losses else torch.zeros(())
    else:
        from torch.distributed.tensor.parallel import loss_parallel as context

        split_over_ranks(model)
# The fused optimizer takes split and whole tensors only in lists of their own.
kinds = {}
for p in model.parameters():
    kinds.setdefault(type(p.data), []).append(p)
optimizer = torch.optim.AdamW([{"params": ps} for ps in kinds.values()], lr=1e-4, weight_decay=0.0, fused=True)
generator = torch.Generator().manual_seed(rank if a.mode in ("ddp", "fsdp") else 0)
times, losses = [], []
for step in range(a.warm_up + a.steps):
    data = torch.randint(0, min(a.vocab, 50257), (batch, a.seq + 1), generator=generator)
    if parallel:
        distributed.barrier()
    start = time.perf_counter()
    with context():
        loss = run(data[:, :-1], data[:, 1:])
        if a.mode != "pp":
            loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if parallel:
        distributed.barrier()
    times.append((time.perf_counter() - start) * 1e3)
    losses.append((loss.full_tensor() if a.mode == "tp" else loss).item())
if rank == 0:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"ms": times[a.warm_up:], "losses": losses[:3], "rss_mb": memory}), flush=True)
if parallel:
    distributed.destroy_process_group()
