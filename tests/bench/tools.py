# SPDX-License-Identifier: MIT
"""A program without a tool, under rtl in its front ends and modes, under an empty tool and the peer."""
import contextlib
import ctypes
import os
import resource
import sqlite3
import subprocess
import sys
import time

from bench import BenchError, Figure, PeerError

PR_SET_CHILD_SUBREAPER = 36
# The peer hangs at its end now and then (a wake-up is lost), and where a signal is on every packet it
# aborts some runs: such a run is done again, and the samples say how often.
PEER_S, PEER_QUICK_S, PEER_TRIES = 120, 10, 5
# What a run leaves behind (the collector) ends by itself within this.
LEFT_S = 120

# What rtl is told by each variant of it.
OURS = {
    "shadow": {"RTL_FRONT_END": "shadow"},
    # On ROCm 5.2 to 5.7 it is refused for what a flood does to the runtime. These programs never
    # have more outstanding than their queue holds.
    "intercept": {"RTL_FRONT_END": "intercept-unsafe"},
    "dormant": {"RTL_FRONT_END": "shadow", "RTL_DORMANT": "1"},
    "off": {"RTL_MODE": "off"},
}
# What one round of dispatch-cost submits.
BURST = 8192
PEER = {"lite": "lite", "standard": "standard"}
NAMES = {"none": "no tool", "empty": "empty intercept queue", "lite": "rocm-trace-lite lite",
         "standard": "rocm-trace-lite standard", "merged": "rocm-trace-lite standard and its merge"}
MERGE = """
import sys, time
sys.path.insert(0, sys.argv[1])
from rocm_trace_lite import cmd_trace
begin = time.monotonic()
cmd_trace._merge_traces(sys.argv[3:], sys.argv[2])
print(time.monotonic() - begin)
"""


def name(variant):
    return NAMES.get(variant, f"rtl {variant}")


