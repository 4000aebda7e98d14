# SPDX-License-Identifier: MIT
"""Instructions of the collector for one more row, and for one more rank, all in: both threads,
sockets to checkpoint.

Ranks that only send (feeders.c) to a real collector under cachegrind without its caches, which counts the same as
callgrind in half the time, at two sizes: what is done once a life, a session or a rank is in neither. A rank is what as
many rows of more of them cost more: its Hello, 100 names and 400 shapes that are defined and stored, its end. Its monotonic clock stands still (still_clock.c), so that
it commits by rows, as it does at speed: else the figure would be of how busy the machine is.
Baseline: SQLite alone with the same rows, by a virtual table (insert_floor.c). No limit depends on it, so
--quick leaves it out.
"""
import functools
import re

from bench import BenchError, Figure
from collector import Collector

RANKS = 8
# Measured: 1,546; and 5 % more.
GATE = "<= 1625"
# Transactions of 65,536 rows: of each size a whole number.
FEW, MANY, MANY_QUICK = 65_536, 327_680, 131_072
MANY_RANKS, MANY_RANKS_QUICK = 256, 64
# Measured: 3,739,296 with 64 ranks; 4,439,683 when each shape that is stored was a block of memory of its
# own and 64 of them a statement; 4,846,492 when a session was summed up at each end. 5,039,594 since
# ranks that processes say late are compared with those of all others of the session (ingest/ranks.c);
# 5,287,968 since they are found at each end, too; 5,338,400 since living processes are read first. What a rank is
# compared with depends on how many are there, by the order in which the threads run: 5,603,635 and 5,665,683 under
# cachegrind; and 5 % more.
RANK_GATE = "<= 5950000"


def collector_cost(bench, rows, ranks):
    profile = bench.folder / "profile"
    wrap = ("valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={profile}")
    with Collector(bench, wrap=wrap,
                   LD_PRELOAD=bench.program("libstill-clock.so")) as collector:
        collector.feed(ranks, rows // ranks, "--hasty")
        collector.until_ended(ranks)
        collector.stop()
        collector.check(rows, is_closed=False)  # that is for a timer, which stands still
    found = re.search(r"^summary: (\d+)", profile.read_text(), re.M)
    if not found:
        raise BenchError("cachegrind's profile has no total")
    return int(found[1])


def floor_cost(bench, rows):
    for old in bench.folder.glob("floor.db*"):
        old.unlink()
    return bench.callgrind([bench.program("insert-floor"), "vtab", bench.folder / "floor.db", rows])


def measure(bench):
    @functools.cache  # of the fewest rows of the fewest ranks both figures are made
    def cost(rows, ranks):
        return collector_cost(bench, rows, ranks)

    ours = bench.slope(lambda rows: cost(rows, RANKS), FEW, MANY_QUICK if bench.quick else MANY)
    base = None if bench.quick else bench.slope(lambda rows: floor_cost(bench, rows), FEW, MANY)
    yield Figure("collector, instructions a row", ours, "instructions",
                 baseline="SQLite alone, virtual table", baseline_value=base, goal="<= 4500",
                 stretch="<= 3900", note=f"{ours / base:.2f} times it" if base else "")
    # The goal is far off: what is lost on the way to it shows here.
    yield Figure("collector, instructions a row, to what it was", ours, "instructions", goal=GATE)
    rank = bench.slope(lambda ranks: cost(FEW, ranks), RANKS,
                       MANY_RANKS_QUICK if bench.quick else MANY_RANKS)
    yield Figure("collector, instructions a rank", rank, "instructions", goal=RANK_GATE,
                 note="100 names, 400 shapes")
