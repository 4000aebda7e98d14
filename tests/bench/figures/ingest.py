# SPDX-License-Identifier: MIT
"""Rows a second from sockets to committed rows, and how that and memory grow with ranks and rows.

Ranks that only send (feeders.c) give a real collector dispatches as fast as it reads. The rate is
from the first byte to the last Ack, which comes after COMMIT; definitions, the making of frames and the ends of
ranks are not in it. Baselines (insert_floor.c): SQLite
alone with the same rows from memory, by the fastest way that is safe and by prepared inserts; and
the same collector with one rank, or with a tenth of the rows.
"""
import json

from bench import Figure, Turns
from collector import Collector

RANKS = 8
# Of what is not timed, but varies.
TURNS = 5
# Half a second each, and beside another guest of the host up to twice that.
RANKS_RUNS_MIN = 21


def fed(bench, ranks, rows, cpu=None):
    """Rows a second of @ranks that send @rows in all; their processor time goes to @cpu."""
    with Collector(bench) as collector:
        said = collector.feed(ranks, rows // ranks)
        collector.until_closed()
        collector.stop()
        collector.check(rows // ranks * ranks)
    if cpu is not None:
        cpu.append(collector.cpu)
    bench.samples.setdefault(f"ack_ns of {ranks}", []).append(said["ack_ns"])
    return said["rows"] / said["seconds"]


def floor(bench, way, rows, cpu=None):
    path = bench.folder / "floor.db"
    for old in bench.folder.glob("floor.db*"):
        old.unlink()
    said = json.loads(bench.run(bench.program("insert-floor"), way, path, rows))
    if cpu is not None:
        cpu.append(said["cpu"])
    return said["rows"] / said["seconds"]


def compare(bench, name, turns, variant, base, what, goal, stretch=""):
    ratio = turns[variant].over(turns[base])
    return Figure(name, turns[variant].median, "rows/s", ratio.low, ratio.high, what,
                  turns[base].median, ratio.median, bench.timed(goal), bench.timed(stretch))


def rates(bench):
    rows, cpu = 200_000 if bench.quick else 1_600_000, {"ours": [], "vtab": []}
    turns = bench.interleaved({
        "ours": lambda: fed(bench, RANKS, rows, cpu["ours"]),
        "vtab": lambda: floor(bench, "vtab", rows, cpu["vtab"]),
        "bind": lambda: floor(bench, "bind", rows)})
    yield compare(bench, f"ingest, {RANKS} senders", turns, "ours", "vtab", "SQLite alone, virtual table",
                  ">= 0.75", ">= 0.9")
    yield compare(bench, f"ingest, {RANKS} senders", turns, "ours", "bind", "SQLite alone, prepared inserts",
                  ">= 1.4", ">= 2")
    # Of all but the first turn, which warms up.
    ours, base = (Turns(cpu[variant][1:]).times(1e9 / rows) for variant in ("ours", "vtab"))
    ratio = ours.over(base)
    bench.samples["cpu"] = cpu
    yield Figure("ingest, processor time of the collector", ours.median, "ns/row", ratio.low, ratio.high,
                 "SQLite alone, virtual table", base.median, ratio.median, note="all it does in its life")


def growth_in_ranks(bench):
    rows, runs = (256_000, 1) if bench.quick else (3_072_000, max(bench.runs, RANKS_RUNS_MIN))
    # 400 shapes of each rank are rows, too: fewer dispatches would be lost among those of 256.
    counts = (1, 32) if bench.quick else (1, 32, 256)
    turns = bench.interleaved({n: lambda n=n: fed(bench, n, rows) for n in counts}, runs)
    for n in counts[1:]:
        yield compare(bench, f"rows/s at {n} ranks", turns, n, 1, "one rank", ">= 0.85")
    if bench.quick:
        return
    # Of a rank's first 12,000 rows each 30th is a shape that it begins with; of what comes then, few are.
    rows *= 4
    turns = bench.interleaved({n: lambda n=n: fed(bench, n, rows) for n in (1, 256)}, TURNS)
    yield compare(bench, f"rows/s at 256 ranks, {rows // 256:,} each", turns, 256, 1, "one rank", ">= 0.85")


def growth_in_rows(bench):
    few = 80_000 if bench.quick else 800_000

    def peak(rows):
        with Collector(bench) as collector:
            collector.feed(RANKS, rows // RANKS)
            collector.until_closed()
            most = collector.peak_mib()
            collector.stop()
            collector.check(rows)
        return most
    turns = bench.interleaved({"few": lambda: peak(few), "many": lambda: peak(10 * few)},
                              1 if bench.quick else TURNS)
    ratio = turns["many"].over(turns["few"])
    yield Figure(f"collector's memory, {10 * few:,} rows", turns["many"].median, "MiB", ratio.low,
                 ratio.high, f"{few:,} rows", turns["few"].median, ratio.median,
                 # So few fill no transaction: the caches are still empty.
                 "" if bench.quick else "<= 1.1")
    yield Figure(f"collector's memory, {RANKS} ranks", turns["many"].median, "MiB",
                 turns["many"].low, turns["many"].high, goal="< 96")


def measure(bench):
    yield from rates(bench)
    yield from growth_in_ranks(bench)
    yield from growth_in_rows(bench)
