# SPDX-License-Identifier: MIT
"""Tools on the runtime without ROCr: tests/bench/runtime/hook_cost.c, run in the ways that figures compare."""
import dataclasses
import json
import math
import re

from bench import COMMAND_S, BenchError
from tools import PEER_S, PEER_TRIES

DATABASE = "hook.db"
SHIM = "librtl-shim.so"
PACKETS = 1024
# Batches that hook_cost runs before those that it measures.
WARM_UP = 16
# The threads' functions: all that a tool does in the background.
WORKERS = {"shadow": "worker_entry", "peer": "hsa_intercept::completion_worker()"}
# hook_cost's, of the best probe; of a run's batches, so many; else it is run again, so often.
ALONE, ALONE_SHARE, ALONE_TRIES = 1.1, 0.2, 5
SYSCALL = re.compile(r"^(\d+)\s+(\w+)\(.*\)\s+= (-?\d+)")


def alone_note(runs, batches):
    """What part of the batches is in the times."""
    if any(run["alone"] < batches * ALONE_SHARE for run in runs):
        return "not judged: other threads use the cores, run after run"
    return f"alone on its core in {sum(run['alone'] for run in runs) / (batches * len(runs)):.0%} of the batches"


@dataclasses.dataclass
class Way:
    """What a program is run with. mode: of rtl run, None: no rtl run; tool: what HSA_TOOLS_LIB names."""
    mode: tuple | None = None
    tool: object = None
    more: dict = dataclasses.field(default_factory=dict)


