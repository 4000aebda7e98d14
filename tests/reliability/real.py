#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills with real ranks: rtl-demo on the HSA runtime and the software GPU, against its truth log.

usage: real.py MODE --build DIR --count N [--long N] [--seed N]
  collector  SIGKILL collectord every 50-500 ms while 8 ranks run; every dispatch is a row
  rank       SIGKILL ranks in mid-flight, 8 at a time; every dispatch that the device ended is a
             row or outstanding, and what is a row is what the device says
"""
import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import time

from manager import Manager
from node import DEADLINE_S, fail, is_long, node_of, reap, wait_for

RANKS = 8
RATE = 2_000
DISPATCHES = 4_000  # of a rank that comes through: two seconds
TESTS = pathlib.Path(__file__).resolve().parent.parent


class Job:
    """Ranks one after the other, each with a number of its own, as a launcher starts them."""

    def __init__(self, node):
        self.node, self.rank = node, 0
        self.truth = os.path.join(node.work, "truth")
        os.mkdir(self.truth)
        shim = os.path.join(node.build, "lib", "librtl-shim.so")
        linked = subprocess.run(["ldd", shim], capture_output=True, text=True, check=True).stdout
        sanitizer = re.findall(r"lib[at]san\S* => (\S+)", linked)  # which wants to be first
        self.env = {
            **os.environ, "LD_PRELOAD": " ".join(sanitizer + [shim]),
            "LD_LIBRARY_PATH": os.path.join(node.build, "lib", "softgpu"),
            "SOFTGPU_COUNT": str(RANKS),
            "SOFTGPU_SCRIPT": str(TESTS / "workload" / "softgpu.script"),
            "RTL_SOCKET": node.socket}

    def start(self, dispatches):
        """{rank: process} of the next 8."""
        ranks = {}
        for _ in range(RANKS):
            ranks[self.rank] = subprocess.Popen(
                [self.node.program("rtl-demo"), "--dispatches", str(dispatches),
                 "--rate", str(RATE)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.node.log,
                env={**self.env, "RTL_RANK": str(self.rank),
                     "SOFTGPU_TRUTH": os.path.join(self.truth, str(self.rank)),
                     "RTL_LOCAL_RANK": str(self.rank % RANKS)})
            self.rank += 1
        self.node.shims = [s for s in self.node.shims if s.poll() is None] + list(ranks.values())
        return ranks

    def compare(self, *options):
        """The database against what the devices did; what compare_truth.py says of it."""
        tables = []
        for log in os.listdir(self.truth):
            tables.append(os.path.join(self.node.work, log + ".csv"))
            with open(tables[-1], "wb") as table:
                subprocess.run([self.node.program("softgpu-truth"), os.path.join(self.truth, log)],
                               stdout=table, check=True, timeout=DEADLINE_S)
        done = subprocess.run(
            [sys.executable, str(TESTS / "system" / "compare_truth.py"), "--by-rank", *options,
             self.node.database, *tables], capture_output=True, text=True, timeout=1800,
            check=False)
        if done.returncode:
            fail(done.stderr)
        return done.stdout.strip()


def check_books(node):
    """The identity, and no dispatch in two places; (dispatched, stored, outstanding, torn)."""
    bad = node.sql("""SELECT process_id, queueId, dispatched, pending FROM rtl_account
        WHERE pending <> 0 OR dropped <> 0 OR torn > 1 LIMIT 5""")
    if bad:
        fail("(process, queue, dispatched, pending): %s" % bad)
    bad = node.sql("""SELECT process_id, queueId, sequenceId, count(*) FROM (
        SELECT process_id, queueId, sequenceId FROM rocpd_op UNION ALL
        SELECT process_id, queueId, sequenceId FROM rtl_outstanding)
        GROUP BY 1, 2, 3 HAVING count(*) > 1 LIMIT 5""")
    if bad:
        fail("stored twice: %s" % bad)
    if node.sql("PRAGMA integrity_check") != [("ok",)]:
        fail("integrity_check")
    return node.sql("""SELECT sum(dispatched), sum(stored), sum(outstanding), sum(torn)
        FROM rtl_account""")[0]


def kill_collector(node, job, args):
    # A rank may end while no collector lives; the manager then has its recorder.
    node.manager = Manager(node.socket)
    node.start()
    kills = rounds = 0
    while kills < args.count:
        ranks = job.start(DISPATCHES)
        rounds += 1
        for rank in ranks:
            wait_for("rows of rank %d" % rank, lambda r=rank: node.has_rows(r))
        while kills < args.count and any(p.poll() is None for p in ranks.values()):
            time.sleep(random.uniform(0.05, 0.5))  # the load between two kills, not a wait
            node.kill()
            node.start()
            kills += 1
        for rank, process in ranks.items():
            if process.wait(timeout=DEADLINE_S):
                fail("rank %d ended with %d" % (rank, process.returncode))
    wait_for("every rank to be drained", lambda: node.drained(RANKS * rounds))
    dispatched, stored, _, _ = check_books(node)
    if stored != dispatched or dispatched != RANKS * rounds * DISPATCHES:
        fail("%d ranks dispatched %d each; %d dispatches are known, %d stored" %
             (RANKS * rounds, DISPATCHES, dispatched, stored))
    print("collector, real ranks: %d kills, %d ranks, %d dispatched and stored; %s" %
          (kills, RANKS * rounds, stored, job.compare()))


def kill_ranks(node, job, args):
    node.start()
    kills = 0
    while kills < args.count:
        ranks = job.start(100_000_000)
        for rank in random.sample(sorted(ranks), min(RANKS, args.count - kills)):
            wait_for("rows of rank %d" % rank, lambda r=rank: node.has_rows(r))
            time.sleep(random.uniform(0, 0.05))  # where in its life it dies
            reap(ranks.pop(rank))
            kills += 1
        for process in ranks.values():
            reap(process)
    wait_for("the drains", lambda: node.has(
        "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM rtl_process WHERE NOT drained)"))
    totals = check_books(node)
    print("real ranks: %d kills, (dispatched, stored, outstanding, torn) %s; %s" %
          (kills, totals, job.compare("--prefix")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["collector", "rank"])
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--long", type=int, help="--count when RTL_TEST_LONG is set")
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    if args.long and is_long():
        args.count = args.long
    seed = args.seed if args.seed is not None else random.randrange(1 << 30)
    random.seed(seed)
    print("real: %s, seed %d" % (args.mode, seed), flush=True)
    with node_of(args.build, "real") as node:
        {"collector": kill_collector, "rank": kill_ranks}[args.mode](node, Job(node), args)


if __name__ == "__main__":
    main()