def processor_s():
    """Processor time of all children that have ended. The collector is a child of this process only."""
    deadline = time.monotonic() + LEFT_S
    with contextlib.suppress(ChildProcessError):
        while True:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                if time.monotonic() > deadline:
                    raise BenchError(f"a process that a run left behind is still there after {LEFT_S} s")
                time.sleep(0.005)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Tools:
    """Runs a command under a variant, and checks what rtl says of it.

    is_strict: what was not timed is no figure either. covered: of the peer's modes, the least part of the
    dispatches that it has a row of; failed: why it has no figure.
    """

    def __init__(self, bench, is_strict=True, **env):
        self.bench, self.is_strict, self.env = bench, is_strict, env
        self.rtl = bench.program("rtl", "bin")
        self.empty = bench.program("empty-queue.so")
        self.peer = bench.peer and bench.peer_file()
        self.has_peer = bool(bench.peer)
        self.covered, self.failed = {}, {}
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def run(self, variant, *command, dispatches=None):
        """What @command prints, and the seconds that it took under @variant, start and end of the tool
        included. dispatches: how many of them rtl has to know."""
        said, took, _ = self._run(variant, command, dispatches)
        return said, took

    def cost(self, variant, *command, dispatches=None):
        """(wall, CPU of all its processes), both in s."""
        _, took, spent = self._run(variant, command, dispatches)
        return took, spent

    def _run(self, variant, command, dispatches):
        if variant in PEER:
            return self._peer(variant, command, dispatches)
        # As of the peer's: to remove what the turn before has left is no part of this one.
        self.database.unlink(missing_ok=True)
        begun, begin = processor_s(), time.monotonic()
        if variant in OURS:
            said = self._ours(variant, command)
        else:
            tool = {"HSA_TOOLS_LIB": self.empty} if variant == "empty" else {}
            said = self.bench.run(*command, env=self.bench.environment(**self.env, **tool))
        took = time.monotonic() - begin
        spent = processor_s() - begun
        if variant in OURS:
            self._check(variant, dispatches)
        return said, took, spent

    @property
    def database(self):
        return self.bench.folder / "run.db"

    def _ours(self, variant, command):
        env = self.bench.environment(**self.env, **OURS[variant])
        strict = ["--strict"] if self.is_strict and variant in ("shadow", "intercept") else []
        return self.bench.run(self.rtl, "run", "-q", "-f", *strict, "-o", self.database, "--", *command,
                              env=env)

    def _check(self, variant, dispatches):
        """That @variant did what its name says: 0 = 0 balances, too."""
        info = self.bench.identity(self.database)
        if info["dispatched"] and info["simulated"] != self.bench.is_soft:
            raise BenchError(f"on {'a software' if info['simulated'] else 'a real'} GPU: see --device")
        if dispatches is None:
            return
        stored, skipped = {"off": (0, 0), "dormant": (0, dispatches)}.get(variant, (dispatches, 0))
        want = {"dispatched": stored + skipped, "stored": stored, "skipped": skipped, "dropped": 0, "torn": 0}
        wrong = {what: info[what] for what in want if info[what] != want[what]}
        if wrong:
            raise BenchError(f"{name(variant)}, {dispatches} dispatches, and rtl knows {wrong}")
        wanted = OURS[variant].get("RTL_FRONT_END", "").removesuffix("-unsafe")
        fronts = {process["front_end"] for process in info["processes"]}
        if fronts != ({wanted} if wanted else set()):
            raise BenchError(f"{name(variant)}: its front end is {', '.join(map(str, fronts)) or 'none'}")

    def _peer(self, variant, command, dispatches):
        """As _run(), of the try that did not fail."""
        env = self.bench.environment(**self.env, HSA_TOOLS_LIB=self.peer, RTL_MODE=PEER[variant],
                                     RTL_OUTPUT=self.bench.folder / "peer_%p.db")
        for _ in range(PEER_TRIES):
            for old in self.bench.folder.glob("peer_*"):
                old.unlink()
            begun, begin = processor_s(), time.monotonic()
            try:
                said = self.bench.run(*command, env=env,
                                      seconds=PEER_QUICK_S if self.bench.quick else PEER_S)
            except BenchError as error:
                self.bench.samples.setdefault("peer failed", []).append(f"{variant}: {error}")
                continue
            took = time.monotonic() - begin
            spent = processor_s() - begun
            self._check_peer(variant, dispatches)
            return said, took, spent
        self.failed[variant] = f"failed {PEER_TRIES} times: {self.bench.samples['peer failed'][-1]}"
        raise PeerError(f"{name(variant)} {self.failed[variant]}")

    def merge_peer(self):
        """Seconds in which it makes one file of those of its last run, its own Python's start left out."""
        made, paths = self.bench.folder / "merged.db", sorted(self.bench.folder.glob("peer_*.db"))
        rows = sum(self._rows(path) for path in paths)
        made.unlink(missing_ok=True)
        took = float(self.bench.run(sys.executable, "-c", MERGE, self.bench.peer, made, *paths).split()[-1])
        if self._rows(made) != rows:
            raise BenchError(f"the peer merged {self._rows(made)} of {rows} rows")
        return took

    @staticmethod
    def _rows(path):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as db:
            return db.execute("SELECT count(*) FROM rocpd_op").fetchone()[0]

    def _check_peer(self, variant, dispatches):
        paths = list(self.bench.folder.glob("peer_*.db"))
        if not paths:
            raise BenchError(f"{name(variant)} was not loaded: it wrote no database")
        rows = sum(self._rows(path) for path in paths)
        self.bench.samples.setdefault("peer rows", []).append([variant, rows, dispatches])
        if dispatches:
            self.covered[variant] = min(self.covered.get(variant, 1), rows / dispatches)

    def missing(self, what, unit, variant):
        """In place of the figure of a peer that failed."""
        return Figure(what, None, unit, note=self.failed[variant])

    def coverage(self, variant):
        """A note: what the peer's figure is of."""
        return f"rows of {self.covered[variant]:.1%} of the dispatches" if variant in self.covered else ""
