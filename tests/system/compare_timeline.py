#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare rtl timeline --json with the software GPU's truth logs, figure by figure.

usage: compare_timeline.py DATABASE TIMELINE_JSON KERNELS_A_STEP TRUTH.csv...

Every kernel of the truth is put on the database's time line (one constant distance for each
process and GPU) and cut at the windows of the steps; unions are made by brute force. Copies are the
database's (compare_copies.py holds those to the truth). Prints what
it compared; exits 1 at the first difference.
"""
import collections
import csv
import json
import sqlite3
import sys

TICK_NS = 10
STREAMS = ("compute", "allreduce", "reducescatter", "communication", "copy")


def fail(text):
    print("compare_timeline: " + text, file=sys.stderr)
    sys.exit(1)


def stream_of(kernel):
    if "nccl" in kernel:
        return ("allreduce" if "AllReduce" in kernel else
                "reducescatter" if "ReduceScatter" in kernel else "communication")
    return "copy" if "rocclr_copy" in kernel else "compute"


def read_truth(paths):
    """(pid, gpu) -> [(start_ns, end_ns, stream)], on the device's own time line"""
    truth = collections.defaultdict(list)
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["kernel"].startswith("softgpu_rocr_") or "done" not in row["flags"].split("|"):
                    continue
                truth[int(row["pid"]), int(row["gpu"])].append(
                    (int(row["start_tick"]) * TICK_NS, int(row["end_tick"]) * TICK_NS,
                     stream_of(row["kernel"])))
    return truth


def figures(events, start, end):
    """What is under way between start and end, by elementary intervals."""
    cuts = sorted({start, end} | {t for a, b, _ in events for t in (a, b) if start < t < end})
    sums = collections.Counter()
    begin = collections.defaultdict(list)
    for a, b, s in events:
        if b > start and a < end:
            begin[max(a, start)].append((b, s))
    active = []
    for a, b in zip(cuts, cuts[1:]):
        active = [x for x in active if x[0] > a] + begin[a]
        on = {s for _, s in active if _ > a}
        comm = on & {"allreduce", "reducescatter", "communication"}
        length = b - a
        for s in on:
            sums[s] += length
        sums["exposed_comm"] += length * (bool(comm) and "compute" not in on)
        sums["exposed_memcpy"] += length * (on == {"copy"})
        sums["compute_comm"] += length * (bool(comm) and "compute" in on)
        sums["compute_allreduce"] += length * ("allreduce" in on and "compute" in on)
        sums["compute_reducescatter"] += length * ("reducescatter" in on and "compute" in on)
        sums["comm"] += length * bool(comm)
        sums["idle"] += length * (not on)
    return sums


def compare_row(row, sums):
    where = "rank %s step %s" % (row["rank"], row["step"])
    wanted = {"computation_time_ns": sums["compute"], "exposed_comm_time_ns": sums["exposed_comm"],
              "exposed_memcpy_time_ns": sums["exposed_memcpy"], "idle_time_ns": sums["idle"],
              "total_comm_time_ns": sums["comm"], "total_memcpy_time_ns": sums["copy"]}
    for key, value in wanted.items():
        if row[key] != value:
            fail("%s: %s is %d, not %d" % (where, key, row[key], value))
    if sum(row[k] for k in list(wanted)[:4]) != row["total_time_ns"]:
        fail(where + ": the parts are not the whole")
    if sum(row["idle_cause_ns"].values()) != row["idle_time_ns"]:
        fail(where + ": the causes are not the idle time")
    for s in STREAMS:
        if abs(row["per_stream_ms"][s] - sums[s] / 1e6) > 1e-9:
            fail("%s: %s" % (where, s))
    for s in ("compute_comm", "compute_allreduce", "compute_reducescatter"):
        if abs(row["overlap_ms"][s] - sums[s] / 1e6) > 1e-9:
            fail("%s: %s" % (where, s))


def main():
    database, timeline, kernels_a_step = sys.argv[1:4]
    truth = read_truth(sys.argv[4:])
    with open(timeline, encoding="utf-8") as file:
        document = json.load(file)
    db = sqlite3.connect("file:%s?mode=ro" % database, uri=True)
    pids = dict(db.execute("SELECT id, pid FROM rtl_process"))
    firsts = {(p, g): s for p, g, s in db.execute(
        "SELECT process_id, gpuId, min(start) FROM rocpd_op GROUP BY 1, 2")}
    copies_of = collections.defaultdict(list)
    for process, gpu, start, end in db.execute(
            """SELECT process_id, coalesce(target_gpuId, source_gpuId), start_ns, end_ns
            FROM rtl_copy WHERE start_ns IS NOT NULL"""):
        copies_of[process, gpu].append((start, end, "copy"))
    steps = copies = 0
    for row in document["rows"]:
        key = (row["process_id"], row["gpuId"])
        events = truth[pids[key[0]], key[1]]
        distance = firsts[key] - min(a for a, _, _ in events)
        events = [(a + distance, b + distance, s) for a, b, s in events] + copies_of[key]
        if row["step"] is None:
            continue
        if row["kernels"] != int(kernels_a_step):
            fail("rank %s step %s: %d kernels" % (row["rank"], row["step"], row["kernels"]))
        sums = figures(events, row["start_ns"], row["end_ns"])
        compare_row(row, sums)
        steps += 1
        copies += row["copies"]
    print("%d steps, %d copies" % (steps, copies))
    if not steps:
        fail("no step was compared")


if __name__ == "__main__":
    main()
