#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clocks that are set, stand still or begin again while ranks run.

usage: clocks.py --build DIR [--rounds N] [--long N] [--rate N]

CLOCK_REALTIME of the collector and of all ranks is set a year forth and back; the machine is
"suspended" for an hour (CLOCK_BOOTTIME goes on, CLOCK_MONOTONIC and the counters of half of the
devices do not); the counters of the other half wrap every two seconds. Nothing stands still, all is
stored, and what does not fit is counted in rtl_clock_check.
"""
import argparse
import ctypes
import mmap
import os
import time

from node import FOR_EVER, STALL_S_MAX, fail, is_long, node_of, quantiles, told_to_end, wait_for
from oracle import Oracle

YEAR_S, HOUR_S = 365 * 86400, 3600
RANKS = 4        # even ones sleep with the machine, odd ones wrap
TICK_BITS = 31   # of ns: 2.1 s


class Clocks:
    """The file of tests/reliability/clocks/stepped_clock.h. Each value is written as a whole: a torn one would be
    a BOOTTIME that goes back, which there is not."""

    def __init__(self, path):
        with open(path, "w+b") as file:
            file.write(bytes(16))
            file.flush()
            self.values = (ctypes.c_int64 * 2).from_buffer(mmap.mmap(file.fileno(), 16))

    def add(self, realtime_s=0, boottime_s=0):
        for at, seconds in enumerate((realtime_s, boottime_s)):
            self.values[at] += seconds * 10**9


def progress(node):
    """Seconds until each rank has more frames committed."""
    before = dict(node.open_sql("SELECT id, hw_frame FROM rtl_process"))
    begin = time.monotonic()
    wait_for("frames of every rank", lambda: all(
        frames > before[process] for process, frames in
        node.open_sql("SELECT id, hw_frame FROM rtl_process")), 0.002)
    return time.monotonic() - begin


def regressions(node, parity):
    return [row[0] for row in node.open_sql(
        """SELECT max(regressions) FROM rtl_clock_check c JOIN rtl_process p ON p.id = c.process_id
        WHERE rank %% 2 = %d GROUP BY rank""" % parity)]


def check(node, oracle, expected, suspends):
    oracle.check_all_stored(expected)
    if oracle.untimed > expected / 1000:
        fail("%d of %d without a time" % (oracle.untimed, expected))
    for rank, steps, back in node.sql(
            """SELECT rank, sum(steps), sum(regressions) FROM rtl_clock_check c
            JOIN rtl_process p ON p.id = c.process_id GROUP BY rank ORDER BY rank"""):
        # A wrap may hide a suspend between the same two anchors, but not all of them.
        if (rank % 2 == 0 and (steps < suspends or back)) or (rank % 2 and not back):
            fail("rank %d: %d steps, %d regressions were counted" % (rank, steps, back))
    low, high = node.sql("SELECT min(realtime_ns - boottime_ns), max(realtime_ns - boottime_ns) "
                         "FROM rtl_clock")[0]
    if high - low < 0.9 * YEAR_S * 1e9:
        fail("no pair of anchors shows that the clock was set: %d ns apart" % (high - low))
    bad = node.sql("""SELECT name, start_ns, end_ns FROM rtl_session
        WHERE end_ns IS NULL OR end_ns < start_ns""")
    if bad:
        fail("a session that ended before it began: %s" % bad)
    # What began before its process, or after the last moment of its session, is misplaced. Not before
    # the session: that begins when a busy collector comes to hear of it.
    bad = node.sql("""SELECT count(*) FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id
            JOIN rtl_process p ON p.id = h.process_id JOIN rtl_session s ON s.id = p.session_id
        WHERE d.start NOT BETWEEN p.start_ns - 1000000000 AND s.end_ns + 1000000000""")[0][0]
    if bad:
        fail("%d kernels lie outside of their process or session" % bad)
    return node.sql("SELECT sum(steps), sum(regressions) FROM rtl_clock_check")[0]


def run(node, args):
    path = os.path.join(node.work, "clocks")
    clocks = Clocks(path)
    env = {"RTL_CLOCKS": path}
    node.start("collectord-faults", env)
    shims = [node.shim(rank, FOR_EVER, args.rate, "synthetic-shim-faults", env,
                       ["--tick-bits", str(TICK_BITS)] if rank % 2 else ["--sleeps"])
             for rank in range(RANKS)]
    for rank in range(RANKS):
        wait_for("rows of rank %d" % rank, lambda r=rank: node.has_rows(r))
    seconds = []
    for _ in range(args.rounds):
        for step in ({"realtime_s": YEAR_S}, {"realtime_s": -2 * YEAR_S}, {"realtime_s": YEAR_S},
                     {"boottime_s": HOUR_S}):
            clocks.add(**step)
            seconds.append(progress(node))
            progress(node)
    clocks.add(realtime_s=-YEAR_S)  # and so it stays: ranks end by other clocks
    wait_for("wraps", lambda: min(regressions(node, 1), default=0) > 0)
    begin = time.monotonic()
    expected = sum(words["dispatched"]["kernels"] for words in told_to_end(shims))
    wait_for("every rank to be drained", lambda: node.drained(RANKS))
    seconds.append(time.monotonic() - begin)
    wait_for("the end of the session",
             lambda: node.has("SELECT 1 FROM rtl_session WHERE end_ns IS NOT NULL"))
    steps, back = check(node, Oracle(node), expected, args.rounds)
    print("clocks: %d steps of REALTIME, %d suspends, %d dispatched, %d stored; counted: %d steps, "
          "%d regressions; to the next commit of every rank: %s" %
          (3 * args.rounds, args.rounds, expected, expected, steps, back, quantiles(seconds)))
    if max(seconds) > STALL_S_MAX:
        fail("something stood still for %.0f s" % max(seconds))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--long", type=int, help="--rounds when RTL_TEST_LONG is set")
    parser.add_argument("--rate", type=int, default=2_000)
    args = parser.parse_args()
    if args.long and is_long():
        args.rounds = args.long
    with node_of(args.build, "clocks") as node:
        run(node, args)


if __name__ == "__main__":
    main()
