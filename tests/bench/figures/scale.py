# SPDX-License-Identifier: MIT
"""Hundreds of ranks with the shim's own recorder, thread and connection, against one collector.

synthetic-shim: no runtime, a synthetic device, all the rest is real; all ranks together dispatch at the same rate,
whatever their number, as one job or as jobs of 16 ranks, which each have a database. Nothing may be lost.
What a rank more costs the collector in memory and descriptors, how long frames wait for their Ack (64 of the
ranks look, by their own clocks), and how soon all is stored when they end at once: on this machine's few cores,
which the ranks share with the collector.
"""
import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import time

from bench import BenchError, Figure
from collector import Collector, until

# Of all ranks, a second; and for so long.
NODE_RATE, SECONDS, SECONDS_QUICK = 4096, 10, 3
LOOKERS = 64
JOB_RANKS = 16
ACKS = re.compile(r"acks n=(\d+) p50_us=(\d+) p99_us=(\d+) max_us=(\d+)")
RANK_S = 600


def raise_limit():
    """Of open files, for the collector that we start: a connection and a recorder for each rank."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Ranks:
    """@count of them at @collector, in @jobs jobs. What is known of them comes as run() goes on."""

    def __init__(self, bench, collector, count, jobs):
        self.bench, self.collector, self.count, self.jobs = bench, collector, count, jobs
        self.rate = max(NODE_RATE // count, 1)
        self.kernels = self.rate * (SECONDS_QUICK if bench.quick else SECONDS)
        self.shims, self.logs = [], [bench.folder / f"rank-{rank}.log" for rank in range(count)]
        self.known_s = self.ended = None
        self.descriptors = 0

    def start(self, rank):
        acks = ["--acks"] if rank % max(self.count // LOOKERS, 1) == 0 else []
        # Into a file: a pipe that is not read would stop a rank.
        with open(self.logs[rank], "w", encoding="utf-8") as out:
            self.shims.append(subprocess.Popen(
                [self.bench.program("synthetic-shim"), "--socket", self.collector.socket, "--rank", str(rank), *acks,
                 "-n", str(self.kernels), "-r", str(self.rate)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env=self.bench.environment(RTL_JOB_ID=f"scale {rank % self.jobs}")))

    def look(self):
        """What the collector has of them: it answers beside all that."""
        said = json.loads(self.bench.run(self.bench.program("rtl", "bin"), "stat", "--json", "-n", "1", "--socket",
                                         self.collector.socket))
        self.descriptors = max(self.descriptors, len(os.listdir(f"/proc/{self.collector.process.pid}/fd")))
        return sum(session["processes"] for session in said["sessions"])

    def run(self):
        begin = time.monotonic()
        try:
            for rank in range(self.count):
                self.start(rank)
            # Beside much else the first may be gone before the last has come.
            until(lambda: self.look() >= self.count or self.shims[0].poll() is not None, "not all ranks are known")
            if self.shims[0].poll() is None:
                self.known_s = time.monotonic() - begin
            for shim in self.shims:
                shim.wait(max(begin + RANK_S - time.monotonic(), 1))
            self.ended = time.monotonic()
        finally:
            for shim in self.shims:
                with contextlib.suppress(ProcessLookupError):
                    shim.kill()
                shim.wait()
        said = [log.read_text() for log in self.logs]
        wrong = [text.strip() for shim, text in zip(self.shims, said) if shim.returncode]
        if wrong:
            raise BenchError(f"{len(wrong)} of {self.count} ranks failed: {wrong[0][:200]}")
        acks = [tuple(map(int, match.groups())) for match in map(ACKS.search, said) if match]
        if len(acks) != min(LOOKERS, self.count):
            raise BenchError(f"{len(acks)} ranks say how long frames waited")
        return acks


def databases(bench, collector, jobs):
    if jobs == 1:
        return [collector.db]
    return sorted((bench.folder / "store").glob("*/*.db"))


def until_all_closed(bench, collector, jobs):
    """Sealed, each one file: no log is left, which the last one's end takes away."""
    until(lambda: len(found := databases(bench, collector, jobs)) == jobs
          and not any(path.with_name(path.name + "-wal").exists() for path in found), "not all is closed", 0.005)


def one(bench, count, jobs):
    shutil.rmtree(bench.folder / "store", ignore_errors=True)
    options = () if jobs == 1 else ("--db-dir", bench.folder / "store")
    with Collector(bench, *options) as collector:
        idle = collector.peak_mib()
        ranks = Ranks(bench, collector, count, jobs)
        acks = ranks.run()
        until_all_closed(bench, collector, jobs)
        closed_s, peak = time.monotonic() - ranks.ended, collector.peak_mib()
        collector.stop()
        infos = [bench.identity(path) for path in databases(bench, collector, jobs)]
    want, losses = count * ranks.kernels, [loss for info in infos for loss in info["losses"]]
    if not all(info["complete"] for info in infos) and not losses:
        raise BenchError("a database is incomplete, and says no loss")
    what = f"{count} ranks" if jobs == 1 else f"{jobs} jobs of {count // jobs} ranks"
    bench.samples[f"acks, {what}"] = acks
    p50, p99 = (sorted(ack[i] for ack in acks) for i in (1, 2))
    # The dispatched number is counted here, not by the collector, which counts its own losses.
    yield Figure(f"{what}: dispatches lost", want - sum(info["stored"] for info in infos), "", goal="= 0",
                 note="; ".join(map(str, losses))[:200])
    yield Figure(f"{what}: collector's memory", (peak - idle) * 1024 / count, "KiB/rank", note=f"{peak:.0f} MiB in all")
    yield Figure(f"{what}: collector's descriptors", ranks.descriptors / count, "a rank",
                 note=f"{ranks.descriptors} at most")
    yield Figure(f"{what}: collector's processor time", collector.cpu * 1e3 / count, "ms/rank",
                 note=f"{collector.cpu:.1f} s for {want:,} dispatches in small frames")
    known_ms = ranks.known_s and ranks.known_s * 1e3
    yield Figure(f"{what}: until the last one is known", known_ms, "ms",
                 note="with their start" if known_ms else "the first had ended by then")
    yield Figure(f"{what}: wait for an Ack, median of the ranks' medians", p50[len(p50) // 2] / 1000, "ms",
                 note=f"median of their p99: {p99[len(p99) // 2] / 1000:.0f} ms, the worst {p99[-1] / 1000:.0f} ms")
    yield Figure(f"{what}: last exit to all closed", closed_s * 1e3, "ms", note="waits for latecomers with it")


def measure(bench):
    raise_limit()
    for count, jobs in ((64, 1), (64, 4)) if bench.quick else (
            (256, 1), (1024, 1), (1024, 1024 // JOB_RANKS)):
        yield from one(bench, count, jobs)
