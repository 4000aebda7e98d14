#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SIGKILL at each fault point of docs/recorder.md section 7: in ranks, in the collector.

usage: faults.py --build DIR [--count N] [--long N] [--rate N] [--seed N]

Each point has a collector and a database of its own; a few points are tried at once, since most
of the time goes into waiting. After each kill: the accounting identity, and each dispatch at most
once, in its place.
"""
import argparse
import concurrent.futures
import os
import random
import signal
import struct
import sys
import tempfile

from node import DEADLINE_S, FOR_EVER, Node, fail, is_long, reap, told, wait_for
from oracle import Oracle

AT_ONCE = 4
DISPATCHES = 10_000  # of a rank that ends by itself

# Passed for each dispatch; the others for each frame.
RECORD_POINTS = ["after_dispatched", "after_submitted", "after_done"]
FRAME_POINTS = ["mid_label", "before_publish", "after_publish", "mid_free", "mid_send"]
# Passed for each mark; the others for each frame of marks.
MARK_POINTS = ["event_taken", "event_published"]
MARK_FRAME_POINTS = ["event_mid_label", "event_before_publish", "event_after_publish",
                     "event_mid_free"]
# "After COMMIT before Ack" is two: in the thread that commits and in the one that sends.
COLLECTOR_POINTS = ["before_begin", "mid_rows", "before_commit", "after_commit", "before_ack",
                    "after_ack", "checkpoint_step", "checkpoint"]
DRAIN_POINTS = ["drain_before_commit", "drain_after_commit"]


def killed_at(node, rank, rate, point, count, extra=()):
    """A rank that reaches @point for the @count-th time, and is drained."""
    shim = node.shim(rank, FOR_EVER, rate, "synthetic-shim-faults",
                     {"RTL_FAULT": "%s:%d" % (point, count)}, extra)
    shim.wait(timeout=DEADLINE_S)
    shim.stdout.close()
    if shim.returncode != -signal.SIGKILL:
        fail("fault %s:%d was never reached (exit %d)" % (point, count, shim.returncode))
    wait_for("the drain after %s" % point, lambda: node.drained(rank + 1))


def rank_point(node, point, args):
    oracle = Oracle(node)
    node.start()
    for rank in range(args.count):
        # Late enough for a Hello: the collector knows nothing of a process that never sent one. There
        # are some fifty frames in a second.
        count = random.randint(4_000, 12_000) if point in RECORD_POINTS else random.randint(1, 15)
        killed_at(node, rank, args.rate, point, count)
        oracle.check_identity()


def mark_point(node, point, args):
    """Every mark that was made before the kill is there, once; none that was not begun."""
    oracle = Oracle(node)
    node.start()
    for rank in range(args.count):
        count = random.randint(1_000, 6_000) if point in MARK_POINTS else random.randint(1, 10)
        progress = os.path.join(node.work, "progress")
        killed_at(node, rank, args.rate, point, count,
                  ["--marks", "1000000", "--progress", progress])
        with open(progress, "rb") as file:
            begun, made = struct.unpack("=QQ", file.read(16))
        os.unlink(progress)
        oracle.check_identity()
        check_marks(node, rank, begun, made, point)


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


def drain_until_dead(node, rank, rate):
    """Give the collector drains until it dies in one; the next rank's number."""
    while node.process.poll() is None:
        other = node.shim(rank, FOR_EVER, rate)
        rank += 1
        wait_for("rows or death", lambda r=rank: node.has_rows(r - 1) or
                 node.process.poll() is not None)
        reap(other)
        wait_for("the drain or death", lambda r=rank: node.process.poll() is not None
                 or node.drained_rank(r - 1))
    return rank


def collector_point(node, point, args):
    """A rank that lives is stored whole; a rank that died with the collector has an unknown tail."""
    oracle = Oracle(node)
    rank = 0
    for _ in range(args.count):
        # A database is sealed once, at the end of its session; else the rank outlives the death.
        is_seal = point == "checkpoint"
        count = 1 if is_seal else random.randint(1, 3)
        node.start("collectord-faults", {"RTL_FAULT": "%s:%d" % (point, count)})
        living = rank
        shim = node.shim(living, DISPATCHES if is_seal else FOR_EVER, args.rate)
        rank += 1
        if point in DRAIN_POINTS:
            rank = drain_until_dead(node, rank, args.rate)
        wait_for("the collector to die at %s" % point, lambda: node.process.poll() is not None)
        if node.process.returncode != -signal.SIGKILL:
            fail("at %s the collector ended with %d" % (point, node.process.returncode))
        node.start()
        if not is_seal:
            # The collector may never have heard of a rank that died with its Hello unread.
            wait_for("rank %d to come back" % living, lambda r=living: node.has_rows(r))
        shim.terminate()
        expected = told(shim)
        wait_for("the end of all", lambda r=living: node.ended(r))
        if not node.drained_rank(living):
            fail("%s: rank %d came back and was not read to its end" % (point, living))
        oracle.check(unknown_tails=True)
        oracle.check_tails()
        row = node.sql("""SELECT sum(dispatched), sum(stored) FROM rtl_account
            JOIN rtl_process p ON p.id = process_id WHERE rank = %d""" % living)[0]
        if row != (expected, expected):
            fail("%s: dispatched %d, the database has %s" % (point, expected, row))
        if is_seal:
            # Left to the next collector with this fault, it would be what that one dies of.
            wait_for("the seal", lambda: not os.path.exists(node.database + "-wal"))
        node.kill(signal.SIGTERM)


def run(point, args, folder):
    how = rank_point
    if point in MARK_POINTS + MARK_FRAME_POINTS:
        how = mark_point
    elif point in COLLECTOR_POINTS + DRAIN_POINTS:
        how = collector_point
    os.mkdir(folder)
    node = Node(args.build, folder)
    is_good = False
    try:
        how(node, point, args)
        is_good = True
    finally:
        node.end(not is_good)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, default=2, help="kills at each point")
    parser.add_argument("--long", type=int, help="--count when RTL_TEST_LONG is set")
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    if args.long and is_long():
        args.count = args.long
    seed = args.seed if args.seed is not None else random.randrange(1 << 30)
    random.seed(seed)
    print("faults: seed %d" % seed, flush=True)
    points = (DRAIN_POINTS + COLLECTOR_POINTS + RECORD_POINTS + FRAME_POINTS + MARK_POINTS +
              MARK_FRAME_POINTS)
    with tempfile.TemporaryDirectory() as work, \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        os.chmod(work, 0o711)  # what a collector is started by may give it a user of its own
        os.environ["XDG_RUNTIME_DIR"] = work
        os.environ["RTL_JOB_ID"] = "faults"
        runs = [pool.submit(run, point, args, os.path.join(work, point)) for point in points]
        for done in concurrent.futures.as_completed(runs):
            if done.exception():
                pool.shutdown(cancel_futures=True)
                sys.exit(1)
    print("faults: %d points x %d, identity and uniqueness hold after each" %
          (len(points), args.count))


if __name__ == "__main__":
    main()
