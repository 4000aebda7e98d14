# SPDX-License-Identifier: MIT
"""What `rtl run` adds to a program that does nothing: its collector started, a database made, closed, judged.

`rtl run true` to `true`, with a collector of its own and with a service that is there. Each run makes a new
file: how long a file system takes to remove the last one is no part of this (40 ms on some disks).
"""
import contextlib
import itertools
import subprocess
import time

from bench import BenchError, Figure, Turns

GOAL = "<= 20"
START_S = 30
RUNS_MIN = 21


@contextlib.contextmanager
def service(bench):
    """A collector that stays: the socket."""
    socket = bench.folder / "service.sock"
    collector = subprocess.Popen([bench.program("collectord", "bin"), "--socket", socket, "--db-dir",
                                  bench.folder / "store"], env=bench.environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + START_S
    try:
        while subprocess.run([bench.program("rtl", "bin"), "stat", "-b", "-n", "1", "--socket", socket],
                             env=bench.environment(), capture_output=True, check=False).returncode:
            if collector.poll() is not None or time.monotonic() > deadline:
                raise BenchError("collectord does not answer")
            time.sleep(0.02)
        yield socket
    finally:
        collector.terminate()
        collector.wait(START_S)


def measure(bench):
    rtl, env = bench.program("rtl", "bin"), bench.environment()
    number = itertools.count()

    def once(*command):
        begin = time.monotonic()
        bench.run(*command, env=env)
        return (time.monotonic() - begin) * 1e3

    def private():
        return once(rtl, "run", "-q", "-o", bench.folder / f"true.{next(number)}.db", "true")

    with service(bench) as socket:
        turns = bench.interleaved({
            "true": lambda: once("true"),
            "rtl run true": private,
            "rtl run --socket true": lambda: once(rtl, "run", "-q", "--socket", socket, "true"),
        }, bench.runs if bench.quick else max(bench.runs, RUNS_MIN))
    for file in bench.folder.glob("true.*.db"):
        bench.identity(file)
    true = turns.pop("true")
    for name, this in turns.items():
        added = this.minus(true)
        yield Figure(f"start: {name}, added", added.median, "ms", added.low, added.high, "true", true.median,
                     goal=bench.timed(GOAL))
