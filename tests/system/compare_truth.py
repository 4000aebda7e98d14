#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare a session database with the software GPU's truth logs, dispatch by dispatch.

usage: compare_truth.py [--prefix] [--untimed] [--filtered] [--by-rank] DATABASE TRUTH_CSV...

Every truth queue of a process that ran kernels must be a queue of the database with the same
kernels in the same order, durations equal to the tick, and starts at one constant distance
from the device's clock per GPU (so their order is the device's). With --prefix (a killed
process) the database may lack a tail that it lists as outstanding; with --filtered any row: each
is compared with the dispatch that its number names. A process is known by its pid, with --by-rank by
its rank, which is then the name of its table (RANK.csv): where there are so many that pids come again. A kernel whose timestamps the
device was told to spoil for good (zero_ts, swapped_ts) must be a row without a time, with the reason
untimed_timestamp_invalid; no other may, but with --untimed any with a reason. Prints what it compared; exits 1 at the first difference.
"""
import collections
import csv
import os
import sqlite3
import sys

TICK_NS = 10
SPOILT = {"zero_ts", "swapped_ts"}


def fail(text):
    print("compare_truth: " + text, file=sys.stderr)
    sys.exit(1)


def read_truth(paths, by_rank):
    """process -> queue -> [(packet, kernel, gpu, node, start_tick, end_tick, is_spoilt)] in packet order."""
    truth = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in paths:
        rank = os.path.basename(path).removesuffix(".csv")
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                # The runtime's own copies run on queues of its own that no tool sees.
                if row["kernel"].startswith("softgpu_rocr_"):
                    continue
                if "done" not in row["flags"].split("|"):
                    continue
                truth[int(rank if by_rank else row["pid"])][int(row["queue"])].append(
                    (int(row["packet"]), row["kernel"], int(row["gpu"]), int(row["node"]),
                     int(row["start_tick"]), int(row["end_tick"]),
                     not SPOILT.isdisjoint(row["flags"].split("|"))))
    for queues in truth.values():
        for rows in queues.values():
            rows.sort()
    return truth


def read_database(path, by_rank):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    name = "rank" if by_rank else "pid"
    names = dict(db.execute("SELECT id, %s FROM rtl_process" % name))
    if len(set(names.values())) != len(names):
        fail("two processes of one %s: this comparison needs distinct ones" % name)
    query = """SELECT process_id, queueId, sequenceId, k.symbol, gpuId, start, "end", reason
        FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
        ORDER BY process_id, queueId, sequenceId"""
    for process, queue, seq, symbol, gpu, start, end, reason in db.execute(query):
        rows[names[process]][queue].append(
            (seq, symbol.removesuffix(".kd"), gpu, start, end, reason))
    outstanding = collections.Counter()
    for process, queue, count in db.execute(
            "SELECT process_id, queueId, count(*) FROM rtl_outstanding GROUP BY 1, 2"):
        outstanding[names[process], queue] = count
    queues = collections.defaultdict(list)
    for process, queue in db.execute("""SELECT process_id, queueId FROM rtl_account
            WHERE dispatched > 0 ORDER BY 1, 2"""):
        queues[names[process]].append(queue)
    return rows, outstanding, queues, set(names.values())


def compare_queue(where, mine, truth, distance, may_lack, may_be_untimed):
    if len(mine) != len(truth) and not (0 <= len(truth) - len(mine) <= may_lack):
        fail("%s: %d rows, the device completed %d" % (where, len(mine), len(truth)))
    for (seq, symbol, gpu, start, end, reason), (
            packet, kernel, _, _, start_tick, end_tick, is_spoilt) in zip(mine, truth):
        at = "%s seq %d (packet %d)" % (where, seq, packet)
        if symbol != kernel.removesuffix(".kd"):
            fail("%s: kernel %s, the device ran %s" % (at, symbol, kernel))
        if start is None and reason and may_be_untimed:
            continue
        if is_spoilt:
            if start is not None or reason != "untimed_timestamp_invalid":
                fail("%s: %s, %s: its times are spoilt" % (at, start, reason))
            continue
        if start is None:
            fail("%s: no time (%s)" % (at, reason))
        if end - start != (end_tick - start_tick) * TICK_NS:
            fail("%s: %d ns, the device took %d" %
                 (at, end - start, (end_tick - start_tick) * TICK_NS))
        if distance.setdefault(gpu, start - start_tick * TICK_NS) != start - start_tick * TICK_NS:
            fail("%s: starts %d ns off the device's line" %
                 (at, start - start_tick * TICK_NS - distance[gpu]))


def main():
    args = sys.argv[1:]
    prefix = "--prefix" in args
    untimed = "--untimed" in args
    filtered = "--filtered" in args
    by_rank = "--by-rank" in args
    args = [a for a in args if a not in ("--prefix", "--untimed", "--filtered", "--by-rank")]
    if len(args) < 2:
        fail("usage: compare_truth.py [--prefix] [--untimed] [--filtered] [--by-rank] DATABASE "
             "TRUTH_CSV...")
    rows, outstanding, queues_of, processes = read_database(args[0], by_rank)
    truth = read_truth(args[1:], by_rank)
    compared = 0
    for process, queues in truth.items():
        if process not in processes:
            fail("process %d is not in the database" % process)
        numbers = queues_of[process]
        mine = [rows[process][q] for q in numbers]
        lacks = [outstanding[process, q] for q in numbers]
        theirs = [queues[q] for q in sorted(queues)]
        if len(mine) != len(theirs):
            fail("process %d: %d queues, the device had %d" % (process, len(mine), len(theirs)))
        distance = {}
        for index, (left, right, lack) in enumerate(zip(mine, theirs, lacks)):
            if filtered:
                right = [right[row[0]] for row in left]
            compare_queue("process %d queue %d" % (process, index), left, right, distance,
                          lack if prefix else 0, untimed)
            compared += len(left)
    extra = {p for p in rows if rows[p]} - set(truth)
    if extra:
        fail("processes %s have rows, the device knows nothing of them" % sorted(extra))
    if not compared:
        fail("nothing to compare")
    print("compared %d dispatches of %d processes" % (compared, len(truth)))


main()
