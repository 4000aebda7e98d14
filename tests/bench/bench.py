# SPDX-License-Identifier: MIT
"""What a figure is, and what measuring one needs: turns, instructions, the peer, the identity."""
import contextlib
import dataclasses
import json
import operator
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# A command of a figure that takes longer than this hangs.
COMMAND_S = 1800
GOAL = re.compile(r"(<=|>=|<|>|=)\s*([0-9.]+(?:e[+-]?[0-9]+)?)")
COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
           "=": operator.eq}


class BenchError(Exception):
    """Why a figure could not be measured, in one line."""


class PeerError(BenchError):
    """The peer fails: its figures are missing, ours are not."""


def reaches(goal, value):
    """Whether @value is as @goal ("<= 0.25", "= 0") wants it."""
    match = GOAL.match(goal)
    if not match:
        raise BenchError(f"a goal is like '<= 0.25', not {goal!r}")
    return COMPARE[match[1]](value, float(match[2]))


@dataclasses.dataclass
class Figure:
    """One line of the table. The goal judges the ratio where there is one, else the value.

    low and high are the quartiles of what the goal judges. met is None where nothing is to be judged:
    no goal, nothing to compare with, or a note that begins with "needs " or "not judged: ".
    """
    name: str
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    baseline: str = ""
    baseline_value: float | None = None
    ratio: float | None = None
    goal: str = ""
    stretch: str = ""
    met: bool | None = None
    note: str = ""

    def __post_init__(self):
        judged = self.value if self.ratio is None else self.ratio
        if self.goal and self.met is None and judged is not None and not self.is_unjudged():
            self.met = reaches(self.goal, judged)
        too = f"stretch {self.stretch} too"  # there already where it comes from a file
        if self.met and self.stretch and too not in self.note and reaches(self.stretch, judged):
            self.note = "; ".join(filter(None, [self.note, too]))

    def is_unjudged(self):
        return self.note.startswith(("needs ", "not judged: "))


@dataclasses.dataclass
class Turns:
    """What interleaved() measured of one variant, in the order of the turns."""
    samples: list

    @property
    def median(self):
        return statistics.median(self.samples)

    def quartile(self, which):
        if len(self.samples) < 2:
            return self.samples[0]
        return statistics.quantiles(self.samples, n=4, method="inclusive")[which]

    @property
    def low(self):
        return self.quartile(0)

    @property
    def high(self):
        return self.quartile(2)

    @property
    def spread(self):
        return self.high - self.low

    def over(self, other):
        """Of each turn, this to @other: so that a load that comes and goes is in both."""
        return Turns([a / b for a, b in zip(self.samples, other.samples, strict=True)])

    def times(self, factor):
        return Turns([a * factor for a in self.samples])

    def minus(self, other):
        return Turns([a - b for a, b in zip(self.samples, other.samples, strict=True)])


def compare_added(name, unit, ours, peer, goals, note=""):
    """The Figure of what we add to what @peer, a (name, Turns), adds: differences from a baseline, by turns.

    A difference that is not above 0 is the machine's, not a tool's: a ratio with one says nothing, or, by
    its sign, that any goal is met. goals: (goal, stretch).
    """
    what, theirs = peer
    figure = Figure(name, ours.median, unit, baseline=what, baseline_value=theirs.median, note=note)
    below = sum(a <= 0 or b <= 0 for a, b in zip(ours.samples, theirs.samples, strict=True))
    if below:
        reason = f"not judged: in {below} of {len(ours.samples)} turns one adds nothing"
        return dataclasses.replace(figure, goal=goals[0], note="; ".join(filter(None, [reason, note])))
    ratio = ours.over(theirs)
    return dataclasses.replace(figure, low=ratio.low, high=ratio.high, ratio=ratio.median, goal=goals[0],
                               stretch=goals[1])


