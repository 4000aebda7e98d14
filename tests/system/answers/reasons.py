#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reasons.py RTL: simulated jobs of known cause, and healthy ones. A rank is named where it costs the
job something, with its cause and its cost; no healthy job accuses a rank. RTL_TEST_LONG=1: three seeds
of each, and 64 ranks."""
import contextlib
import csv
import io
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

from jobs import ADAM, ADD, ATTENTION, ATTENTION_BACK, GEMM, GEMM_BACK, MOE, MS, NORM, RCCL, S, START, US, HipRank, Job, Rank


def nothing(_rank, _step):
    pass


def data_parallel(before=nothing, steps=12, buckets=4):
    """Gradient buckets are reduced while the backward pass goes on."""
    def program(rank):
        last = 0
        for step in range(steps):
            rank.step(step)
            before(rank, step)
            rank.copy(80 * US, 1 << 20)
            for _ in range(buckets):
                for name, ns in ((GEMM, 300), (ATTENTION, 150), (NORM, 20), (ADD, 15)):
                    rank.kernel(name, ns * US)
            for _ in range(buckets):
                for name, ns in ((GEMM_BACK, 400), (ATTENTION_BACK, 200), (NORM, 25)):
                    done = rank.kernel(name, ns * US)
                last = yield from rank.collective(rank.job.world, "ncclAllReduce", 150 * US, 8 << 20, after=(done,))
            rank.kernel(ADAM, 200 * US, after=(last,))
            rank.synchronize()
    return program


def sharded(before=nothing, steps=8, layers=12):
    """24 collectives a step."""
    def program(rank):
        for step in range(steps):
            rank.step(step)
            before(rank, step)
            for _ in range(layers):
                got = yield from rank.collective(rank.job.world, "ncclAllGather", 120 * US, 4 << 20)
                rank.kernel(GEMM, 400 * US, after=(got,))
                rank.kernel(ATTENTION, 200 * US)
                rank.kernel(NORM, 20 * US)
            for _ in range(layers):
                rank.kernel(GEMM_BACK, 500 * US)
                done = rank.kernel(ATTENTION_BACK, 250 * US)
                got = yield from rank.collective(rank.job.world, "ncclReduceScatter", 120 * US, 4 << 20, after=(done,))
            rank.kernel(ADAM, 200 * US, after=(got,))
            rank.synchronize()
    return program


def tensor_parallel(before=nothing, tokens=30, layers=6):
    """Two all-reduces a layer, nothing beside them."""
    def program(rank):
        for token in range(tokens):
            rank.step(token)
            before(rank, token)
            for _ in range(layers):
                rank.kernel(GEMM, 60 * US)
                done = rank.kernel(ATTENTION, 40 * US)
                yield from rank.collective(rank.job.world, "ncclAllReduce", 15 * US, 64 << 10, "compute", (done,))
                done = rank.kernel(GEMM_BACK, 80 * US)
                yield from rank.collective(rank.job.world, "ncclAllReduce", 15 * US, 64 << 10, "compute", (done,))
            rank.kernel(NORM, 20 * US)
            rank.synchronize()
    return program


def tensor_in_data_parallel(before=nothing, steps=8, layers=6, width=8):
    def program(rank):
        first = rank.rank // width * width
        row = (0x1000 + first, list(range(first, first + width)))
        column = (0x2000 + rank.rank % width, list(range(rank.rank % width, len(rank.job.all), width)))
        for step in range(steps):
            rank.step(step)
            before(rank, step)
            for _ in range(layers):
                for name in (GEMM, GEMM_BACK):
                    rank.kernel(NORM, 20 * US)
                    rank.kernel(ATTENTION, 100 * US)
                    done = rank.kernel(name, 300 * US)
                    yield from rank.collective(row, "ncclAllReduce", 60 * US, 2 << 20, "compute", (done,))
            last = yield from rank.collective(column, "ncclAllReduce", 300 * US, 16 << 20, after=(done,))
            rank.kernel(ADAM, 200 * US, after=(last,))
            rank.synchronize()
    return program


def pipeline(before=nothing, steps=8, batches=6, link_us=20, has_streams=False, width=1):
    """Stages of @width ranks that share each kernel's work."""
    def program(rank):
        stage, last = rank.rank // width, len(rank.job.all) // width - 1
        comm = (0x1000 + stage, list(range(stage * width, stage * width + width)))

        def us(first):
            return link_us if first == 1 else 20

        def stream(is_send, forward):
            return "%s %s" % (is_send, forward) if has_streams else "pair"

        for step in range(steps):
            rank.step(step)
            before(rank, step)
            for forward in (True, False):
                for _ in range(batches):
                    got = 0
                    if stage != (0 if forward else last):
                        got = yield from rank.send(rank.rank + (-width if forward else width), False,
                                                   us(stage - forward) * US, 1 << 20, stream(False, forward))
                    for name in (GEMM, ATTENTION, NORM) if forward else (GEMM_BACK, ATTENTION_BACK, NORM):
                        done = rank.kernel(name, 200 * US, after=(got,))
                        if width > 1:
                            done = yield from rank.collective(comm, "ncclAllReduce", 40 * US, 1 << 20, "compute", (done,))
                    if stage != (last if forward else 0):
                        yield from rank.send(rank.rank + (width if forward else -width), True, us(stage - (not forward)) * US,
                                             1 << 20, stream(True, forward), after=(done,))
            rank.kernel(ADAM, 200 * US)
            rank.synchronize()
    return program


def accumulating(before=nothing, steps=24, often=4, is_synchronous=False):
    """Gradients are reduced, or models averaged, every few steps."""
    def program(rank):
        for step in range(steps):
            rank.step(step)
            before(rank, step)
            is_last = step % often == often - 1
            for _ in range(3):
                for name, ns in ((GEMM, 300), (ATTENTION, 150), (NORM, 20), (GEMM_BACK, 400), (ATTENTION_BACK, 200)):
                    done = rank.kernel(name, ns * US)
            if is_last:
                last = yield from rank.collective(rank.job.world, "ncclAllReduce", 400 * US, 64 << 20, after=(done,))
                rank.kernel(ADAM, 200 * US, after=(last,))
            if is_last or is_synchronous:
                rank.synchronize()
    return program


