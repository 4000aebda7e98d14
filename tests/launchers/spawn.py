#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranks of torch.multiprocessing.spawn, which launch kernels with the steps of examples/train.py.

    spawn.py variables   as PyTorch's tutorial of DDP: each rank sets its own, late
    spawn.py arguments   ranks are arguments alone, as of vLLM's and SGLang's workers
"""
import argparse
import os
import sys

import torch.distributed as dist
import torch.multiprocessing as mp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples"))
import train  # noqa: E402

RANKS = 2


def work(rank, how, port):
    if how == "variables":
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=str(RANKS))
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    train.train(train.Gpu(rank), argparse.Namespace(steps=2, kernels=3, straggler=-1, late_ms=0))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(sys.argv[1], sys.argv[2]), nprocs=RANKS)