class Hooks:
    """The ways to run it, by name."""

    def __init__(self, bench):
        self.bench = bench
        self.program = bench.program("hook-cost")
        self.probe_ns = math.inf
        self.read_clock = {}
        libraries = bench.build / "lib/synth"
        twin = libraries / "librtl_twin.so"
        nowhere = {"RTL_SOCKET": bench.folder / "nowhere"}
        intercept = {"RTL_FRONT_END": "intercept-unsafe"}
        self.ways = {
            "none": Way(),
            "shadow": Way(("--mode=standard",)),
            "intercept": Way(("--mode=standard",), more=intercept),
            "shadow twin": Way(tool=twin, more=nowhere),
            "intercept twin": Way(tool=twin, more=nowhere | intercept),
            "empty intercept": Way(tool=bench.program("empty-queue.so")),
            "off": Way(("--mode=off",)),
            "dormant": Way(("--dormant",)),
        }
        if bench.peer:
            self.ways["peer"] = Way(tool=bench.peer_file(), more={
                "RTL_MODE": "standard", "RTL_OUTPUT": bench.folder / "peer.db"})

    def _start(self, name):
        """The words in front of the program's, its environment, and its database or None."""
        way, bench = self.ways[name], self.bench
        # The program brings its runtime; nothing of it is on the software GPU.
        env = bench.environment(LD_LIBRARY_PATH=None, HSA_TOOLS_LIB=way.tool, **way.more)
        for stale in bench.folder.glob("peer.db*"):
            stale.unlink()
        if way.mode is None:
            return [], env, None
        db = bench.folder / DATABASE
        return [bench.build / "bin/rtl", "run", "-q", "-f", "-o", db, *way.mode, "--"], env, db

    def _check(self, name, db, dispatches):
        """That what is measured was done: a run that recorded nothing would be cheap."""
        if name in ("shadow", "intercept"):
            info = self.bench.identity(db)
            if info["stored"] != dispatches:
                raise BenchError(f"{name}: {info['stored']} of {dispatches} stored")
        if name == "dormant":
            info = self.bench.identity(db)
            if info["skipped"] != dispatches:
                raise BenchError(f"dormant: {info['skipped']} of {dispatches} skipped")

    def run(self, name, batches, tracer=(), words=()):
        """What hook_cost prints, from @batches of PACKETS. words: more of hook_cost's."""
        for left in reversed(range(PEER_TRIES if name == "peer" else 1)):
            try:
                return self._run(name, batches, tracer, words)
            except BenchError as error:
                # It waits for its own thread, now and then for ever.
                if not left:
                    raise
                self.bench.samples.setdefault("peer failed", []).append(str(error))

    def _run(self, name, batches, tracer, words):
        under, env, db = self._start(name)
        said = json.loads(self.bench.run(*under, *tracer, self.program, batches, PACKETS, *words, env=env,
                                         seconds=PEER_S if name == "peer" else COMMAND_S))
        dispatches = (batches + WARM_UP) * PACKETS
        self._check(name, db, dispatches)
        timed = dispatches if name in ("shadow", "intercept", "peer") else 0
        if said["timed"] != timed:
            raise BenchError(f"{name}: {said['timed']} of the kernels had a signal, not {timed}")
        return said

    def run_alone(self, name, batches):
        """As run(), paced, and again where in most batches a neighbour used the core: another program, or
        another guest of the host, which takes what is measured from 18 ns to 30 (docs/performance.md)."""
        for _ in range(ALONE_TRIES):
            said = self.run(name, batches, words=("paced",))
            self.probe_ns = min(self.probe_ns, said["probe_ns"])
            # Of a run that had one all along, the best batch is beside it too.
            if said["probe_ns"] > ALONE * self.probe_ns:
                said["alone"] = 0
            if said["alone"] >= batches * ALONE_SHARE:
                break
        return said

    def instructions(self, name, with_thread=False, words=()):
        """Per dispatch: of the submitting thread, or of all the tool's threads too. words: more of hook_cost's.

        Our thread makes some thousand signals, once, and the runtime's allocator takes for them what it takes, a
        few million instructions more or less: over so many dispatches more that is not seen. What the longer run read
        of the clock is kept for clock_readings().
        """
        def cost(batches):
            under, env, db = self._start(name)
            functions = ["submit_batch"]
            if with_thread and name in WORKERS:
                functions.append(WORKERS[name])
            total = self.bench.callgrind([self.program, batches, PACKETS, *words], functions, env, under)
            dispatches = (batches + WARM_UP) * PACKETS
            self._check(name, db, dispatches)
            self.read_clock[name] = self.bench.calls("clock_gettime") / dispatches
            return total
        few, many = (4, 20) if self.bench.quick else (8, 72)
        if with_thread and name == "shadow":
            few, many = (10, 110) if self.bench.quick else (20, 220)
        return self.bench.slope(cost, few, many) / PACKETS

    def clock_readings(self, name):
        """Per dispatch, of the submitting thread, in what instructions() has run of @name last: callgrind has no vDSO,
        so that each is a call."""
        return self.read_clock[name]

    def _traced(self, name, batches, calls):
        """The system calls of one run, (thread, name, result), and the id of the submitting one."""
        log = self.bench.folder / "strace"
        self.run(name, batches, ("strace", "-f", "-qq", "-e", f"trace={calls}", "-e", "signal=none",
                                 "-o", log))
        lines = log.read_text().splitlines()
        # One call can lie in two lines; only what others do meanwhile comes between.
        open_calls, found = {}, []
        for line in lines:
            thread, _, rest = line.partition(" ")
            rest = rest.strip()
            if rest.endswith("<unfinished ...>"):
                open_calls[thread] = rest.removesuffix("<unfinished ...>")
                found.append([thread, rest.split("(")[0], None])
                continue
            resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
            if resumed:
                rest = open_calls.pop(thread, "") + resumed[1]
                at = next(i for i in range(len(found) - 1, -1, -1)
                          if found[i][0] == thread and found[i][2] is None)
                match = SYSCALL.match(f"{thread} {rest}")
                found[at][2] = int(match[3]) if match else -1
                continue
            match = SYSCALL.match(f"{thread} {rest}")
            if match:
                found.append([thread, match[2], int(match[3])])
        return found

    def system_calls(self, name, batches=5):
        """By name, those that the submitting thread made while it submitted, per dispatch."""
        calls, inside, thread = {}, False, None
        for tid, what, _ in self._traced(name, batches, "all"):
            if what == "getppid":
                thread, inside = tid, not inside
            elif inside and tid == thread:
                calls[what] = calls.get(what, 0) + 1
        if thread is None:
            raise BenchError("strace saw no thread submit")
        return {what: n / ((batches + WARM_UP) * PACKETS) for what, n in calls.items()}

    def sent(self, name, batches):
        """Bytes that went into sockets: no frame came to the collector by another way, the recorder's."""
        sent = sum(result for _, _, result in
                   self._traced(name, batches, "sendto,sendmsg,writev") if result and result > 0)
        info = self.bench.identity(self.bench.folder / DATABASE)
        process, counters = info["processes"][0], info["counters"][0]["counters"]
        published = counters["bytes_published"]
        if sent < published or counters["connects"] != 1 or process["hw_frame"] != counters["frames_published"] \
                or process["duplicate_frames"]:
            raise BenchError(f"{sent} bytes went over the socket of {published} in {counters['frames_published']} "
                             f"frames; {counters['connects']} connections")
        return sent
