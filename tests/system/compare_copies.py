#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare the copies of a session database with what was said and done.

usage: compare_copies.py [--untimed] [--any-order] DATABASE PROGRAM_OUTPUT TRUTH_CSV

PROGRAM_OUTPUT has a line "copy DIRECTION HOW BYTES" for each submission; the database must have the
same, in the same order (by its own number) unless --any-order. TRUTH_CSV is of softgpu-truth --copies: each SDMA copy
must be in the database with its bytes, its duration to the tick, and a start that is at one
distance from the device's clock per GPU, up to the runtime's translation. With --untimed no copy
may have times. Prints what it compared.
"""
import collections
import csv
import sqlite3
import sys

TICK_NS = 10
# The runtime translates with a slope between two readings of the clocks.
TRANSLATION_NS = 2000


def fail(text):
    print("compare_copies: " + text, file=sys.stderr)
    sys.exit(1)


def main():
    args = sys.argv[1:]
    untimed = "--untimed" in args
    any_order = "--any-order" in args
    args = [a for a in args if not a.startswith("--")]
    database = sqlite3.connect("file:%s?mode=ro" % args[0], uri=True)
    rows = database.execute("""SELECT copyId, direction, how, bytes, submit_ns, start_ns, end_ns,
        source_gpuId, target_gpuId FROM rtl_copy ORDER BY process_id, copyId""").fetchall()
    with open(args[1], encoding="utf-8") as file:
        told = [line.split()[1:] for line in file if line.startswith("copy ")]
    mine = [[r[1], r[2], str(r[3])] for r in rows]
    if (sorted(mine) != sorted(told)) if any_order else (mine != told):
        fail("%d rows, the program says %d, or other ones" % (len(rows), len(told)))
    if not rows:
        fail("nothing to compare")
    if untimed:
        if any(r[5] is not None or r[6] is not None for r in rows):
            fail("times that were not asked for")
        print("compared %d copies without times" % len(rows))
        return
    with open(args[2], newline="", encoding="utf-8") as file:
        truth = [(int(r["gpu"]), int(r["bytes"]), int(r["start_tick"]), int(r["end_tick"]))
                 for r in csv.DictReader(file)]
    left = collections.defaultdict(list)
    for row in rows:
        left[row[3]].append(row)
    distances = collections.defaultdict(list)
    compared = 0
    for gpu, nbytes, start_tick, end_tick in truth:
        ns = (end_tick - start_tick) * TICK_NS
        # In order of completion, and copies of one size are one after the other.
        found = next((r for r in left[nbytes] if r[5] is None or r[6] - r[5] == ns), None)
        if not found:
            fail("no copy of %d bytes and %d ns" % (nbytes, ns))
        left[nbytes].remove(found)
        if gpu not in (found[7], found[8]):
            fail("copy %d is of GPUs %s and %s, done by %d" % (found[0], found[7], found[8], gpu))
        if found[5] is not None:
            distances[gpu].append(found[5] - start_tick * TICK_NS)
            compared += 1
    for gpu, distance in distances.items():
        if max(distance) - min(distance) > TRANSLATION_NS:
            fail("GPU %d: starts are up to %d ns apart from the device's" %
                 (gpu, max(distance) - min(distance)))
    if not compared:
        fail("no times to compare")
    print("compared %d copies, %d with the device's times" % (len(rows), compared))


main()
