#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_torch_trace.py RANK WORLD [STEPS]: on stdout what PyTorch's profiler writes of that rank, whose
correlation ids are those of every other rank, though its kernels are longer by RANK us."""
import json
import sys


def events(rank, world, steps):
    correlation, pid = 0, 4000 + rank
    group = str(list(range(world)))
    for step in range(steps):
        at = 1000.0 + step * 1000
        yield {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": pid, "tid": pid,
               "ts": at, "dur": 990.5, "args": {"External id": step}}
        for i in range(4):
            correlation += 1
            begin = at + 10 + i * 200
            yield {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": pid, "tid": pid, "ts": begin,
                   "dur": 100, "args": {"External id": 100 + correlation, "Sequence number": i,
                                        "Fwd thread id": 0, "Input Dims": [[8, 16 + i], [16 + i, 4]],
                                        "Input type": ["float", "c10::Half"]}}
            yield {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": pid, "tid": pid,
                   "ts": begin + 20, "dur": 5.25, "args": {"correlation": correlation, "cid": 1}}
            yield {"ph": "s", "id": correlation, "pid": pid, "tid": pid, "ts": begin + 20, "cat": "ac2g",
                   "name": "ac2g"}
            args = {"device": rank, "stream": 0, "correlation": correlation, "grid": [2, 3, 1],
                    "block": [64, 1, 1]}
            name = f"kernel_{i}_of_rank_{rank}"
            if i == 3:
                name = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"
                args.update({"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024,
                             "Group size": world, "dtype": "Float", "In split size": "[]",
                             "Out split size": "[]", "Process Group Name": "0",
                             "Process Group Ranks": group})
            yield {"ph": "X", "cat": "kernel", "name": name, "pid": rank, "tid": 0, "ts": begin + 40,
                   "dur": 50.125 + rank, "args": args}
            yield {"ph": "f", "id": correlation, "pid": rank, "tid": 0, "ts": begin + 40, "cat": "ac2g",
                   "name": "ac2g", "bp": "e"}


def trace(rank, world, steps=2):
    return {"schemaVersion": 1, "deviceProperties": [{"id": i, "name": "AMD Instinct MI300X"} for i in range(8)],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world},
            "traceEvents": list(events(rank, world, steps)),
            "baseTimeNanoseconds": 1750000000000000000}


if __name__ == "__main__":
    json.dump(trace(*map(int, sys.argv[1:])), sys.stdout)
