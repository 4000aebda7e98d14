#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kill the collector, ranks, or both under load, and let SQL decide.

usage: kills.py MODE --build DIR [--kills N] [--shims N] [--rate N] [--seed N]
  collector  SIGKILL collectord every 50-500 ms and start it again; synthetic shims (the real
             recorder, batch and connection code over a synthetic device) must lose nothing
  rank       SIGKILL synthetic shims in mid-flight, one after the other
  both       SIGKILL a shim and the collector at the same time; start the collector again
  kept       likewise with two shims, while a service manager keeps their recorders
  faults     SIGKILL at each fault point of docs/recorder.md section 7

After each kill of a rank, and at the end: the accounting identity, uniqueness of (process,
queue, sequence), and that what the shims say they dispatched is accounted for.
"""
import argparse
import os
import random
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

from manager import Manager

DEADLINE_S = 120

SHIM_POINTS = ["after_dispatched", "after_submitted", "after_done", "mid_label", "before_publish",
               "after_publish", "mid_free", "mid_send"]
EVENT_POINTS = ["event_taken", "event_published", "event_mid_label", "event_before_publish",
                "event_after_publish", "event_mid_free"]
# "After COMMIT before Ack" is two: in the thread that commits and in the one that sends.
COLLECTOR_POINTS = ["before_begin", "mid_rows", "before_commit", "after_commit", "before_ack",
                    "after_ack", "checkpoint", "drain_before_commit", "drain_after_commit"]


def fail(text):
    print("kills: FAILED: " + text, flush=True)
    sys.exit(1)


def wait_for(what, condition):
    """Poll @condition until true; fails after the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            fail("gave up waiting for " + what)
        time.sleep(0.01)  # the poll interval of a wait with a deadline


class Node:
    """One collector on one socket and one database, started as often as it is killed."""

    def __init__(self, build, work):
        self.build, self.work = build, work
        self.socket = os.path.join(work, "c.sock")
        self.database = os.path.join(work, "all.db")
        self.log = open(os.path.join(work, "collector.log"), "ab")
        self.process = None
        self.manager = None  # who keeps what it gives away

    def start(self, program="collectord", env=None):
        if self.manager:
            self.process = self.manager.start(
                [self.program(program), "--db", self.database], env or {}, self.log, DEADLINE_S)
            return
        self.process = subprocess.Popen(
            [self.program(program), "--socket", self.socket, "--db", self.database],
            stdout=self.log, stderr=self.log, env={**os.environ, **(env or {})})
        wait_for("the collector to listen", self.answers)

    def program(self, name):
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

    def shim(self, rank, dispatches, rate, program="synthetic-shim", env=None, extra=()):
        return subprocess.Popen(
            [self.program(program), "--socket", self.socket, "--rank", str(rank),
             "--dispatches", str(dispatches), "--rate", str(rate), "--queues", "2", *extra],
            stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})

    def sql(self, statement):
        with sqlite3.connect("file:%s?mode=ro" % self.database, uri=True, timeout=30) as db:
            return db.execute(statement).fetchall()

    def drained(self, count):
        try:
            return self.sql("SELECT count(*), coalesce(sum(drained), 0) FROM rtl_process") == \
                [(count, count)]
        except sqlite3.Error:
            return False

    def drained_rank(self, rank):
        try:
            return self.sql("SELECT 1 FROM rtl_process WHERE rank = %d AND drained = 1"
                            % rank) != []
        except sqlite3.Error:
            return False

    def ended(self, rank):
        """@rank is there, all have ended, drained or unknown, and the session is closed."""
        try:
            return self.sql("""SELECT (SELECT count(*) FROM rtl_process WHERE rank = %d),
                (SELECT count(*) FROM rtl_process WHERE ended IS NULL),
                (SELECT count(*) FROM rtl_session WHERE end_ns IS NULL)""" % rank) == [(1, 0, 0)]
        except sqlite3.Error:
            return False

    def check_tails(self):
        """Who was not read to its end is said to be so, and the verdict is "incomplete"."""
        bad = self.sql("""SELECT p.id, p.rank, p.drained, l.reason FROM rtl_process p
            LEFT JOIN rtl_loss l ON l.process_id = p.id AND l.reason = 'unknown_tail'
            AND l.count IS NULL WHERE p.drained = (l.reason IS NOT NULL)""")
        if bad:
            fail("drained, or an unknown tail, but not both and not neither: %s" % bad)
        unknown = self.sql("SELECT count(*) FROM rtl_process WHERE NOT drained")[0][0]
        if unknown and self.sql("SELECT value FROM rtl_meta WHERE key = 'complete'") != [(0,)]:
            fail("%d unknown tails, and yet it says that it is complete" % unknown)
        return unknown

    def check(self, unknown_tails=False):
        """The identity, uniqueness, ledger against rows; returns totals of rtl_account."""
        bad = self.sql("""SELECT process_id, queueId, pending FROM rtl_account
            JOIN rtl_process p ON p.id = process_id
            WHERE pending <> 0 AND (p.drained OR NOT %d)""" % unknown_tails)
        if bad:
            fail("pending after the end: %s" % bad[:5])
        bad = self.sql("""SELECT process_id, queueId, sequenceId, count(*) FROM (
            SELECT process_id, queueId, sequenceId FROM rocpd_op UNION ALL
            SELECT process_id, queueId, sequenceId FROM rtl_outstanding)
            GROUP BY 1, 2, 3 HAVING count(*) > 1 LIMIT 5""")
        if bad:
            fail("stored twice: %s" % bad)
        bad = self.sql("""SELECT a.process_id, a.queueId, a.stored, o.n FROM rtl_account a
            LEFT JOIN (SELECT process_id, queueId, count(*) AS n FROM rocpd_op GROUP BY 1, 2) o
            USING (process_id, queueId) WHERE a.stored <> coalesce(o.n, 0) LIMIT 5""")
        if bad:
            fail("the ledger and the rows differ: %s" % bad)
        bad = self.sql("SELECT * FROM rtl_account WHERE torn > 1 LIMIT 5")
        if bad:
            fail("more than one torn dispatch a thread: %s" % bad)
        if self.sql("PRAGMA integrity_check") != [("ok",)]:
            fail("integrity_check")
        return self.sql("""SELECT coalesce(sum(dispatched), 0), coalesce(sum(stored), 0),
            coalesce(sum(outstanding), 0), coalesce(sum(dropped), 0), coalesce(sum(torn), 0),
            coalesce(sum(skipped), 0) FROM rtl_account""")[0]


