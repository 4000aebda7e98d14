# SPDX-License-Identifier: MIT
"""One collector on one socket and one database, started as often as it is ended, and its ranks."""
import contextlib
import os
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

# A machine of CI may stand still for two minutes, as its kernel says (workqueue lockup).
DEADLINE_S = 900
# What takes longer than the fault itself and this is a stall of ours, even on such a machine.
STALL_S_MAX = 800
FOR_EVER = 100_000_000  # dispatches
LOOKS_OFTEN, SELDOM_S = 20, 0.1  # wait_for()


def fail(text):
    print("FAILED: " + text, flush=True)
    sys.exit(1)


def wait_for(what, condition, step_s=0.01):
    """Poll @condition until true; fails after the deadline. To look may start a program or read a database: what is
    not there after LOOKS_OFTEN looks is looked for less often, unless the caller wants it at once (@step_s)."""
    deadline, looks = time.monotonic() + DEADLINE_S, 0
    while not condition():
        if time.monotonic() > deadline:
            fail("gave up waiting for " + what)
        looks += 1
        if looks == LOOKS_OFTEN and step_s >= 0.01:
            step_s = max(step_s, SELDOM_S)
        time.sleep(step_s)  # the poll interval of a wait with a deadline


def is_long():
    return bool(os.environ.get("RTL_TEST_LONG"))


def prefix_for(folder):
    """What a collector that stores in @folder is started by, if anything: tests/hostile/sandbox.py."""
    prefix = shlex.split(os.environ.get("RTL_TEST_PREFIX", ""))
    return prefix and [*prefix, folder]


class Database:
    """What ranks wrote, at self.database."""

    reader = None  # a connection that stays open whatever happens to the collector

    def open(self, **how):
        """A connection for a with statement, at whose end it is closed: the garbage collector would
        let it hold up the collector's seal for any time."""
        return contextlib.closing(sqlite3.connect("file:%s?mode=ro" % self.database, uri=True,
                                                  timeout=30, **how))

    def sql(self, statement):
        with self.open() as db:
            return db.execute(statement).fetchall()

    def open_sql(self, statement):
        """As sql(), over the connection that stays open; only once there is a database."""
        if not self.reader:
            self.reader = sqlite3.connect("file:%s?mode=ro" % self.database, uri=True, timeout=30,
                                          check_same_thread=False)
        return self.reader.execute(statement).fetchall()

    def frames(self):
        """Committed so far, of all processes."""
        return self.open_sql("SELECT coalesce(sum(hw_frame), 0) FROM rtl_process")[0][0]

    def has(self, statement):
        """Whether it has a row; there may be no database yet."""
        try:
            return self.sql(statement) != []
        except sqlite3.Error:
            return False

    def has_rows(self, rank):
        return self.has("SELECT 1 FROM rtl_account JOIN rtl_process p ON p.id = process_id "
                        "WHERE rank = %d AND stored > 0 LIMIT 1" % rank)

    def drained(self, count):
        return self.has("""SELECT 1 FROM (SELECT count(*) AS n, sum(drained) AS d
            FROM rtl_process) WHERE n = %d AND d = %d""" % (count, count))

    def drained_rank(self, rank):
        return self.has("SELECT 1 FROM rtl_process WHERE rank = %d AND drained = 1" % rank)

    def ended(self, rank):
        """@rank is there, all have ended, drained or unknown, and the session is closed."""
        return self.has("""SELECT 1 WHERE (SELECT count(*) FROM rtl_process WHERE rank = %d) = 1
            AND NOT EXISTS (SELECT 1 FROM rtl_process WHERE ended IS NULL)
            AND NOT EXISTS (SELECT 1 FROM rtl_session WHERE end_ns IS NULL)""" % rank)


