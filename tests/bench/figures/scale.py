# SPDX-License-Identifier: MIT
"""Hundreds of ranks with the shim's own recorder, thread and connection, against one collector.

synthetic-shim: no runtime, a synthetic device, all the rest is real. Each rank dispatches a few hundred
kernels at a steady rate. Nothing may be lost; what a rank more costs the collector in memory, and how
long frames wait for their Ack (by the ranks' own clocks, on this machine's few cores).
"""
import re
import resource
import subprocess
import time

from bench import BenchError, Figure
from collector import Collector

KERNELS, RATE = 200, 20
ACKS = re.compile(r"acks n=(\d+) p50_us=(\d+) p99_us=(\d+) max_us=(\d+)")
RANK_S = 600


def raise_limit():
    """Of open files, for the collector that we start: a connection and a recorder for each rank."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def run_ranks(bench, socket, count):
    """What each of @count ranks says."""
    shims, logs = [], [bench.folder / f"rank-{rank}.log" for rank in range(count)]
    deadline = time.monotonic() + RANK_S
    try:
        for rank, log in enumerate(logs):
            # Into a file: a pipe that nobody reads would stop a rank.
            with open(log, "w", encoding="utf-8") as out:
                shims.append(subprocess.Popen(
                    [bench.program("synthetic-shim"), "--socket", socket, "--rank", str(rank), "--acks",
                     "-n", str(KERNELS), "-r", str(RATE)],
                    stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                    env=bench.environment(RTL_JOB_ID="scale")))
        for shim in shims:
            shim.wait(max(deadline - time.monotonic(), 1))
    finally:
        for shim in shims:
            if shim.poll() is None:
                shim.kill()
                shim.wait()
    said = [log.read_text() for log in logs]
    wrong = [text.strip() for shim, text in zip(shims, said) if shim.returncode]
    if wrong:
        raise BenchError(f"{len(wrong)} of {count} ranks failed: {wrong[0][:200]}")
    return said


def measure(bench):
    raise_limit()
    for count in (64,) if bench.quick else (256, 1024):
        with Collector(bench) as collector:
            idle = collector.peak_mib()
            said = run_ranks(bench, collector.socket, count)
            collector.until_closed()
            peak = collector.peak_mib()
            collector.stop()
            info = bench.identity(collector.db)
        # What they dispatched is known from here, and not from who counts what it has lost.
        if info["dispatched"] > count * KERNELS:
            raise BenchError(f"{info['dispatched']} of {count * KERNELS} dispatched")
        acks = [tuple(map(int, match.groups())) for match in map(ACKS.search, said) if match]
        if len(acks) != count:
            raise BenchError(f"{len(acks)} of {count} ranks say how long frames waited")
        bench.samples[f"acks of {count}"] = acks
        p50 = sorted(a[1] for a in acks)[count // 2]
        p99 = sorted(a[2] for a in acks)[count * 99 // 100]
        yield Figure(f"{count} ranks: dispatches lost", count * KERNELS - info["stored"], "", goal="= 0",
                     note="" if info["complete"] else "; ".join(map(str, info["losses"]))[:200] or "incomplete")
        yield Figure(f"{count} ranks: collector's memory", (peak - idle) * 1024 / count, "KiB/rank",
                     note=f"{peak:.0f} MiB in all")
        yield Figure(f"{count} ranks: wait for an Ack, median of the ranks' medians", p50 / 1000, "ms",
                     note=f"p99 of the ranks' p99: {p99 / 1000:.0f} ms")