def told(shim):
    """What a shim that came to its end says it dispatched."""
    out, _ = shim.communicate(timeout=DEADLINE_S)
    if shim.returncode != 0:
        fail("a shim ended with %d" % shim.returncode)
    for line in out.splitlines():
        if line.startswith("dispatched"):
            return sum(int(word.split("=")[1]) for word in line.split()
                       if word.startswith("kernels="))
    fail("a shim did not say what it dispatched: %r" % out)
    return 0


def kill_collector(node, args):
    node.start()
    # Long enough for the kills; the pauses are 50-500 ms and a start takes its time too.
    shims = [node.shim(r, int(args.rate * (args.kills * 0.6 + 2)), args.rate)
             for r in range(args.shims)]
    kills = 0
    while kills < args.kills and all(s.poll() is None for s in shims):
        time.sleep(random.uniform(0.05, 0.5))  # the load between two kills, not a wait
        node.kill()
        node.start()
        kills += 1
    if kills < args.kills:
        fail("the shims ended after %d kills of %d" % (kills, args.kills))
    expected = sum(told(s) for s in shims)
    wait_for("every shim to be drained", lambda: node.drained(args.shims))
    totals = node.check()
    if totals[0] != expected or totals[1] != expected:
        fail("dispatched %d, the database accounts for (dispatched, stored, outstanding, "
             "dropped, torn, skipped) %s" % (expected, totals))
    duplicates = node.sql("SELECT sum(duplicate_frames) FROM rtl_process")[0][0]
    print("collector: %d kills, %d dispatched, %d stored, 0 lost, 0 twice "
          "(%d duplicate frames absorbed)" % (kills, expected, totals[1], duplicates))


def kill_ranks(node, args):
    node.start()
    for kill in range(args.kills):
        shim = node.shim(kill, 100_000_000, args.rate)
        wait_for("rows of the shim", lambda k=kill: has_rows(node, k))
        time.sleep(random.uniform(0, 0.05))  # where in its life it dies
        shim.kill()
        shim.wait()
        shim.stdout.close()
        wait_for("the drain", lambda k=kill: node.drained(k + 1))
        totals = node.check()
        if totals[0] != sum(totals[1:]):
            fail("kill %d: %s" % (kill, totals))
    print("rank: %d kills, (dispatched, stored, outstanding, dropped, torn, skipped) %s" %
          (args.kills, totals))


