# SPDX-License-Identifier: MIT
"""A node with 10,000 closed sessions of four users, to the same with 10: what history costs.

One session of each store is real: made and closed by the collector. The others are copies of its file, each
with a name of its own in it and its blocks of zeros left out, and rows of index.db as the collector writes them.
Each is asked in turns with the other: start-up, rtl's answers, a session that comes and goes, retention.
"""
import contextlib
import os
import sqlite3
import time

from bench import BenchError, Figure, Turns
from collector import Collector, until

FEW, MANY, MANY_QUICK = 10, 10_000, 1_000
NEWEST = 5
# A few milliseconds each, half as long again where the machine was idle for a while: so they are asked in turns
# while the collectors of both stores are up. How often:
ANSWERS, STATS = 21, 100
BLOCK = 4096
DAY_NS = 86400 * 10**9
# Owners of its sessions, beside the user that runs this.
STRANGERS = (72001, 72002, 72003)
MEMORY, CPU = "collector's memory", "processor time of a collector that did all that"


def runs_of(data):
    """[(offset, bytes)] of what is not zero."""
    runs = []
    for at in range(0, len(data), BLOCK):
        block = data[at:at + BLOCK]
        if block.count(0) == len(block):
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == at:
            runs[-1][1].extend(block)
        else:
            runs.append((at, bytearray(block)))
    return runs


class Store:
    """A folder of sessions with its index, and what is asked of it."""

    def __init__(self, bench, count):
        self.bench, self.count = bench, count
        self.home = bench.folder / f"history-{count}"
        # Where the CLI looks for what one's own collector left.
        self.folder = self.home / "rtl"
        self.rtl = bench.program("rtl", "bin")
        self.name = f"collector-{count}"
        self.env = bench.environment(XDG_STATE_HOME=self.home, RTL_SOCKET=bench.folder / f"{self.name}.sock")
        self.folder.mkdir(parents=True, mode=0o700)
        self.make()

    def collector(self, *options, **more):
        return Collector(self.bench, "--private", "--db-dir", self.folder, *options, name=self.name, **more)

    def index(self):
        return contextlib.closing(sqlite3.connect(self.folder / "index.db", timeout=60))

    def make(self):
        with self.collector() as collector:
            self.bench.run(self.bench.program("synthetic-shim"), "--socket", collector.socket, "--rank", "0",
                           "-n", "500", env=self.bench.environment(RTL_JOB_ID="history"))
            until(lambda: self.closed() == 1, "the session is not closed")
            collector.stop()
        with self.index() as db:
            db.row_factory = sqlite3.Row
            first = dict(db.execute("SELECT * FROM session").fetchone())
            with open(first["database"], "rb") as file:
                data = file.read()
            name = first["name"].encode()
            self.digits = len(name)
            runs = runs_of(data)
            places = {(at, inner) for at, run in runs for inner in range(len(run)) if run.startswith(name, inner)}
            rows = [self.copy(first, len(data), runs, places, i) for i in range(self.count - 1)]
            marks = ", ".join("?" * len(first))
            db.executemany(f"INSERT INTO session ({', '.join(first)}) VALUES ({marks})", rows)
            db.commit()
        # What was copied is a session, and its books are those of the first.
        self.bench.identity(self.path_of(0))

    def path_of(self, i):
        uid = (os.getuid(), *STRANGERS)[i % (1 + len(STRANGERS))]
        return self.folder / str(uid) / f"{i:0{self.digits}d}.db"

    def copy(self, first, size, runs, places, i):
        """Its row; the older the smaller @i."""
        path = self.path_of(i)
        if i <= len(STRANGERS):
            path.parent.mkdir(mode=0o700, exist_ok=True)
        name = path.stem.encode()
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.ftruncate(fd, size)
        for at, run in runs:
            for inner in (inner for other, inner in places if other == at):
                run[inner:inner + len(name)] = name
            os.pwrite(fd, run, at)
        os.close(fd)
        # What the index says of the first one's file holds of this one.
        os.utime(path, ns=(first["changed_ns"], first["changed_ns"]))
        age_ns = (self.count - i) * 10**9
        return tuple({**first, "database": str(path), "name": path.stem, "uid": int(path.parent.name),
                      "tenant": int(path.parent.name),
                      "job": f"job {i}", "start_realtime_ns": first["start_realtime_ns"] - age_ns,
                      "end_realtime_ns": first["end_realtime_ns"] - age_ns}.values())

    def closed(self):
        with self.index() as db:
            return db.execute("SELECT count(end_realtime_ns) FROM session").fetchone()[0]

    # ---- what is asked ---------------------------------------------------------------------------------

    def ask(self, *words):
        """ms of one command."""
        begin = time.monotonic()
        self.said = self.bench.run(self.rtl, *words, env=self.env)
        return (time.monotonic() - begin) * 1e3

    def life(self):
        """One life of a collector of it: {what: ms}, and its memory."""
        said, begin = {}, time.monotonic()
        with self.collector(poll_s=0.001) as collector:
            self.ask("stat", "-n", "1")
            said["collector, from its start to its first answer"] = (time.monotonic() - begin) * 1e3
            said[f"rtl ls -n {NEWEST}"] = self.ask("ls", "--csv", "-n", NEWEST)
            if self.said.count("\n") != 1 + NEWEST:
                raise BenchError(f"rtl ls -n {NEWEST} listed {self.said.count(chr(10)) - 1}")
            said[MEMORY] = collector.peak_mib()
            collector.stop()
        said[CPU] = collector.cpu * 1e3
        return said

    def list(self):
        """ms for each session."""
        took = self.ask("ls", "--csv")
        listed, there = self.said.count("\n") - 1, self.closed()
        if listed != there:
            raise BenchError(f"rtl ls listed {listed} of {there}")
        return took / listed

    def retire(self, count):
        """CPU ms of a collector that finds @count sessions too old, and removes them."""
        with self.index() as db:
            db.execute("UPDATE session SET end_realtime_ns = end_realtime_ns - ? WHERE database IN (SELECT "
                       "database FROM session ORDER BY end_realtime_ns LIMIT ?)", (9 * DAY_NS, count))
            db.commit()
        left = self.closed() - count
        with self.collector("--keep-days=7") as collector:
            until(lambda: self.closed() <= left, f"{count} sessions are not removed")
            collector.stop()
        there = sum(1 for _ in self.folder.glob("*/*.db"))
        if (self.closed(), there) != (left, left):
            raise BenchError(f"{self.closed()} sessions and {there} files are left, not {left}")
        return collector.cpu * 1e3


