# SPDX-License-Identifier: MIT
"""Hundreds of ranks with the shim's own recorder, thread and connection, against one collector.

synthetic-shim: no runtime, a synthetic device, all the rest is real. Each rank dispatches a few hundred
kernels at a steady rate. Nothing may be lost; what a rank more costs the collector in memory, and how
long frames wait for their Ack (by the ranks' own clocks, on this machine's few cores).
"""
import re
import subprocess

from bench import BenchError, Figure
from collector import Collector

KERNELS, RATE = 200, 20
ACKS = re.compile(r"acks n=(\d+) p50_us=(\d+) p99_us=(\d+) max_us=(\d+)")
RANK_S = 600


def run_ranks(bench, socket, count):
    """What each of @count ranks says."""
    shims = []
    try:
        for rank in range(count):
            shims.append(subprocess.Popen(
                [bench.program("synthetic-shim"), "--socket", socket, "--rank", str(rank), "--acks",
                 "--polite", "-n", str(KERNELS), "-r", str(RATE)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=bench.environment(RTL_JOB_ID="scale")))
        said = [shim.communicate(timeout=RANK_S)[0] for shim in shims]
    finally:
        for shim in shims:
            if shim.poll() is None:
                shim.kill()
                shim.wait()
    wrong = [text.strip() for shim, text in zip(shims, said) if shim.returncode]
    if wrong:
        raise BenchError(f"{len(wrong)} of {count} ranks failed: {wrong[0][:200]}")
    return said


def measure(bench):
    idle = None
    for count in (64,) if bench.quick else (256, 1024):
        with Collector(bench) as collector:
            idle = collector.peak_mib()
            said = run_ranks(bench, collector.socket, count)
            collector.until_closed()
            peak = collector.peak_mib()
            collector.stop()
            collector.check(count * KERNELS)
        acks = [tuple(map(int, match.groups())) for match in map(ACKS.search, said) if match]
        if len(acks) != count:
            raise BenchError(f"{len(acks)} of {count} ranks say how long frames waited")
        bench.samples[f"acks of {count}"] = acks
        p50 = sorted(a[1] for a in acks)[count // 2]
        p99 = sorted(a[2] for a in acks)[count * 99 // 100]
        # check() would have refused the run else.
        yield Figure(f"{count} ranks: dispatches lost", 0, "", goal="= 0")
        yield Figure(f"{count} ranks: collector's memory", (peak - idle) * 1024 / count, "KiB/rank",
                     note=f"{peak:.0f} MiB in all")
        yield Figure(f"{count} ranks: wait for an Ack, median of the ranks' medians", p50 / 1000, "ms",
                     note=f"p99 of the ranks' p99: {p99 / 1000:.0f} ms")
