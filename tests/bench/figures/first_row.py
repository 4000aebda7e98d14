# SPDX-License-Identifier: MIT
"""From the end of a program's first kernel to its row, for a reader of the live database.

rtl-demo at 1,000 kernels a second under rtl run; this process asks SQLite every millisecond until there is a
timed row. Kernels take their time by the wall clock, so the row's own `end` says when the kernel was over.
"""
import sqlite3
import statistics
import subprocess
import time

from bench import BenchError, Figure, session

GOAL = "<= 100"
WAIT_S = 60
ASK = "SELECT min(start), min(end) FROM rocpd_op WHERE end IS NOT NULL"


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def ask(path):
    """The first row's end, or None: no file, no schema, no row yet."""
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return None
    try:
        return db.execute(ASK).fetchone()[1]
    except sqlite3.OperationalError:
        return None
    finally:
        db.close()


def wait_for_row(path, process):
    """ns from the end of the first kernel to its row."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        end = ask(path)
        seen = now_ns()
        if end is not None:
            return seen - end
        if process.poll() is not None:
            raise BenchError(f"rtl run ended, status {process.returncode}, before there was a row")
        time.sleep(0.001)
    raise BenchError(f"no row after {WAIT_S} s")


def once(bench, env, turn):
    # Each its own: the first look would find the row of the turn before.
    path = bench.folder / f"live-{turn}.db"
    command = [bench.program("rtl", "bin"), "run", "-q", "-o", path, "--", bench.program("rtl-demo", "bin"),
               "--dispatches", "2000", "--rate", "1000"]
    with session(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        took = wait_for_row(path, process) / 1e6
        status = process.wait(WAIT_S)
    if status:
        raise BenchError(f"rtl run: status {status}")
    if bench.identity(path)["stored"] != 2000:
        raise BenchError("not all of its 2000 dispatches are stored")
    return took


def measure(bench):
    env = bench.environment(SOFTGPU_COUNT=1, SOFTGPU_REALTIME=1, SOFTGPU_FAULT="default duration=2us")
    found = [once(bench, env, turn) for turn in range(bench.runs)]
    bench.samples["first row"] = found
    yield Figure("first row visible after the first kernel's end", statistics.median(found), "ms", min(found),
                 max(found), goal=bench.timed(GOAL))