@contextlib.contextmanager
def session(command, **more):
    """@command as the first of a session of its own: all of it is killed where something is raised here."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **more)
    try:
        yield process
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        process.wait()
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()


class Bench:
    """What a measure() is given.

    build: the build directory. peer: rocm-trace-lite's, or None. quick: sizes that finish soon; what
    is not exact says so then. runs: turns of what is timed. folder: scratch of this figure. is_soft: on
    the software GPU; else on the GPU that the programs find by themselves.
    """

    def __init__(self, build, peer=None, quick=False, runs=7, is_soft=True):
        self.build = pathlib.Path(build).resolve()
        self.peer = pathlib.Path(peer).resolve() if peer else None
        self.quick, self.runs, self.is_soft = quick, runs, is_soft
        self.samples = {}  # of the figure module that runs now
        self.folder = None

    @contextlib.contextmanager
    def scratch(self):
        """A folder for one figure module, and its own place for sockets."""
        with tempfile.TemporaryDirectory(prefix="rtl-bench-", ignore_cleanup_errors=True) as folder:
            self.folder, self.samples = pathlib.Path(folder), {}
            try:
                yield self.folder
            finally:
                self.folder = None

    def environment(self, **more):
        """Ours, without what an outer session has set; @more: None removes."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("RTL_", "SOFTGPU_"))}
        env.pop("HSA_TOOLS_LIB", None)
        env.update(XDG_RUNTIME_DIR=str(self.folder), XDG_STATE_HOME=str(self.folder))
        if self.is_soft:
            env["LD_LIBRARY_PATH"] = str(self.build / "lib/softgpu")
        for name, value in more.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = str(value)
        return env

    def run(self, *command, env=None, status=0, seconds=COMMAND_S, **more):
        """Runs @command; what it prints. BenchError where its status is another, or after @seconds, when
        all that it started in its session is killed."""
        command = [str(word) for word in command]
        what = pathlib.Path(command[0]).name
        try:
            with session(command, env=env or self.environment(), text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, **more) as process:
                out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"{what}: still running after {seconds} s") from error
        except OSError as error:
            raise BenchError(f"{what}: {error}") from error
        if process.returncode != status:
            said = (err.strip() or out.strip() or "nothing said").splitlines()[-1]
            raise BenchError(f"{what}: status {process.returncode}: {said}")
        return out

    def program(self, name, folder="tests-bin"):
        path = self.build / folder / name
        if not path.exists():
            raise BenchError(f"{path} is not built")
        return path

    def peer_file(self, name="librtl.so"):
        """A file of rocm-trace-lite's tree. Only where self.peer is set."""
        path = self.peer / name
        if not path.exists():
            raise BenchError(f"--peer: no {name} in {self.peer}; build rocm-trace-lite there first")
        return path

    def interleaved(self, variants, runs=None):
        """Each of @variants (name -> callable that returns a number) @runs times, in turns.

        The order within a turn is drawn anew, by a seed that is always the same: no
        variant always comes after the same other one. The first turn warms up and does not count. A variant with
        PeerError is not in what is returned.
        """
        order, draw = list(variants), random.Random(1)
        turns = {name: [] for name in variants}
        for turn in range((runs or self.runs) + 1):
            draw.shuffle(order)
            for name in list(order):
                try:
                    value = variants[name]()
                except PeerError:
                    order.remove(name)
                    del turns[name]
                    continue
                if turn:
                    turns[name].append(value)
        self.samples.update(turns)
        return {name: Turns(samples) for name, samples in turns.items()}

    def callgrind(self, command, functions=(), env=None, under=()):
        """Instructions of @command: of all of it, or within @functions and what they call.

        @under: words in front of valgrind's, such as those of rtl run.
        """
        if not shutil.which("valgrind"):
            raise BenchError("valgrind is not installed")
        profile = self.folder / "callgrind.out"
        self.run(*under, "valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}",
                 *[f"--toggle-collect={name}" for name in functions], *command, env=env)
        text = profile.read_text()
        # One that is not there, renamed or inlined, would be free.
        for name in functions:
            if not re.search(rf"^c?fn=\(\d+\) {re.escape(name)}(?:'\d+)?$", text, re.M):
                raise BenchError(f"callgrind saw no {name}")
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
        if not total:
            raise BenchError("callgrind's profile has no total")
        return int(total[1])

    def calls(self, function):
        """How often @function, of whatever version of its library, was called in callgrind()'s last run."""
        ids, callee, calls = {}, None, 0
        for line in (self.folder / "callgrind.out").read_text().splitlines():
            found = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
            if found:
                ids.setdefault(found[2], found[3])
                callee = ids[found[2]] if found[1] == "cfn" else None
            elif line.startswith("calls=") and callee and callee.split("@")[0].split("'")[0] == function:
                calls += int(line[len("calls="):].split()[0])
        return calls

    def slope(self, cost, few, many):
        """What one more costs: cost(n) at two sizes. What comes once is in neither."""
        low, high = cost(few), cost(many)
        self.samples.setdefault("slopes", []).append({"n": [few, many], "cost": [low, high]})
        return (high - low) / (many - few)

    def identity(self, db):
        """The accounting identity of a closed database, by 'rtl info'. What rtl info says."""
        info = json.loads(self.run(self.build / "bin/rtl", "info", "--json", db))
        right = {what: info[what] for what in
                 ("skipped", "stored", "outstanding", "dropped", "torn", "pending")}
        if info["dispatched"] != sum(right.values()):
            raise BenchError(f"{db}: dispatched {info['dispatched']} is not the sum of {right}")
        if info["pending"] and not info["live"]:
            raise BenchError(f"{db}: closed with {info['pending']} pending")
        for process in info["counters"]:
            if not process["balanced"]:
                raise BenchError(f"{db}: the counters of process {process['pid']} do not add up")
        return info

    def timed(self, goal):
        """@goal of a time: small sizes and a few turns judge none."""
        return "" if self.quick else goal

    def needs_peer(self, name, unit, goal):
        """In place of a figure that compares with rocm-trace-lite, without one."""
        return Figure(name, None, unit, baseline="rocm-trace-lite", goal=goal, note="needs --peer")


def machine():
    """What the figures hold for, and what else ran."""
    cpu = "unknown"
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": os.uname().release,
            "load": list(os.getloadavg())}


def commit():
    """The tree's, with + where it has changes; None outside of git."""
    def git(*words):
        return subprocess.run(["git", "-C", SOURCE, *words], capture_output=True, text=True,
                              check=False)
    if not shutil.which("git") or git("rev-parse", "HEAD").returncode:
        return None
    dirty = git("status", "--porcelain", "--untracked-files=no").stdout
    return git("rev-parse", "HEAD").stdout.strip() + ("+" if dirty else "")


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