def has_rows(node, rank):
    try:
        return node.sql("SELECT 1 FROM rtl_account JOIN rtl_process p ON p.id = process_id "
                        "WHERE rank = %d AND stored > 0 LIMIT 1" % rank) != []
    except sqlite3.Error:
        return False


def kill_both(node, args):
    unknown = 0
    node.start()
    for kill in range(args.kills):
        shim = node.shim(kill, 100_000_000, args.rate)
        wait_for("rows of the shim", lambda k=kill: has_rows(node, k))
        time.sleep(random.uniform(0, 0.05))  # where in their lives they die
        shim.kill()
        node.kill()
        shim.wait()
        shim.stdout.close()
        node.start()
        # Nobody kept the recorder: what was stored stays, the rest is said to be unknown.
        wait_for("the verdict", lambda k=kill: node.ended(k))
        node.check(unknown_tails=True)
        unknown = node.check_tails()
    if not unknown:
        fail("the collector was always faster than its death: nothing was tried")
    node.kill(signal.SIGTERM)
    print("both: %d kills, the ledger is the rows, %d tails said to be unknown" %
          (args.kills, unknown))


def kill_both_kept(node, args):
    """As kill_both(), with somebody who keeps the recorders, as systemd and rtl run do."""
    node.manager = Manager(node.socket)
    node.start()
    for kill in range(args.kills):
        shims = [node.shim(2 * kill + i, 100_000_000, args.rate) for i in range(2)]
        for i in range(2):
            wait_for("rows of the shim", lambda r=2 * kill + i: has_rows(node, r))
        if not node.manager.wait_kept(2, DEADLINE_S):
            fail("the recorders are not kept: %s" % node.manager.kept)
        time.sleep(random.uniform(0, 0.05))  # where in their lives they die
        for process in random.sample(shims + [node.process], 3):
            process.kill()
        for process in shims + [node.process]:
            process.wait()
        for shim in shims:
            shim.stdout.close()
        node.start()
        wait_for("the drain", lambda k=kill: node.drained(2 * k + 2))
        if not node.manager.wait_kept(0, DEADLINE_S):
            fail("drained, and still kept: %s" % node.manager.kept)
        totals = node.check()
        if totals[0] != sum(totals[1:]):
            fail("dispatched %d, accounted for %s" % (totals[0], totals[1:]))
    dispatched, stored, outstanding = node.check()[:3]
    node.kill(signal.SIGTERM)
    print("both, kept: %d kills of 3, %d dispatched, %d stored, %d outstanding, 0 lost, 0 twice" %
          (args.kills, dispatched, stored, outstanding))


def event_points(node, args, ranks):
    """Every mark that was made before the kill is there, once; none that was not begun."""
    for point in EVENT_POINTS:
        for _ in range(args.kills):
            per_mark = point in ("event_taken", "event_published")
            count = random.randint(1_000, 6_000) if per_mark else random.randint(1, 10)
            progress = os.path.join(node.work, "progress.%d" % ranks)
            shim = node.shim(ranks, 20_000, args.rate, "synthetic-shim-faults",
                             {"RTL_FAULT": "%s:%d" % (point, count)},
                             ["--marks", "10000", "--progress", progress])
            shim.wait(timeout=DEADLINE_S)
            shim.stdout.close()
            if shim.returncode != -signal.SIGKILL:
                fail("fault %s:%d was never reached (exit %d)" % (point, count, shim.returncode))
            with open(progress, "rb") as file:
                begun, made = struct.unpack("=QQ", file.read(16))
            ranks += 1
            wait_for("the drain after %s" % point, lambda: node.drained(ranks))
            node.check()
            check_marks(node, ranks - 1, begun, made, point)
    return ranks


def check_marks(node, rank, begun, made, point):
    where = "FROM rtl_marker m JOIN rtl_process p ON p.id = m.process_id WHERE p.rank = %d" % rank
    numbers = [row[0] for row in node.sql(
        "SELECT CAST(substr(text, 6) AS INTEGER) AS n %s ORDER BY n" % where)]
    dropped = node.sql("""SELECT coalesce(sum(value), 0) FROM rtl_counter c JOIN rtl_process p
        ON p.id = c.process_id WHERE name = 'dropped_markers' AND p.rank = %d""" % rank)[0][0]
    if len(set(numbers)) != len(numbers):
        fail("%s: a mark is there twice" % point)
    if not made <= len(numbers) + dropped <= begun or (numbers and numbers[-1] >= begun):
        fail("%s: %d marks were begun, %d made; %d are stored, %d dropped" %
             (point, begun, made, len(numbers), dropped))
    if not dropped and numbers != list(range(len(numbers))):
        fail("%s: a mark is missing between others" % point)