def compared(name, unit, few, many, counts, goal="", note=""):
    ratio = many.over(few)
    return Figure(f"history of {counts[1]:,}: {name}", many.median, unit, ratio.low, ratio.high,
                  f"history of {counts[0]:,}", few.median, ratio.median, goal, note=note)


def lives(bench, stores, counts):
    said = {store: [] for store in stores}

    def live(store):
        said[store].append(store.life())
        return said[store][-1][CPU]
    bench.interleaved({f"{CPU}, {store.count}": lambda store=store: live(store) for store in stores})
    for name in said[stores[0]][0]:
        # The first turn warms up.
        few, many = (Turns([one[name] for one in said[store][1:]]) for store in stores)
        bench.samples.update({f"{name}, {store.count}": turns.samples for store, turns in zip(stores, (few, many))})
        yield compared(name, "MiB" if name == MEMORY else "ms", few, many, counts)


def answers(bench, stores, counts):
    """What is asked of a collector that is up."""
    asked = {
        "rtl stat": (STATS, lambda store: ("stat", "-n", "1")),
        "rtl run true: a session opened and closed": (ANSWERS, lambda store: (
            "run", "-q", "--socket", store.env["RTL_SOCKET"], "true")),
        "rtl summary NAME, the oldest": (ANSWERS, lambda store: ("summary", store.path_of(0).stem)),
    }
    with contextlib.ExitStack() as stack:
        collectors = [stack.enter_context(store.collector()) for store in stores]
        for name, (times, words) in asked.items():
            turns = bench.interleaved({f"{name}, {store.count}": lambda store=store, words=words: store.ask(
                *words(store)) for store in stores}, times)
            few, many = turns.values()
            yield compared(name, "ms", few, many, counts, bench.timed("<= 1.2"))
        for collector in collectors:
            collector.stop()


def measure(bench):
    counts = (FEW, MANY_QUICK if bench.quick else MANY)
    stores = [Store(bench, count) for count in counts]
    yield from answers(bench, stores, counts)
    yield from lives(bench, stores, counts)
    few, many = (Turns([store.list()]) for store in stores)
    yield compared("rtl ls, all", "ms a session", few, many, counts, bench.timed("<= 1.5"))
    few, many = (Turns([store.retire(1)]) for store in stores)
    yield compared("retention, one goes, processor time", "ms", few, many, counts)
    few, many = (Turns([store.retire(count // 2) / (count // 2)]) for store, count in zip(stores, counts))
    yield compared("retention, half goes, processor time", "ms a session", few, many, counts,
                   bench.timed("<= 1.5"))