def linked(slow_link=0):
    """Pairs of ranks on links of their own, and all together once a step."""
    def program(rank):
        first = rank.rank // 2 * 2
        pair = (0x3000 + first, [first, first + 1])
        ns = (480 if slow_link and first == slow_link else 60) * US
        for step in range(8):
            rank.step(step)
            for _ in range(8):
                rank.kernel(GEMM, 300 * US)
                done = rank.kernel(ATTENTION, 150 * US)
                yield from rank.collective(pair, "ncclAllReduce", ns, 2 << 20, "compute", (done,))
            last = yield from rank.collective(rank.job.world, "ncclAllReduce", 300 * US, 16 << 20, after=(done,))
            rank.kernel(ADAM, 200 * US, after=(last,))
            rank.synchronize()
    return program


def two_streams(late_ns=0):
    """Gradients are reduced on two streams at once: while both wait for one host that is one time."""
    def program(rank):
        others = (0x4000, rank.job.all)
        for step in range(12):
            rank.step(step)
            rank.host(late_ns if rank.rank == 3 else 0)
            for _ in range(4):
                rank.kernel(GEMM, 300 * US)
                done = rank.kernel(ATTENTION, 200 * US)
            first = yield from rank.collective(rank.job.world, "ncclAllReduce", 150 * US, 8 << 20, after=(done,))
            second = yield from rank.collective(others, "ncclAllReduce", 150 * US, 8 << 20, "other", (done,))
            rank.kernel(ADAM, 100 * US, after=(first, second))
            rank.synchronize()
    return program


def from_storage(rank):
    """Batches come every 20 ms, whatever the GPUs do."""
    for step in range(10):
        rank.step(step)
        rank.now = max(rank.now, START + step * 20 * MS)
        for _ in range(8):
            for name, ns in ((GEMM, 600), (NORM, 20), (ATTENTION, 300)):
                done = rank.kernel(name, ns * US)
        last = yield from rank.collective(rank.job.world, "ncclAllReduce", 300 * US, 16 << 20, after=(done,))
        rank.kernel(ADAM, 200 * US, after=(last,))
        rank.synchronize()


def from_root(rank):
    """A broadcast from rank 0 to which one leaf comes late."""
    for step in range(10):
        rank.step(step)
        for _ in range(6):
            rank.kernel(GEMM, 300 * US)
            done = rank.kernel(ATTENTION, 150 * US)
        rank.host(2 * MS if rank.rank == 5 else 0)
        yield from rank.collective(rank.job.world, "ncclBroadcast", 100 * US, 4 << 20, after=(done,), root=0)
        rank.kernel(ADAM, 200 * US)
        rank.synchronize()


def experts(rank):
    """Their loads differ from step to step."""
    for step in range(12):
        rank.step(step)
        for _ in range(4):
            done = rank.kernel(ATTENTION, 150 * US)
            yield from rank.collective(rank.job.world, "ncclAllToAll", 80 * US, 2 << 20, "compute", (done,))
            done = rank.kernel(MOE, 300 * US * (0.5 + rank.rng.random()))
            yield from rank.collective(rank.job.world, "ncclAllToAll", 80 * US, 2 << 20, "compute", (done,))
        rank.kernel(ADAM, 200 * US)
        rank.synchronize()


def replicas(rank):
    """Two servers of four ranks that nothing connects; one has more to do."""
    first = rank.rank // 4 * 4
    comm = (0x1000 + first, list(range(first, first + 4)))
    load = 1.5 if first else 1
    for token in range(20):
        rank.step(token)
        for _ in range(6):
            rank.kernel(GEMM, 60 * US * load)
            done = rank.kernel(ATTENTION, 40 * US * load)
            yield from rank.collective(comm, "ncclAllReduce", 15 * US, 64 << 10, "compute", (done,))
        rank.synchronize()


def prefill_for_others(rank):
    """Four ranks that prefill, each for one that decodes: they have more to do, and are alike."""
    is_first = rank.rank < 4
    for request in range(16):
        rank.step(request)
        got = 0
        if not is_first:
            got = yield from rank.send(rank.rank - 4, False, 200 * US, 16 << 20)
        for _ in range(6):
            rank.kernel(GEMM, (500 if is_first else 90) * US, after=(got,), grid=8192 if is_first else 512)
            done = rank.kernel(ATTENTION, (300 if is_first else 50) * US, grid=8192 if is_first else 512)
        if is_first:
            yield from rank.send(rank.rank + 4, True, 200 * US, 16 << 20, after=(done,))
        rank.synchronize()


def longer_gemms(rank, _step):
    """More to do in GEMMs of the same grid."""
    rank.slow = lambda name, at: 1.15 if rank.rank == 4 and name in (GEMM, GEMM_BACK) else 1.0


def late(number, ns, often=1):
    return lambda rank, step: rank.host(ns) if rank.rank == number and step % often == 0 else None


def slow(number, factor, since_ns=0):
    def spoil(job):
        job.ranks[number].slow = lambda name, at: factor if name != RCCL and at >= START + since_ns else 1.0
    return spoil


def uneven(rank, _step):
    factor = 1 + 0.3 * rank.rng.random()
    rank.slow = lambda name, at: factor if name in (GEMM, GEMM_BACK, ATTENTION, ATTENTION_BACK) else 1.0


def throttled(rank, step):
    rank.slow = lambda name, at: 1.5 if rank.rank == 1 and 6 <= step < 12 and name != RCCL else 1.0


def late_in_the_run(rank, step):
    rank.slow = lambda name, at: 1.5 if rank.rank == 3 and step >= 6 and name != RCCL else 1.0


