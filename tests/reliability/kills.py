#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kill the collector, ranks, or both under load, and let a bitmap of every dispatch decide.

usage: kills.py MODE --build DIR [--count N] [--long N] [--shims N] [--rate N] [--seed N]
  collector  SIGKILL collectord every 50-500 ms and start it again; synthetic shims (the real
             recorder, batch and connection code over a synthetic device) must lose nothing
  rank       SIGKILL synthetic shims in mid-flight, any of four that run
  both       SIGKILL a shim and the collector at the same time; start the collector again
  kept       likewise with two shims, while a service manager keeps their recorders
  restart    end the collector and start it again, start another build of it in its place, send
             it SIGHUP, in turns; a service manager keeps socket and recorders
"""
import argparse
import os
import random
import re
import shutil
import signal
import time

from manager import Manager
from node import (DEADLINE_S, FOR_EVER, STALL_S_MAX, fail, is_long, node_of, quantiles, reap,
                  told_to_end, wait_for)
from oracle import Oracle


def load(node, args, first=0):
    """@args.shims ranks, each with rows; they dispatch until they are told to end."""
    shims = [node.shim(first + r, FOR_EVER, args.rate) for r in range(args.shims)]
    for rank in range(args.shims):
        wait_for("rows of rank %d" % rank, lambda r=first + rank: node.has_rows(r))
    return shims


class Outages:
    """How long the database stood still: from a kill to the first commit of records after it."""

    def __init__(self, node):
        self.node, self.seconds, self.since = node, [], None
        self.begins = []  # of each life that was waited for
        self.whole = []   # as seconds, where no other kill came between
        self.frames = 0

    def begin(self, since):
        """The collector, which was told to end at @since, is dead, or about to be."""
        self.look(since)
        self.begins.append(since)
        if self.since is None:
            self.since = since
        self.frames = self.node.frames()

    def look(self, now):
        if self.since is None or self.node.frames() == self.frames:
            return
        self.seconds.append(now - self.since)
        if self.since == self.begins[-1]:
            self.whole.append(now - self.since)
        self.since = None

    def watch(self, until=None):
        """Look on until the monotonic time @until; None: until there is a commit."""
        while self.since is not None or (until and time.monotonic() < until):
            now = time.monotonic()
            self.look(now)
            if until and now >= until:
                return
            if self.since is not None and now - self.since > STALL_S_MAX:
                fail("no commit for %d s" % STALL_S_MAX)
            time.sleep(0.002)  # the poll interval of a wait with a deadline


# What a collector says with --verbose, and what it has come to by then.
MILESTONES = (("listening on", "to listening"), (": open", "to the database open"),
              ("has said Hello", "to the first rank back"))


def stages(node, begins):
    """Lines: how long after each of @begins (monotonic) that life of the collector came so far."""
    node.log.flush()
    with open(node.log.name, encoding="utf-8", errors="replace") as log:
        lines = [(float(m[1]), m[2]) for m in
                 (re.match(r"collectord: \[ *([0-9.]+)\] (.*)", line) for line in log) if m]
    text = []
    for sign, name in MILESTONES:
        times = [at for at, line in lines if sign in line]
        seconds = []
        for begin, end in zip(begins, begins[1:] + [float("inf")]):
            first = next((at for at in times if begin <= at < end), None)
            if first is not None:
                seconds.append(first - begin)
        text.append("  %s: %s (%d of %d)" % (name, quantiles(seconds), len(seconds), len(begins)))
    return "\n".join(text)


def finish(node, shims):
    """Every dispatch of @shims is there; how many, and how many frames came twice."""
    expected = sum(words["dispatched"]["kernels"] for words in told_to_end(shims))
    wait_for("every shim to be drained", lambda: node.drained(len(shims)))
    Oracle(node).check_all_stored(expected)
    return expected, node.sql("SELECT sum(duplicate_frames) FROM rtl_process")[0][0]


def kill_collector(node, args):
    node.options = ["--verbose"]
    node.start()
    shims = load(node, args)
    outages = Outages(node)
    begin = time.monotonic()
    for _ in range(args.count):
        outages.watch(time.monotonic() + random.uniform(0.05, 0.5))
        told = time.monotonic()
        node.kill()
        outages.begin(told)
        node.start()
    outages.watch()
    seconds = time.monotonic() - begin
    expected, duplicates = finish(node, shims)
    print("collector: %d kills in %.0f s, %d shims, %d dispatched, %d stored, 0 lost, 0 twice (%d "
          "duplicate frames absorbed); from the kill to the first commit: %s" %
          (args.count, seconds, args.shims, expected, expected, duplicates,
           quantiles(outages.seconds)))
    print("of a life that was not cut short before it (%d): %s; from the kill\n%s" %
          (len(outages.whole), quantiles(outages.whole), stages(node, outages.begins)))


def restart(node, args):
    """What an administrator does on a node that is in use."""
    node.manager = Manager(node.socket)
    other = os.path.join(node.work, "upgraded-collectord")
    shutil.copy(node.program("collectord-faults"), other)  # another build, at another place
    node.start()
    shims = load(node, args)
    if not node.manager.wait_kept(args.shims, DEADLINE_S):
        fail("the recorders are not kept: %s" % list(node.manager.kept))
    outages = Outages(node)
    program = "collectord"
    for turn in range(args.count):
        outages.watch(time.monotonic() + random.uniform(0.02, 0.2))
        if turn % 3 == 2:
            outages.begin(time.monotonic())
            node.process.send_signal(signal.SIGHUP)
            continue
        if turn % 3 == 1:
            program = other if program == "collectord" else "collectord"
        told = time.monotonic()
        node.kill(signal.SIGTERM)
        if node.process.returncode:
            fail("the collector ended with %d" % node.process.returncode)
        outages.begin(told)
        node.start(program)
    outages.watch()
    if node.process.poll() is not None:
        fail("the collector is gone: %d" % node.process.returncode)
    expected, _ = finish(node, shims)
    if not node.manager.wait_kept(0, DEADLINE_S):
        fail("drained, and still kept: %s" % list(node.manager.kept))
    print("restart: %d restarts, upgrades, SIGHUPs; %d shims, %d dispatched, %d stored, 0 lost, 0 "
          "twice; to the first commit: %s" %
          (args.count, args.shims, expected, expected, quantiles(outages.seconds)))


def kill_ranks(node, args):
    node.start()
    oracle = Oracle(node)
    shims = {}
    rank = 0
    for kill in range(args.count):
        while len(shims) < args.shims:
            shims[rank] = node.shim(rank, FOR_EVER, args.rate)
            rank += 1
        victim = random.choice(list(shims))
        wait_for("rows of the shim", lambda r=victim: node.has_rows(r))
        time.sleep(random.uniform(0, 0.05))  # where in its life it dies
        reap(shims.pop(victim))
        wait_for("the drain", lambda r=victim: node.drained_rank(r))
        oracle.check(whole=kill % 100 == 99)
    expected = sum(words["dispatched"]["kernels"] for words in told_to_end(shims.values()))
    wait_for("the end of all", lambda: node.drained(rank))
    totals = oracle.check_identity()
    lived = node.sql("""SELECT sum(dispatched), sum(stored) FROM rtl_account
        JOIN rtl_process p ON p.id = process_id WHERE ended <> 'killed'""")[0]
    if lived != (expected, expected):
        fail("the surviving rank dispatched %d, the database has %s" % (expected, lived))
    print("rank: %d kills, (dispatched, stored, outstanding, dropped, torn, skipped) %s" %
          (args.count, totals))


def kill_both(node, args):
    unknown = 0
    oracle = Oracle(node)
    node.start()
    for kill in range(args.count):
        shim = node.shim(kill, FOR_EVER, args.rate)
        wait_for("rows of the shim", lambda k=kill: node.has_rows(k))
        time.sleep(random.uniform(0, 0.05))  # where in their lives they die
        shim.kill()
        node.kill()
        reap(shim)
        node.start()
        # No manager kept the recorder: what was stored stays, the rest is unknown, and the verdict says so.
        wait_for("the verdict", lambda k=kill: node.ended(k))
        oracle.check(unknown_tails=True, whole=kill % 20 == 19)
        unknown = oracle.check_tails()
    if not unknown:
        fail("the collector was always faster than its death: nothing was tried")
    oracle.check(unknown_tails=True)
    node.kill(signal.SIGTERM)
    print("both: %d kills, the ledger is the rows, %d tails said to be unknown" %
          (args.count, unknown))


def kill_both_kept(node, args):
    """As kill_both(), with a manager that keeps the recorders, as systemd and rtl run do."""
    oracle = Oracle(node)
    node.manager = Manager(node.socket)
    node.start()
    for kill in range(args.count):
        shims = [node.shim(2 * kill + i, FOR_EVER, args.rate) for i in range(2)]
        for i in range(2):
            wait_for("rows of the shim", lambda r=2 * kill + i: node.has_rows(r))
        if not node.manager.wait_kept(2, DEADLINE_S):
            fail("the recorders are not kept: %s" % list(node.manager.kept))
        time.sleep(random.uniform(0, 0.05))  # where in their lives they die
        for process in random.sample(shims + [node.process], 3):
            process.kill()
        for process in shims + [node.process]:
            reap(process)
        node.start()
        wait_for("the drain", lambda k=kill: node.drained(2 * k + 2))
        if not node.manager.wait_kept(0, DEADLINE_S):
            fail("drained, and still kept: %s" % list(node.manager.kept))
        oracle.check_identity(whole=kill % 20 == 19)
    dispatched, stored, outstanding = oracle.check_identity()[:3]
    node.kill(signal.SIGTERM)
    print("both, kept: %d kills of 3, %d dispatched, %d stored, %d outstanding, 0 lost, 0 twice" %
          (args.count, dispatched, stored, outstanding))


MODES = {"collector": kill_collector, "rank": kill_ranks, "both": kill_both,
         "kept": kill_both_kept, "restart": restart}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=list(MODES))
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--long", type=int, help="--count when RTL_TEST_LONG is set")
    parser.add_argument("--shims", type=int, default=4)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    if args.long and is_long():
        args.count = args.long
    seed = args.seed if args.seed is not None else random.randrange(1 << 30)
    random.seed(seed)
    print("kills: %s, seed %d" % (args.mode, seed), flush=True)
    with node_of(args.build, "kills") as node:
        MODES[args.mode](node, args)


if __name__ == "__main__":
    main()