def fault_points(node, args):
    ranks = 0
    node.start()
    for point in SHIM_POINTS:
        for _ in range(args.kills):
            # Of frames there are some fifty in the second that the rank runs.
            per_record = point in ("after_dispatched", "after_submitted", "after_done")
            # Late enough to have said Hello: of who never did the collector knows nothing.
            count = random.randint(4_000, 16_000) if per_record else random.randint(1, 15)
            shim = node.shim(ranks, 20_000, args.rate, "synthetic-shim-faults",
                             {"RTL_FAULT": "%s:%d" % (point, count)})
            shim.wait(timeout=DEADLINE_S)
            shim.stdout.close()
            if shim.returncode != -signal.SIGKILL:
                fail("fault %s:%d was never reached (exit %d)" % (point, count, shim.returncode))
            ranks += 1
            wait_for("the drain after %s" % point, lambda: node.drained(ranks))
            totals = node.check()
            if totals[0] != sum(totals[1:]):
                fail("%s: %s" % (point, totals))
    ranks = event_points(node, args, ranks)
    node.kill(signal.SIGTERM)
    for point in COLLECTOR_POINTS:
        for _ in range(args.kills):
            # One that is killed gives the drain points their work; one that lives must come through.
            node.start("collectord-faults", {"RTL_FAULT": "%s:%d" % (point, random.randint(1, 3))})
            shim = node.shim(ranks, 40_000, args.rate)
            ranks += 1
            if point.startswith("drain"):
                while node.process.poll() is None:
                    other = node.shim(ranks, 100_000_000, args.rate)
                    ranks += 1
                    wait_for("rows or death", lambda r=ranks: has_rows(node, r - 1) or
                             node.process.poll() is not None)
                    other.kill()
                    other.wait()
                    other.stdout.close()
                    wait_for("the drain or death", lambda r=ranks: node.process.poll() is not None
                             or node.drained_rank(r - 1))
            wait_for("the collector to die at %s" % point, lambda: node.process.poll() is not None)
            if node.process.returncode != -signal.SIGKILL:
                fail("at %s the collector ended with %d" % (point, node.process.returncode))
            node.start()
            expected = told(shim)
            rank = int(shim.args[shim.args.index("--rank") + 1])
            # A rank that died with the collector left nobody who has its recorder.
            wait_for("the end of all", lambda r=rank: node.ended(r))
            if not point.startswith("drain") and not node.drained_rank(rank):
                fail("%s: rank %d came back and was not read to its end" % (point, rank))
            node.check(unknown_tails=True)
            node.check_tails()
            row = node.sql("""SELECT sum(dispatched), sum(stored) FROM rtl_account
                JOIN rtl_process p ON p.id = process_id WHERE rank = %d""" % rank)[0]
            if row != (expected, expected):
                fail("%s: dispatched %d, the database has %s" % (point, expected, row))
            node.kill(signal.SIGTERM)
    print("faults: %d points x %d, identity and uniqueness hold after each" %
          (len(SHIM_POINTS) + len(EVENT_POINTS) + len(COLLECTOR_POINTS), args.kills))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["collector", "rank", "both", "kept", "faults"])
    parser.add_argument("--build", required=True)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--long", type=int, help="kills when RTL_TEST_LONG is set")
    parser.add_argument("--shims", type=int, default=4)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    if args.long and os.environ.get("RTL_TEST_LONG"):
        args.kills = args.long
    seed = args.seed if args.seed is not None else random.randrange(1 << 30)
    random.seed(seed)
    print("kills: %s, seed %d" % (args.mode, seed), flush=True)
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_RUNTIME_DIR"] = work
        os.environ["RTL_JOB_ID"] = "kills"
        node = Node(args.build, work)
        try:
            {"collector": kill_collector, "rank": kill_ranks, "both": kill_both, "kept": kill_both_kept,
             "faults": fault_points}[args.mode](node, args)
        finally:
            if node.process and node.process.poll() is None:
                node.kill(signal.SIGTERM)
            if sys.exc_info()[0]:
                with open(os.path.join(work, "collector.log"), "rb") as log:
                    sys.stdout.write(log.read().decode(errors="replace")[-4000:])


if __name__ == "__main__":
    main()