def all_throttled(rank, step):
    rank.slow = lambda name, at: 1.3 if step >= 12 and name != RCCL else 1.0


def slow_or_late(rank, step):
    rank.host(3 * MS if rank.rank == 6 and step % 2 else 0)
    rank.slow = lambda name, at: 1.5 if rank.rank == 1 and step % 2 == 0 and name != RCCL else 1.0


def slow_and_late(rank, _step):
    rank.host(1 * MS if rank.rank == 5 else 0)
    rank.slow = lambda name, at: 1.26 if rank.rank == 2 and name != RCCL else 1.0


def in_turn(rank, step):
    rank.host(4 * MS if rank.rank == (2 if step % 2 else 6) else 0)


def checkpoint(rank, step):
    rank.host(30 * S if rank.rank == 0 and step == 6 else 0)


def loads_first(rank, step):
    rank.host(5 * S if rank.rank == 6 and not step else 0)


def compiles(rank, step):
    rank.host(200 * MS if step < 2 else 0)


# name, ranks, program, what is spoilt, ranks at fault, cause, settings of the job
HEALTHY = [
    ("data parallel", 8, data_parallel(), {}), ("sharded", 8, sharded(), {}),
    ("tensor parallel", 8, tensor_parallel(), {}), ("a pipeline", 4, pipeline(), {}),
    ("tensor in data parallel", 16, tensor_in_data_parallel(width=4), {}),
    ("without steps", 8, tensor_parallel(), {"steps": False}), ("chips apart by 1 %", 8, data_parallel(), {"chip": 0.01}),
    ("kernels apart by 5 %", 8, sharded(), {"jitter": 0.05}), ("lengths that vary", 8, data_parallel(uneven), {}),
    ("a rank that logs", 8, data_parallel(late(0, 200 * US)), {}), ("a late leaf of a broadcast", 8, from_root, {}),
    ("experts", 8, experts, {}), ("replicas", 8, replicas, {}),
    ("ranks that prefill for others", 8, prefill_for_others, {}),
]
FAULTS = [
    ("a slow GPU, data parallel", 8, data_parallel(), slow(5, 1.2), [5], "compute", {}),
    ("a slow GPU, sharded", 8, sharded(), slow(3, 1.2), [3], "compute", {}),
    ("a slow GPU, tensor parallel", 8, tensor_parallel(), slow(2, 1.2), [2], "compute", {}),
    ("a slow GPU, without steps", 8, tensor_parallel(), slow(2, 1.2), [2], "compute", {"steps": False}),
    ("a slow GPU, 16 ranks", 16, tensor_in_data_parallel(width=4), slow(9, 1.2), [9], "compute", {}),
    ("a slow stage", 4, pipeline(), slow(2, 1.4), [2], "compute", {}),
    # What a middle stage transfers on its only stream is not hidden behind computation if the first one is mended.
    ("a slow first stage", 4, pipeline(batches=8), slow(0, 1.3), [0], "compute", {}),
    # Receives are posted long before: they do not wait while others transfer.
    ("a slow rank of a stage", 8, pipeline(has_streams=True, width=2), slow(4, 1.4), [4], "compute", {}),
    ("two slow GPUs", 8, data_parallel(), lambda job: (slow(2, 1.2)(job), slow(6, 1.19)(job)), [2, 6], "compute", {}),
    ("a GPU that slows down", 8, data_parallel(steps=20), slow(1, 1.3, 80 * MS), [1], "compute", {}),
    ("a late host, data parallel", 8, (data_parallel(late(4, 3 * MS)), data_parallel()), None, [4], "host", {}),
    ("a late host, sharded", 8, (sharded(late(4, 5 * MS)), sharded()), None, [4], "host", {}),
    ("a late host, tensor parallel", 8, (tensor_parallel(late(6, 500 * US)), tensor_parallel()), None, [6], "host", {}),
    ("a slow link", 8, (linked(2), linked()), None, [2, 3], "transfer", {}),
    ("a late host, two streams", 8, (two_streams(3 * MS), two_streams()), None, [3], "host", {}),
    ("late hosts in turn", 8, (data_parallel(in_turn), data_parallel()), None, [2, 6], "host", {}),
    ("a GPU that is slow for six steps", 8, (data_parallel(throttled, 24), data_parallel(steps=24)), None, [1], "compute", {}),
    ("a slow GPU and a late host in turn", 8, (data_parallel(slow_or_late), data_parallel()), None, [1, 6], "several", {}),
    ("a slow GPU, accumulated gradients", 8, accumulating(), slow(3, 1.3), [3], "compute", {}),
    ("a late host, averaged models", 8, (accumulating(late(3, MS), often=3, is_synchronous=True),
                                         accumulating(often=3, is_synchronous=True)), None, [3], "host", {}),
    ("a slow GPU and a late host", 8, (data_parallel(slow_and_late), data_parallel()), None, [2, 5], "several", {}),
    ("two slow GPUs, without steps", 8, sharded(steps=6), lambda job: (slow(1, 1.4)(job), slow(6, 1.39)(job)), [1, 6],
     "compute", {"steps": False}),
]
# Each step ends with the kernel by which steps are told: the first one is over before the first such kernel.
ENDS = [("a GPU that slows down, without steps", 16, (sharded(late_in_the_run, 10, 8), sharded(steps=10, layers=8)), None,
         [3], "compute", {"steps": False})]
MANY = [
    ("a slow GPU, 64 ranks", 64, tensor_in_data_parallel(), slow(21, 1.2), [21], "compute", {}),
    ("a late host, 64 ranks", 64, (tensor_in_data_parallel(late(33, 6 * MS)), tensor_in_data_parallel()), None, [33],
     "host", {}),
]


def many_short(rank):
    """The host takes longer to launch a kernel than the GPU to run it."""
    for _ in range(100):
        rank.kernel(NORM, 5 * US)
        rank.host(20 * US)
    yield from ()


