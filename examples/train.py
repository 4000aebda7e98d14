#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A training loop small enough to read, for torchrun: its steps are roctx ranges, its kernels HIP's own fills.

    rtl run --device soft -o job.db torchrun --nproc_per_node 4 -t 1 -r 2 --log_dir log examples/train.py --straggler 2

Debian 12's torchrun fails on its own without -t 1 -r 2 --log_dir log; others need none of it.

PyTorch of Debian launches no kernels, so HIP is called by ctypes; where PyTorch has ROCm these are its own operators, and
torch.cuda.nvtx.range_push() its ranges. The gradients are averaged by gloo, which a profiler of GPUs does not see.
"""
import argparse
import contextlib
import ctypes
import os
import time

import torch
import torch.distributed as dist

FILL_BYTES = 1 << 20


def open_first(*names):
    for name in names:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    raise OSError(f"none of {', '.join(names)} is there")


class Gpu:
    """Of HIP what this needs; a call that fails ends the program."""

    def __init__(self, ordinal):
        self.hip = open_first("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
        self.roctx = ctypes.CDLL(None)  # rtl run preloads it; without a profiler there is none
        count, self.buffer = ctypes.c_int(), ctypes.c_void_p()
        self.call("hipGetDeviceCount", ctypes.byref(count))
        self.call("hipSetDevice", ordinal % count.value)
        self.call("hipMalloc", ctypes.byref(self.buffer), ctypes.c_size_t(FILL_BYTES))

    def call(self, name, *arguments):
        error = getattr(self.hip, name)(*arguments)
        if error:
            raise RuntimeError(f"{name}: {error}")

    def compute(self, kernels):
        for n in range(kernels):
            self.call("hipMemsetAsync", self.buffer, n & 255, ctypes.c_size_t(FILL_BYTES), None)

    def wait(self):
        self.call("hipDeviceSynchronize")

    @contextlib.contextmanager
    def range(self, text):
        if hasattr(self.roctx, "roctxRangePushA"):
            self.roctx.roctxRangePushA(text.encode())
        yield
        if hasattr(self.roctx, "roctxRangePop"):
            self.roctx.roctxRangePop()


def train(gpu, options):
    gradients = torch.ones(1024)
    for step in range(options.steps):
        with gpu.range(f"step {step}"):
            with gpu.range("forward"):
                gpu.compute(options.kernels)
            with gpu.range("backward"):
                gpu.compute(2 * options.kernels)
            gpu.wait()
            if dist.get_rank() == options.straggler:
                time.sleep(options.late_ms / 1000)  # as a slow DataLoader does
            dist.all_reduce(gradients)
            gradients /= dist.get_world_size()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--kernels", type=int, default=10, help="of forward; backward has twice as many")
    parser.add_argument("--straggler", type=int, default=-1, help="this rank comes late to each step")
    parser.add_argument("--late-ms", type=float, default=50)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    gpu = Gpu(int(os.environ["LOCAL_RANK"]))
    train(gpu, options)
    print(f"rank {dist.get_rank()}: {options.steps} steps, {3 * options.kernels * options.steps} fills", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
