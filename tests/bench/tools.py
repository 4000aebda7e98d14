# SPDX-License-Identifier: MIT
"""A program without a tool, under rtl in its front ends and modes, under an empty tool and the peer."""
import contextlib
import ctypes
import os
import resource
import subprocess
import time

from bench import BenchError

PR_SET_CHILD_SUBREAPER = 36
# The peer hangs at its end now and then (a wake-up is lost), and where a signal is on every packet it
# aborts some runs: such a run is done again, and the samples say how often.
PEER_S, PEER_TRIES = 120, 5

# What rtl is told by each variant of it.
OURS = {
    "shadow": {"RTL_FRONT_END": "shadow"},
    # On ROCm 5.2 to 5.7 it is refused for what a flood does to the runtime. These programs never
    # have more outstanding than their queue holds.
    "intercept": {"RTL_FRONT_END": "intercept-unsafe"},
    "dormant": {"RTL_FRONT_END": "shadow", "RTL_DORMANT": "1"},
    "off": {"RTL_MODE": "off"},
}
PEER = {"lite": "lite", "standard": "standard"}
NAMES = {"none": "no tool", "empty": "empty intercept queue", "lite": "rocm-trace-lite lite",
         "standard": "rocm-trace-lite standard"}


def name(variant):
    return NAMES.get(variant, f"rtl {variant}")


def processor_s():
    """CPU of all that were started and have ended. The collector is nobody's child but ours."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Tools:
    """Runs a command under a variant, and checks what rtl says of it.

    is_strict: what was not timed is no figure either.
    """

    def __init__(self, bench, is_strict=True, **env):
        self.bench, self.is_strict, self.env = bench, is_strict, env
        self.rtl = bench.program("rtl", "bin")
        self.empty = bench.program("empty-queue.so")
        self.peer = bench.peer and bench.peer_file()
        self.has_peer = bool(bench.peer)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def run(self, variant, *command, dispatches=None):
        """What @command prints, and the seconds that it took under @variant, start and end of the tool
        included. dispatches: how many of them rtl has to know."""
        said, took = self._run(variant, command)
        if variant in ("shadow", "intercept"):
            self._check(dispatches)
        return said, took

    def cost(self, variant, *command, dispatches=None):
        """(wall, CPU of all its processes), both in s. The peer's runs that failed are in its CPU."""
        begin = processor_s()
        _, took = self._run(variant, command)
        spent = processor_s() - begin
        if variant in ("shadow", "intercept"):
            self._check(dispatches)
        return took, spent

    def _run(self, variant, command):
        begin = time.monotonic()
        if variant in OURS:
            said = self._ours(variant, command)
        elif variant in PEER:
            return self._peer(variant, command)
        else:
            tool = {"HSA_TOOLS_LIB": self.empty} if variant == "empty" else {}
            said = self.bench.run(*command, env=self.bench.environment(**self.env, **tool))
        return said, time.monotonic() - begin

    @property
    def database(self):
        return self.bench.folder / "run.db"

    def _ours(self, variant, command):
        env = self.bench.environment(**self.env, **OURS[variant])
        strict = ["--strict"] if self.is_strict and variant in ("shadow", "intercept") else []
        return self.bench.run(self.rtl, "run", "-q", "-f", *strict, "-o", self.database, "--", *command,
                              env=env)

    def _check(self, dispatches):
        info = self.bench.identity(self.database)
        if info["dispatched"] and info["simulated"] != self.bench.is_soft:
            raise BenchError(f"on {'a software' if info['simulated'] else 'a real'} GPU: see --device")
        if dispatches is not None and info["dispatched"] != dispatches:
            raise BenchError(f"{dispatches} dispatches, and rtl knows {info['dispatched']}")

    def _peer(self, variant, command):
        env = self.bench.environment(**self.env, HSA_TOOLS_LIB=self.peer, RTL_MODE=PEER[variant],
                                     RTL_OUTPUT=self.bench.folder / "peer_%p.db")
        for _ in range(PEER_TRIES):
            for old in self.bench.folder.glob("peer_*"):
                old.unlink()
            begin = time.monotonic()
            process = subprocess.Popen([str(word) for word in command], env=env, text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                said, _ = process.communicate(timeout=PEER_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.communicate()
                self._peer_failed(variant, "hung")
                continue
            took = time.monotonic() - begin
            if process.returncode:
                self._peer_failed(variant, f"status {process.returncode}")
                continue
            if not list(self.bench.folder.glob("peer_*.db")):
                raise BenchError(f"{name(variant)} was not loaded: it wrote no database")
            return said, took
        raise BenchError(f"{name(variant)} failed {PEER_TRIES} times: {self.bench.samples['peer failed'][-1]}")

    def _peer_failed(self, variant, how):
        self.bench.samples.setdefault("peer failed", []).append(f"{variant}: {how}")