def never_empty(rank):
    """The host is far ahead; the GPU takes 1.2 us from one kernel to the next."""
    rank.LAUNCH = 500
    for _ in range(2000):
        rank.kernel(NORM, 8 * US)
    yield from ()


def pauses(rank):
    """Short kernels, but the idle time is one pause of 5 ms a step."""
    rank.LAUNCH = 500
    for step in range(20):
        rank.step(step)
        rank.host(5 * MS)
        for _ in range(100):
            rank.kernel(NORM, 8 * US)
        rank.synchronize()
    yield from ()


def copies_between(rank):
    """Gaps before copies are no kernels' gaps: no share of them is above 100 %."""
    for _ in range(100):
        rank.kernel(NORM, 5 * US)
        rank.copy(2 * US, 4096)
        rank.host(20 * US)
    yield from ()


def another_mix(rank):
    """Kernels of one size are equally fast everywhere; rank 3 has more of the long ones."""
    for step in range(10):
        rank.step(step)
        for i in range(20):
            is_large = i % 5 < (3 if rank.rank == 3 else 2)
            rank.kernel(GEMM, (300 if is_large else 100) * US, grid=4096 if is_large else 1024)
        rank.synchronize()
    yield from ()


def prefills(spoil=0):
    """Every eighth token is a prefill, six times as long; rank 1 is late in these, or in none."""
    def program(rank):
        for token in range(64):
            rank.step(token)
            is_prefill = token % 8 == 7
            rank.host(spoil if is_prefill and rank.rank == 1 else 0)
            for _ in range(6):
                rank.kernel(GEMM, (600 if is_prefill else 60) * US, grid=8192 if is_prefill else 512)
                done = rank.kernel(ATTENTION, (400 if is_prefill else 40) * US, grid=8192 if is_prefill else 512)
                yield from rank.collective(rank.job.world, "ncclAllReduce", 15 * US, 64 << 10, "compute", (done,))
            rank.synchronize()
    return program


def depths(rank):
    """GEMMs of one name and grid that differ in depth: rank 4 has more of the deep ones."""
    for step in range(12):
        rank.step(step)
        for i in range(20):
            is_deep = i % 5 < (3 if rank.rank == 4 else 1)
            done = rank.kernel(GEMM, (300 if is_deep else 100) * US)
            rank.kernel(NORM, 20 * US)
            done = rank.kernel(ADD, 15 * US, after=(done,))
        last = yield from rank.collective(rank.job.world, "ncclAllReduce", 150 * US, 8 << 20, after=(done,))
        rank.kernel(ADAM, 100 * US, after=(last,))
        rank.synchronize()


def contexts(rank):
    """Sequences grow from token to token, and are longer on rank 4 after the first ones."""
    for token in range(40):
        rank.step(token)
        longer = 1 + token / (10 if rank.rank == 4 else 40)
        for _ in range(6):
            rank.kernel(GEMM, 60 * US)
            rank.kernel(NORM, 10 * US)
            rank.kernel(ATTENTION, 40 * US * longer)
            done = rank.kernel(ADD, 8 * US)
            yield from rank.collective(rank.job.world, "ncclAllReduce", 15 * US, 64 << 10, "compute", (done,))
        rank.synchronize()


def check_paces(rtl, folder, seed):
    """More work in kernels of one name and grid is no slow GPU: the fastest of them take 1.00x."""
    for program in depths, contexts:
        straggler = ask(rtl, Job(8, seed=seed).run(program), folder)["straggler"]
        assert straggler["ranks"] == [4] and straggler["cause"] == "compute", (program, seed, straggler)
        assert not straggler["slow_gpu"] and abs(straggler["pace"] - 1) < 0.01, (program, seed, straggler)


def check_kinds(rtl, folder, seed):
    """A prefill among tokens is no event, and what a rank costs is told of its kind of step."""
    reason = ask(rtl, Job(4, seed=seed).run(prefills()), folder)
    assert reason["code"] not in ("event", "slow_rank", "late_rank") and not reason["straggler"], (seed, reason)
    kinds = reason["kinds"][:2]
    assert [kind["steps"] for kind in kinds] == [32, 224], (seed, kinds)
    assert abs(kinds[0]["median_ns"] / kinds[1]["median_ns"] - 9) < 1, (seed, kinds)
    path = os.path.join(folder, "job.db")
    done = subprocess.run([rtl, "timeline", "--by", "kind", "--json", path], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)["kinds"][:2]
    assert [kind["rows"] for kind in told] == [32, 224], (seed, told)
    assert abs(sum(kind["share_pct"] for kind in told) - 100) < 0.1, (seed, told)
    reason = ask(rtl, Job(4, seed=seed).run(prefills(2 * MS)), folder)
    assert reason["straggler"]["ranks"] == [1] and reason["straggler"]["cause"] == "host", (seed, reason)
    assert re.search(r"100 % of it in steps of kind A", reason["text"]), (seed, reason)
    assert reason["kinds"][0]["cost_pct"] > 15 and reason["kinds"][1]["cost_pct"] < 1, (seed, reason)
    check_shares(reason)
    # Kernels that take longer now here, now there bound what the rank costs.
    job = Job(4, seed=seed, jitter=0.1)
    slow(1, 1.6)(job)
    reason = ask(rtl, job.run(prefills()), folder)
    assert reason["straggler"]["ranks"] == [1], (seed, reason)
    check_shares(reason)
    assert abs(sum(kind["share_of_cost_pct"] for kind in reason["kinds"]) - 100) < 0.01, (seed, reason["kinds"])