class Node(Database):
    def __init__(self, build, work):
        self.build, self.work = build, work
        self.socket = os.path.join(work, "c.sock")
        self.database = os.path.join(work, "all.db")
        self.log = open(os.path.join(work, "collector.log"), "ab")
        self.process = None
        self.options = []    # of the collector, beside where it stores
        self.manager = None  # the manager that keeps its descriptors
        self.shims = []

    # ---- the collector

    def start(self, program="collectord", env=None, options=()):
        options = [*self.options, *options]
        prefix = prefix_for(self.work)
        if self.manager:
            self.process = self.manager.start(
                [*prefix, self.program(program), "--db", self.database, *options], env or {},
                self.log, DEADLINE_S)
            return
        self.process = subprocess.Popen(
            [*prefix, self.program(program), "--socket", self.socket, "--db", self.database,
             *options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, **(env or {})})
        wait_for("the collector to listen", self.answers, 0.002)

    def program(self, name):
        if os.path.isabs(name):
            return name
        for folder in ("bin", "tests-bin"):
            path = os.path.join(self.build, folder, name)
            if os.path.exists(path):
                return path
        fail("no program %s in %s" % (name, self.build))
        return None

    def answers(self):
        if self.process.poll() is not None:
            return True  # died at once: the caller looks
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            try:
                s.connect(self.socket)
                return True
            except OSError:
                return False

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()

    def end(self, show):
        """Whatever came before: nothing of ours runs on. With @show, the log's last lines."""
        for process in self.shims + [self.process]:
            if process and process.poll() is None:
                process.kill()
                process.wait()
        if show:
            with open(self.log.name, "rb") as log:
                sys.stdout.write(log.read().decode(errors="replace")[-4000:])

    # ---- ranks

    def shim(self, rank, dispatches, rate, program="synthetic-shim", env=None, extra=()):
        shim = subprocess.Popen(
            [self.program(program), "--socket", self.socket, "--rank", str(rank),
             "--dispatches", str(dispatches), "--rate", str(rate), "--queues", "2", "--polite",
             *extra],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})})
        self.shims = [s for s in self.shims if s.poll() is None] + [shim]
        return shim


def reap(process):
    process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


def said(shim):
    """What a shim that came to its end says: {word: {name: number}}, kernels among them."""
    out, _ = shim.communicate(timeout=DEADLINE_S)
    if shim.returncode != 0:
        fail("a shim ended with %d" % shim.returncode)
    lines = {}
    for line in out.splitlines():
        word, *pairs = line.split()
        lines[word] = {name: int(value) for name, value in (pair.split("=") for pair in pairs)}
    if "dispatched" not in lines:
        fail("a shim did not say what it dispatched: %r" % out)
    return lines


def told(shim):
    return said(shim)["dispatched"]["kernels"]


def hears(process, number):
    """It has a handler for signal @number by now, or has ended."""
    try:
        with open("/proc/%d/status" % process.pid, encoding="ascii", errors="replace") as status:
            caught = [line.split()[1] for line in status if line.startswith("SigCgt:")]
    except OSError:
        return True
    return not caught or process.poll() is not None or int(caught[0], 16) >> (number - 1) & 1


def told_to_end(shims):
    """What they say after they were told to dispatch no more."""
    for shim in shims:
        # One that was just started would die of it.
        wait_for("a shim to have begun", lambda s=shim: hears(s, signal.SIGTERM))
        shim.terminate()
    return [said(shim) for shim in shims]


def quantiles(values):
    """"p50 A, p99 B, max C" of some seconds, in ms."""
    values = sorted(values)
    if not values:
        return "never"
    at = [values[int(part * (len(values) - 1) + 0.5)] for part in (0.5, 0.99, 1)]
    return "p50 %.0f ms, p99 %.0f ms, max %.0f ms" % tuple(1000 * v for v in at)


@contextlib.contextmanager
def node_of(build, job):
    """A node in a folder of its own, ended with the with statement; its ranks are of @job."""
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_RUNTIME_DIR"] = work
        os.environ["RTL_JOB_ID"] = job
        node = Node(build, work)
        try:
            yield node
        finally:
            node.end(sys.exc_info()[0])