def check_custom(rtl, folder, seed):
    """Groups of ranks that reduce without RCCL, so without a call that says so: the late host of one is
    found, and none of healthy ones. The kernels of a graph are submitted at once."""
    custom = "void vllm::cross_device_reduce_1stage<__hip_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)"

    def program(rank):
        first = rank.rank // width * width
        comm = (0x1000 + first, list(range(first, first + width)))
        rank.LAUNCH = launch_ns
        for token in range(40):
            rank.step(token)
            rank.host(300 * US if rank.rank == late else 0)
            for _ in range(6):
                rank.kernel(GEMM, 60 * US * (1.3 if first else 1))
                done = rank.kernel(ATTENTION, 40 * US)
                yield from rank.collective(comm, "ncclAllGather", 15 * US, 64 << 10, "compute", (done,))
            rank.synchronize()

    # With RCCL beside it, one all-gather a token, its calls tell nothing of the others.
    for late, has_rccl, width, launch_ns in ((5, False, 4, 6 * US), (None, False, 4, 6 * US), (5, True, 4, 6 * US),
                                             (5, False, 8, 6 * US), (5, False, 8, 50), (None, False, 8, 50)):
        job = Job(8, seed=seed).run(program)
        for rank in job.ranks:
            keep = {part[0]: part for part in rank.parts if has_rccl and part[4] % 6 == 5}
            rank.parts = [part[:4] + (part[4] // 6,) + part[5:] for part in keep.values()]
            rank.calls = [call for call in rank.calls if call[0] in keep]
            rank.kernels = [k if k[1] != RCCL or k[7] in keep else k[:1] + (custom,) + k[2:7] + (None,)
                            for k in rank.kernels]
        reason = ask(rtl, job, folder)
        found = reason["straggler"] and reason["straggler"]["ranks"]
        assert found == ([5] if late else None), (seed, late, reason)
        done = subprocess.run([rtl, "collectives", "--json", os.path.join(folder, "job.db")], capture_output=True,
                              text=True, check=True)
        told = json.loads(done.stdout)
        matched_by = "sequence and kernels" if has_rccl else "kernels" if width == 4 else "order"
        assert told["matched_by"] == matched_by, told["matched_by"]
        matched = told["matched_by_order"] if width == 8 else told["matched_by_kernels"]
        assert matched == 8 // width * 40 * (5 if has_rccl else 6), matched
        assert {group["ranks"] for group in told["groups"]} == {width}, told["groups"]
        assert all((group["busbw_gb_per_s"] is None) == ("cross" in group["operation"]) for group in told["groups"])


def check_simulated(rtl, folder):
    """Each table as CSV has a column that says that the figures are a software GPU's."""
    path = store(Job(4, rank_type=HipRank).run(data_parallel()), folder)
    tables = {"summary": "kernels ranks gpus copies losses metrics host_calls collectives categories reason".split(),
              "collectives": ["groups", "ranks", "operations", "missing"], "diagnose": ["findings", "processes"]}
    asked = [(verb, "--csv=" + table) for verb, names in tables.items() for table in names]
    asked += [("timeline", "--csv"), ("timeline", "--by", "kind", "--csv"), ("tree", "--csv"), ("outstanding", "--csv"),
              ("info", "--clocks", "--csv"), ("whatif", "--rank", "all", "--csv"), ("summary", "--by", "rank", "--csv=groups")]
    rows = 0
    for words in asked:
        done = subprocess.run([rtl, *words, path], capture_output=True, text=True, check=True)
        table = list(csv.DictReader(io.StringIO(done.stdout)))
        assert "simulated" in done.stdout.splitlines()[0].split(","), (words, done.stdout)
        assert all(row["simulated"] == "1" for row in table), (words, table)
        rows += len(table)
    assert rows > 100, rows


def check_left_out(rtl, folder):
    """What a user chose not to record is no idle time: neither the cause of a rank that is late, nor a share of the
    time where kernels were left out, nor a step that was left out."""
    job = Job(8).run(data_parallel(late(4, 3 * MS)))
    for rank in job.ranks:
        rank.kernels, rank.copies = [k for k in rank.kernels if k[1] == RCCL], []
    left_out = "INSERT INTO rtl_counter_base SELECT process_id, queueId, 'skipped_filter', 900 FROM rtl_queue;"
    reason = ask(rtl, job, folder, left_out)
    assert reason["straggler"]["ranks"] == [4] and reason["straggler"]["at_most"], reason
    assert reason["straggler"]["cause"] == "several" and "was asked" in reason["text"], reason
    path = os.path.join(folder, "job.db")
    done = subprocess.run([rtl, "timeline", "--json", path], capture_output=True, text=True, check=True)
    assert "no share of the time is known" in json.loads(done.stdout)["reading"], done.stdout
    # Three steps of each eight.
    job = Job(4).run(data_parallel(steps=24))
    times = ""
    for rank in job.ranks:
        marks = [mark for number, mark in enumerate(rank.marks) if number % 8 in (4, 5, 6)]

        def is_in(time, marks=marks):
            return any(begin <= time < end for _, begin, end in marks)
        rank.kernels = [kernel for kernel in rank.kernels if is_in(kernel[5])]
        rank.copies = [copy for copy in rank.copies if is_in(copy[0])]
        launched = {kernel[7] for kernel in rank.kernels}
        rank.calls = [call for call in rank.calls if call[0] in launched]
        rank.parts = [part for part in rank.parts if part[0] in launched]
        times += "".join("INSERT INTO rtl_recording VALUES (%d, %d, %d, 'steps', 'steps');" % (rank.rank + 1, begin, end)
                         for _, begin, end in marks)
    reason = ask(rtl, job, folder, "DELETE FROM rtl_recording;" + times + left_out)
    assert reason["code"] == "none" and reason["all"]["idle_pct"] < 5, reason
    done = subprocess.run([rtl, "timeline", "--json", path], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["total"]["idle_time_ns"] * 20 < told["total"]["total_time_ns"] and "neither" in told["reading"], (told["total"], told["reading"])
    done = subprocess.run([rtl, "timeline", path], capture_output=True, text=True, check=True)
    assert "steps: 36 from roctx markers; 64 more were not recorded" in done.stdout, done.stdout


def check_impossible(rtl, folder):
    """Collectives that rank 2 leaves before the others come are counted and told, and in no figure."""
    job = Job(4).run(sharded())
    kernels, spoilt = job.ranks[2].kernels, 0
    for i, kernel in enumerate(kernels):
        if kernel[1] == RCCL and i % 9 == 0:
            kernels[i] = kernel[:3] + (kernel[3] - 400 * US, 500) + kernel[5:]
            spoilt += 1
    reason = ask(rtl, job, folder)
    assert spoilt > 10 and not reason["straggler"], reason
    assert reason["waiting"]["impossible_collectives"] == spoilt, (spoilt, reason["waiting"])
    path = os.path.join(folder, "job.db")
    said = subprocess.run([rtl, "summary", path], capture_output=True, text=True, check=True).stdout
    assert "; %d collectives that a rank left before the last one came are impossible" % spoilt in said, said
    done = subprocess.run([rtl, "collectives", "--json", path], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["impossible"] == spoilt, told["impossible"]
    assert told["timed"] == told["operations"] - spoilt, told["timed"]


class Apart(Rank):
    """Its collectives take as long whenever the others come, as on GPUs that do not know of each other."""

    def leave(self, at, ns, _end):
        return at + ns


def check_apart(rtl, folder):
    """Rank 0 comes later by as much as it leaves later, so no rank has waited for it: such times accuse none,
    whether ranks do not meet or a clock is wrong."""
    def program(rank):
        rank.host(3 * MS if rank.rank == 0 else 0)
        for step in range(20):
            rank.step(step)
            done = rank.kernel(GEMM, 4 * MS)
            last = yield from rank.collective(rank.job.world, "ncclAllReduce", 6 * MS, 8 << 20, after=(done,))
            rank.kernel(ADAM, 200 * US, after=(last,))
            rank.synchronize()

    for ranks in 2, 4:
        reason = ask(rtl, Job(ranks, rank_type=Apart).run(program), folder)
        assert reason["code"] == "exposed_comm" and not reason["straggler"], (ranks, reason)
        assert reason["waiting"]["wait_pct"] < 1 and not reason["waiting"]["impossible_collectives"], (ranks, reason)


def check_order(rtl, folder):
    """Processes are numbered as they come; ranks are named in the order of their own numbers."""
    job = Job(8).run(data_parallel(in_turn))
    reason = ask(rtl, job, folder, "UPDATE rtl_process SET rank = 7 - rank")
    assert reason["straggler"]["ranks"] == [1, 5] and reason["rank"] == 1, reason
    assert reason["text"].startswith("Ranks 1 and 5 are in turn waited for"), reason


def check_hints(rtl, folder):
    """Where host calls were recorded the reason names what tells more of them, and where it was recorded what waits
    for what, it names what predicts the gain. The mode alone records nothing of a program without HIP."""
    jobs = (data_parallel(late(4, 3 * MS)), None, 4), (data_parallel(), slow(5, 1.2), 5)
    for rank_type, modes in (Rank, ("full", "hip")), (HipRank, ("all", "barriers")):
        for program, spoil, rank in jobs:
            job = Job(8, rank_type=rank_type)
            if spoil:
                spoil(job)
            job.run(program)
            for mode in modes:
                hint = ask(rtl, job, folder, "UPDATE rtl_process SET mode = '%s'" % mode)["hint"]
                has_whatif = hint.endswith("rtl whatif --rank %d what it would gain as the others" % rank)
                assert has_whatif == (rank_type is HipRank), (mode, hint)
                assert ("rtl run --mode hip" in hint) == (rank == 4 and mode in ("full", "barriers")), (mode, hint)
        if rank_type is HipRank:
            subprocess.run([rtl, "whatif", os.path.join(folder, "job.db")], stdout=subprocess.DEVNULL, check=True)


def check_alone(rtl, folder):
    """A pause of a job of one GPU is told with its step and its length, and what it does there; a first step that
    warms up is not."""
    def program(rank):
        rank.copy(5 * S, 1 << 30)
        for step in range(40):
            rank.step(step)
            rank.host(pause if step == 20 else 0)
            for _ in range(10):
                rank.kernel(GEMM, 2 * MS)
            rank.synchronize()
        yield from ()

    for pause, code in (20 * S, "event"), (20 * MS, "none"):
        reason = ask(rtl, Job(1, hosts=0).run(program), folder)
        assert reason["code"] == code and not reason["straggler"], reason
    pause = 20 * S
    reason = ask(rtl, Job(1, hosts=0).run(program), folder)
    assert re.match(r"step 20 takes 20\.0 s \(the median is 20\.\d ms\), 9\d % of the time: rank 0 idles, its host submits nothing$",
                    reason["text"]), reason["text"]
    assert reason["event"]["rank"] == 0 and reason["event"]["cause"] == "host", reason["event"]


def check_leaders(rtl, folder):
    """A preflight and an autotuning child have ranks' numbers and work of their own: the reason is that of the job
    without them, word for word."""
    def program(rank):
        if rank.rank >= 4:  # long before the others' first step, or beside it
            rank.now -= 900 * MS if rank.rank == 4 else 0
            for _ in range(60):
                rank.kernel(GEMM, 12 * MS, grid=9)
            return
        for step in range(12):
            rank.step(step)
            rank.host(3 * MS if rank.rank == spoilt else 0)
            for _ in range(6):
                rank.kernel(GEMM, 300 * US)
                done = rank.kernel(ATTENTION, 200 * US)
            last = yield from rank.collective((0x700, [0, 1, 2, 3]), "ncclAllReduce", 300 * US, 16 << 20, after=(done,))
            rank.kernel(ADAM, 100 * US, after=(last,))
            rank.synchronize()

    for spoilt in None, 2:
        alone = ask(rtl, Job(4).run(program), folder)
        job = Job(6).run(program)
        for helper in job.ranks[4:]:
            helper.marks.clear()
        helped = ask(rtl, job, folder, "UPDATE rtl_process SET rank = rank - 3, attempt = 0 WHERE rank >= 4")
        assert alone.pop("looked_at") != helped.pop("looked_at")
        # As in rtl timeline, which shows all processes.
        assert alone.pop("kinds") != helped.pop("kinds")
        assert bool(alone["straggler"]) == (spoilt is not None), alone
        assert alone == helped, (alone, helped)
        sql = "SELECT count(DISTINCT process_id), 100.0 * sum(wait_ns) / sum(end_ns - start_ns) FROM rtl_wait WHERE counts"
        done = subprocess.run([rtl, "query", "--csv", os.path.join(folder, "job.db"), sql], capture_output=True, text=True,
                              check=True)
        count, wait_pct = done.stdout.splitlines()[1].split(",")
        assert count == "4" and abs(float(wait_pct) - helped["waiting"]["wait_pct"]) < 1e-6, done.stdout


def check_recipe(rtl, folder):
    """SQLite's own program gets the rows of rtl_wait as docs/schema.md says."""
    rtl = os.path.abspath(rtl)
    text = (pathlib.Path(__file__).resolve().parents[3] / "docs/schema.md").read_text(encoding="utf-8")
    recipe = re.search(r"```sql\n(CREATE TEMP TABLE rtl_wait.*?)```", text, re.S).group(1)
    sql = "SELECT * FROM rtl_wait WHERE wait_ns > 1000 ORDER BY rank, window"
    done = subprocess.run([rtl, "query", "--csv", "job.db", sql], cwd=folder, capture_output=True, text=True, check=True)
    wanted = done.stdout.splitlines()[1:]
    environment = {**os.environ, "PATH": os.path.dirname(rtl) + ":" + os.environ["PATH"]}
    done = subprocess.run(["sqlite3", "-readonly", "-csv", "job.db"], input=recipe + sql + ";", cwd=folder, env=environment,
                          capture_output=True, text=True, check=True)
    assert len(wanted) > 40 and done.stdout.splitlines() == wanted, (done.stdout[:300], done.stderr, wanted[:3])


def check_waits(rtl, folder):
    """rtl_wait's rows are what the reason's waiting is a sum of, and each has the whole of its window."""
    jobs = [Job(8).run(data_parallel(late(4, 3 * MS))), Job(4).run(pipeline()), Job(8).run(replicas),
            Job(8, steps=False).run(tensor_parallel()), Job(8).run(data_parallel(checkpoint))]
    for number, job in enumerate(jobs):
        waiting = ask(rtl, job, folder)["waiting"]
        sql = ("SELECT 100.0 * sum(wait_ns) / sum(end_ns - start_ns), 100.0 * sum(p2p_wait_ns) / sum(end_ns - start_ns), "
               "100.0 * sum(transfer_ns) / sum(end_ns - start_ns), count(DISTINCT rank), count(DISTINCT peers), "
               "min(compute_ns + copy_ns + wait_ns + p2p_wait_ns + transfer_ns + host_ns + held_ns + idle_ns = "
               "end_ns - start_ns) FROM rtl_wait WHERE counts")
        done = subprocess.run([rtl, "query", "--csv", os.path.join(folder, "job.db"), sql], capture_output=True,
                              text=True, check=True)
        row = [float(text) for text in done.stdout.splitlines()[1].split(",")]
        for told, key in zip(row, ("wait_pct", "p2p_wait_pct", "transfer_pct")):
            assert abs(told - waiting[key]) < 1e-6, (number, key, told, waiting)
        assert row[3:] == [len(job.ranks), 2 if number == 2 else 1, 1], (number, row)
        if not number:
            check_recipe(rtl, folder)
        assert (row[1] > 1) == (number == 1) and row[0] + row[1] > 0, (number, row)


def many_reductions(launch_us, uneven=False):
    """Three short kernels, and an all-reduce of what they have computed."""
    def program(rank):
        rank.LAUNCH = launch_us * US
        for token in range(20):
            rank.step(token)
            for _ in range(12):
                rank.kernel(NORM, 5 * US)
                rank.kernel(GEMM, 5 * US * (10 * rank.rng.random() if uneven else 1))
                done = rank.kernel(ATTENTION, 5 * US)
                yield from rank.collective(rank.job.world, "ncclAllReduce", 6 * US, 64 << 10, "compute", (done,))
            rank.synchronize()
    return program


def check_launches(rtl, folder, seed):
    """Hosts that launch slowly come to collectives now one, now another last: what GPUs wait there for the next
    launch is no communication. Where uneven work makes them wait it is."""
    for hosts in 0.25, 0.5, 0.8:
        reason = ask(rtl, Job(8, seed=seed, hosts=hosts).run(many_reductions(18)), folder)
        assert reason["code"] == "launch_bound" and not reason["straggler"], (hosts, seed, reason)
        assert 20 < reason["waiting"]["launch_wait_pct"] < reason["waiting"]["wait_pct"], (hosts, seed, reason)
        assert "more in collectives until others have launched" in reason["text"], (hosts, seed, reason)
    for launch_us, uneven in ((3, True), (3, False)):
        reason = ask(rtl, Job(8, seed=seed).run(many_reductions(launch_us, uneven)), folder)
        assert reason["code"] == "exposed_comm" and not reason["straggler"], (launch_us, uneven, seed, reason)
        assert reason["waiting"]["launch_wait_pct"] < 1, (launch_us, uneven, seed, reason)
    assert ask(rtl, Job(8, seed=seed).run(many_reductions(3, True)), folder)["waiting"]["wait_pct"] > 10


# name, ranks, program, code
OTHERS = [("many short kernels", 1, many_short, "launch_bound"), ("queues that are never empty", 1, never_empty, "held_back"),
          ("pauses", 1, pauses, "late_host"), ("copies between kernels", 1, copies_between, "launch_bound"),
          ("another mix of kernels", 4, another_mix, "none")]
# What costs nothing, since it lies in the slack.
SLACK = [("a slow GPU, but all wait for storage", 8, from_storage, slow(3, 1.3)),
         ("a host that is late within its stage's bubble", 4, pipeline(late(3, MS)), lambda job: None)]
EVENTS = [("a checkpoint", 8, data_parallel(checkpoint), 0, "rank 0 idles"),
          ("compilation", 8, data_parallel(compiles), None, "all GPUs"),
          ("a rank that loads", 8, data_parallel(loads_first), None, "all GPUs wait in the first collective")]


def store(job, folder, change=""):
    path = os.path.join(folder, "job.db")
    if os.path.exists(path):
        os.unlink(path)
    job.store(path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(change)
    return path


def ask(rtl, job, folder, change=""):
    path = store(job, folder, change)
    done = subprocess.run([rtl, "summary", "--json", path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["reason"]


def shares_in(told, path=""):
    """Yields the path and the value of each share of a reason in JSON."""
    for key, value in told.items() if isinstance(told, dict) else enumerate(told):
        if isinstance(value, (dict, list)):
            yield from shares_in(value, "%s/%s" % (path, key))
        elif str(key).endswith("_pct") and value is not None:
            yield "%s/%s" % (path, key), value


def check_shares(reason):
    shares = dict(shares_in(reason))
    assert shares and all(-1e-9 <= share <= 100 + 1e-9 for share in shares.values()), (shares, reason["text"])
    said = [int(word) for word in re.findall(r"(\d+) %", reason["text"])]
    assert all(share <= 100 for share in said), reason["text"]


def check_fault(rtl, folder, fault, seed):
    name, ranks, program, spoil, at_fault, cause, settings = fault
    program, healthy = program if isinstance(program, tuple) else (program, program)
    job = Job(ranks, seed=seed, **settings)
    if spoil:
        spoil(job)
    job.run(program)
    truth = 100 * (1 - Job(ranks, seed=seed, **settings).run(healthy).wall_ns() / job.wall_ns())
    reason = ask(rtl, job, folder)
    straggler = reason["straggler"]
    check_shares(reason)
    assert straggler, (name, seed, reason["text"])
    assert reason["code"] == ("slow_rank" if cause == "compute" else "late_rank"), (name, seed, reason)
    assert sorted(straggler["ranks"]) == at_fault and straggler["cause"] == cause, (name, seed, reason)
    assert cause != "compute" or straggler["slow_gpu"], (name, seed, reason)
    # As rtl collectives writes it, and --comm of rtl whatif reads it.
    assert cause != "transfer" or "communicator 3002 takes" in reason["text"], (name, seed, reason)
    # Within 15 % of what the job would gain, or a point and a half.
    apart = abs(straggler["cost_pct"] - truth)
    assert apart <= max(0.15 * truth, 1.5), (name, seed, truth, straggler["cost_pct"])
    parts = sum(straggler["more_than_reference"].values())
    assert abs(parts - straggler["reference_waits_longer_ns"]) < 1, (name, seed, straggler)


def main():
    rtl, is_long = sys.argv[1], bool(os.environ.get("RTL_TEST_LONG"))
    with tempfile.TemporaryDirectory() as folder:
        check_simulated(rtl, folder)
        check_left_out(rtl, folder)
        check_impossible(rtl, folder)
        check_apart(rtl, folder)
        check_order(rtl, folder)
        check_hints(rtl, folder)
        check_waits(rtl, folder)
        check_leaders(rtl, folder)
        check_alone(rtl, folder)
        for seed in range(1, 4 if is_long else 2):
            for name, ranks, program, settings in HEALTHY:
                reason = ask(rtl, Job(ranks, seed=seed, **settings).run(program), folder)
                assert reason["rank"] is None and not reason["straggler"], (name, seed, reason)
            for fault in FAULTS + ENDS + (MANY if is_long else []):
                check_fault(rtl, folder, fault, seed)
            for name, ranks, program, rank, words in EVENTS:
                reason = ask(rtl, Job(ranks, seed=seed).run(program), folder)
                assert reason["code"] == "event" and reason["event"]["rank"] == rank, (name, seed, reason)
                assert words in reason["text"], (name, seed, reason["text"])
            # With a stream for each direction the link hides in the bubble, but for a tenth of the step.
            for link_us, streams, code in ((20, False, "exposed_comm"), (600, False, "late_rank"), (600, True, "late_rank")):
                reason = ask(rtl, Job(4, seed=seed).run(pipeline(link_us=link_us, has_streams=streams)), folder)
                assert reason["waiting"]["slow_link_ranks"] == ([1, 2] if link_us > 20 else None), (seed, reason)
                said = "sends between rank 1 and rank 2 take 29" in reason["text"]
                assert reason["code"] == code and said == (link_us > 20), (seed, reason)
            reason = ask(rtl, Job(8, seed=seed).run(data_parallel(all_throttled, 24)), folder)
            assert not reason["straggler"] and reason["waiting"]["slower_since_step"] == 12, (seed, reason)
            assert re.search(r"; since step 12 steps take 1\.[23]\dx as long as before$", reason["text"]), (seed, reason)
            job = Job(8, seed=seed).run(data_parallel(longer_gemms))
            straggler = ask(rtl, job, folder)["straggler"]
            assert straggler["ranks"] == [4] and not straggler["slow_gpu"], (seed, straggler)
            for name, ranks, program, spoil in SLACK:
                job = Job(ranks, seed=seed)
                spoil(job)
                reason = ask(rtl, job.run(program), folder)
                assert reason["rank"] is None and not reason["straggler"], (name, seed, reason)
            check_kinds(rtl, folder, seed)
            check_launches(rtl, folder, seed)
            check_custom(rtl, folder, seed)
            check_paces(rtl, folder, seed)
            for name, ranks, program, code in OTHERS:
                reason = ask(rtl, Job(ranks, seed=seed, hosts=0).run(program), folder)
                assert reason["code"] == code and reason["straggler"] is None, (name, seed, reason)
                check_shares(reason)
    print("ok")


if __name__ == "__main__":
    main()
