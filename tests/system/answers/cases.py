#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cases.py RTL: what summary, timeline, collectives, tree and diagnose say of nine cases, each
worked out by hand; ns after START. tests/system/answers/README.md lists them.

Ranks count their ids from 1, so equal ids meet in every case.
"""
import os
import pathlib
import sqlite3
import sys
import tempfile

from asking import ask, rtl, same, table
from session import GENERIC, START, Job, Kernel, Part, Process

GEMM, ADD = 0, 2


class Said:
    """What each verb says of a job, as short tuples."""

    def __init__(self, job, folder, change=""):
        self.path = folder / "case.db"
        job.store(self.path)
        if change:
            db = sqlite3.connect(self.path)
            db.executescript(change)
            db.close()
        self.summary = ask("summary", self.path)

    def kernels(self):
        """calls, total, min, p50, max of each, by name"""
        return {k["name"].split("_")[0]: (k["calls"], k["total_ns"], k["min_ns"], k["p50_ns"], k["max_ns"])
                for k in self.summary["kernels"]}

    def busy(self):
        return {r["rank"]: r["busy_ns"] for r in self.summary["ranks"]}

    def timeline(self):
        """(rank, step): wall, computation, exposed communication, exposed copies, idle"""
        return {(r["rank"], r["step"]): tuple(r[f"{part}_time_ns"] for part in (
            "total", "computation", "exposed_comm", "exposed_memcpy", "idle"))
            for r in ask("timeline", self.path)["rows"] if r["step"] is not None}

    def collectives(self, *fields):
        return {(r["comm"], r["seq"]): tuple(r[f] for f in fields)
                for r in table("collectives", self.path, "operations")}

    def tree(self, *fields, by="rank"):
        paths, out = {0: ""}, {}
        for n in ask("tree", self.path, "--by", by)["nodes"]:
            paths[n["id"]] = f"{paths[n['parent']]}/{n['name']}"
            out[paths[n["id"]][1:]] = tuple(n[f] for f in fields)
        return out

    def diagnose(self):
        """kernels, untimed, busy of each rank; level and rank of what is found"""
        d = ask("diagnose", self.path)
        return ([(p["kernels"], p["untimed"], p["busy_ns"]) for p in d["processes"]],
                [(f["level"], f["rank"]) for f in d["findings"]])


def compute(p, start, length, what=GEMM, submit=None, marker=None, call=None, queue=0):
    p.kernels.append(Kernel(p.rank, queue, what, start, length, start if submit is None else submit, 7,
                            marker, call))


def allreduce(p, seq, start, length, size=2, comm=7):
    """A call of 1 ns, 5 ns before its kernel."""
    call = p.call("ncclAllReduce", None, None, 7, start - 5, start - 4)
    p.parts.append(Part(comm, p.rank, size, seq, "ncclAllReduce", call, call))
    compute(p, start, length, GENERIC, start - 4, call=call, queue=comm)


def ranks(count):
    return [Process(rank) for rank in range(count)]


def nesting(folder):
    """A range in a step, a call in a call; kernels belong to the innermost, and count once above."""
    p, = ranks(1)
    step = p.range("step 1", None, 7, 0, 100)
    forward = p.range("forward", step, 7, 10, 60)
    outer = p.call("train", None, forward, 7, 12, 40)
    inner = p.call("hipLaunchKernel", outer, forward, 7, 20, 30)
    compute(p, 30, 10, submit=25, marker=forward, call=inner)
    compute(p, 50, 20, ADD, 45, forward)
    compute(p, 80, 5, ADD, 75, step)
    said = Said(Job([p], True), folder)
    same("summary", said.kernels(), {"Cijk": (1, 10, 10, 10, 10), "vectorized": (2, 25, 5, 5, 20)})
    same("by marker", {g["group"]: (g["calls"], g["total_ns"]) for g in ask("summary", said.path, "--by", "marker")["groups"]},
         {"forward": (2, 30), "step N": (1, 5)})
    same("timeline", said.timeline(), {(0, 1): (100, 35, 0, 0, 65)})
    at = "rank 0/thread 7/step N"
    same("tree", said.tree("gpu_ns", "gpu_self_ns", "kernels", "launch_mean_ns"), {
        "rank 0": (35, 0, 3, 10), "rank 0/thread 7": (35, 0, 3, 10), at: (35, 5, 3, 10),
        f"{at}/forward": (30, 20, 2, 10), f"{at}/forward/train": (10, 0, 1, 10),
        f"{at}/forward/train/hipLaunchKernel": (10, 10, 1, 10),
        f"{at}/forward/train/hipLaunchKernel/Cijk_Ailk_Bljk_HHS": (10, 10, 1, 10),
        f"{at}/forward/vectorized_elementwise_kernel": (20, 20, 1, None),
        f"{at}/vectorized_elementwise_kernel": (5, 5, 1, None)})
    same("collectives", said.collectives(), {})
    same("diagnose", said.diagnose(), ([(3, 0, 35)], []))


def concurrency(folder):
    """[0, 10] and [2, 4] of two queues, an all-reduce [3, 13] of a third: sums add up, unions do not."""
    a, b = ranks(2)
    for p in a, b:
        compute(p, 0, 10)
        compute(p, 2, 2, ADD, queue=1)
        allreduce(p, 0, 3, 10)
    said = Said(Job([a, b], True), folder)
    same("summary", said.kernels(), {"Cijk": (2, 20, 10, 10, 10), "vectorized": (2, 4, 2, 2, 2),
                                     "ncclDevKernel": (2, 20, 10, 10, 10)})
    same("busy", said.busy(), {0: 13, 1: 13})
    same("utilization", [g["utilization_pct"] for g in said.summary["gpus"]], [100, 100])
    same("timeline", said.timeline(), {(0, 0): (13, 10, 3, 0, 0), (1, 0): (13, 10, 3, 0, 0)})
    row = ask("timeline", said.path)["rows"][0]
    same("overlap", (row["overlap_ms"]["compute_comm"], row["active_segment_count"]), (7e-6, 3))
    same("collectives", said.collectives("latency_ns", "skew_start_ns"), {("7", "0"): ("10", "0")})
    same("tree", said.tree("gpu_ns", "kernels")["rank 0"], (22, 3))
    same("diagnose", said.diagnose(), ([(3, 0, 13), (3, 0, 13)], []))


def zero_length(folder):
    """A kernel that takes no time is a call, and neither work nor the end of a gap."""
    a, b = ranks(2)
    for p in a, b:
        compute(p, 0, 10)
        compute(p, 15, 0)
        allreduce(p, 0, 20, 0)
        compute(p, 40, 10)
    said = Said(Job([a, b], True), folder)
    same("summary", said.kernels(), {"Cijk": (6, 40, 0, 10, 10), "ncclDevKernel": (2, 0, 0, 0, 0)})
    same("busy", said.busy(), {0: 20, 1: 20})
    same("timeline", said.timeline(), {(0, 0): (50, 20, 0, 0, 30), (1, 0): (50, 20, 0, 0, 30)})
    same("segments", ask("timeline", said.path)["rows"][0]["active_segment_count"], 2)
    same("collectives", said.collectives("latency_ns", "algbw_gb_per_s", "state"), {("7", "0"): ("0", "", "timed")})
    same("tree", said.tree("gpu_ns", "kernels")["rank 1"], (20, 4))
    same("diagnose", said.diagnose(), ([(4, 0, 20), (4, 0, 20)], []))


def trailing_idle(folder):
    """[0, 5] and [8, 10] in a step of 100: 3 and 90 are idle."""
    a, b = ranks(2)
    for p in a, b:
        step = p.range("step 4", None, 7, 0, 100)
        compute(p, 0, 5, marker=step)
        allreduce(p, 0, 8, 2)
    said = Said(Job([a, b], True), folder)
    same("summary", said.kernels(), {"Cijk": (2, 10, 5, 5, 5), "ncclDevKernel": (2, 4, 2, 2, 2)})
    same("busy", said.busy(), {0: 7, 1: 7})
    same("timeline", said.timeline(), {(0, 4): (100, 5, 2, 0, 93), (1, 4): (100, 5, 2, 0, 93)})
    same("collectives", said.collectives("latency_ns", "start_ns"), {("7", "0"): ("2", str(START + 8))})
    same("tree", said.tree("gpu_ns", "host_ns")["rank 0/thread 7/step N"], (5, 100))
    same("diagnose", said.diagnose(), ([(2, 0, 7), (2, 0, 7)], []))


def overlapping_collectives(folder):
    """Two communicators at once: [10, 40] and, on rank 1 from 25, [20, 60]; then [70, 90] on the first."""
    a, b = ranks(2)
    for p in a, b:
        allreduce(p, 0, 10, 30)
        allreduce(p, 0, 20 + 5 * p.rank, 40 - 5 * p.rank, comm=9)
        allreduce(p, 1, 70 + 8 * p.rank, 20 - 8 * p.rank)
    said = Said(Job([a, b], True), folder)
    same("summary", said.kernels(), {"ncclDevKernel": (6, 167, 12, 30, 40)})
    same("busy", said.busy(), {0: 70, 1: 62})
    same("timeline", said.timeline(), {(0, 0): (80, 0, 70, 0, 10), (1, 0): (80, 0, 62, 0, 18)})
    # Both had left the others at 60; rank 1 submits 8 later. The clocks are known to 3 each, so to be 5 late is not.
    same("collectives", said.collectives("latency_ns", "skew_start_ns", "last_rank", "earlier_ns", "host_ns", "idle_ns"), {
        ("7", "0"): ("30", "0", "", "", "", ""), ("9", "0"): ("35", "5", "", "", "", ""),
        ("7", "1"): ("12", "8", "1", "0", "8", "0")})
    same("tree", said.tree("gpu_ns", "kernels")["rank 1/thread 7/ncclAllReduce"], (77, 3))
    same("diagnose", said.diagnose(), ([(3, 0, 70), (3, 0, 62)], []))


def missing_collective(folder):
    """Rank 1's second of three has no record, nor a kernel: it shifts nothing."""
    a, b = ranks(2)
    for seq in range(3):
        for p in a, b:
            if (p, seq) != (b, 1):
                allreduce(p, seq, seq * 100 + 10 * p.rank, 50 - 10 * p.rank)
    said = Said(Job([a, b], True), folder)
    same("summary", said.kernels(), {"ncclDevKernel": (5, 230, 40, 50, 50)})
    same("timeline", said.timeline(), {(0, 0): (250, 0, 150, 0, 100), (1, 0): (240, 0, 80, 0, 160)})
    same("collectives", said.collectives("state", "latency_ns", "skew_start_ns"), {
        ("7", "0"): ("timed", "40", "10"), ("7", "2"): ("timed", "40", "10"), ("7", "1"): ("incomplete", "", "")})
    same("missing", [(m["rank"], m["seq"]) for m in ask("collectives", said.path)["missing"]], [(1, 1)])
    same("tree", said.tree("gpu_ns", "kernels")["rank 1/thread 7/ncclAllReduce"], (80, 2))
    same("diagnose", said.diagnose(), ([(3, 0, 150), (2, 0, 80)], [("NOTE", 1)]))


def dropped_record(folder):
    """One gemm of rank 0 was dropped, and the ledger says so: the others stay where they were."""
    a, b = ranks(2)
    for p in a, b:
        for n in range(4):
            step = p.range(f"step {n}", None, 7, n * 100, n * 100 + 100)
            if (p, n) != (a, 1):
                compute(p, n * 100, 30, marker=step)
            allreduce(p, n, n * 100 + 30, 20)
    said = Said(Job([a, b], True), folder,
                "UPDATE rtl_queue SET dispatched = dispatched + 1, dropped = 1 WHERE process_id = 1 AND queueId = 0;"
                "INSERT INTO rtl_counter_base VALUES (1, 0, 'dropped_recorder_full', 1)")
    same("summary", said.kernels(), {"Cijk": (7, 210, 30, 30, 30), "ncclDevKernel": (8, 160, 20, 20, 20)})
    same("complete", (said.summary["complete"], said.summary["dropped"]), (False, 1))
    whole = (100, 30, 20, 0, 50)
    same("timeline", said.timeline(), {(p.rank, n): (100, 0, 20, 0, 80) if (p, n) == (a, 1) else whole
                                       for p in (a, b) for n in range(4)})
    same("collectives", said.collectives("latency_ns", "skew_start_ns"),
         {("7", str(n)): ("20", "0") for n in range(4)})
    same("tree", said.tree("gpu_ns", "kernels")["rank 0/thread 7/step N"], (90, 3))
    same("diagnose", said.diagnose(), ([(8, 0, 170), (8, 0, 200)], [("NOTE", 0), ("NOTE", None)]))  # what is lost is no work saved
    rtl("summary", "--strict", said.path, status=3)


def clock_offset(folder):
    """Rank 1's clock is 7 ns ahead, and known to 10: no rank is late; its own figures are the same. With 50
    rank 0 leaves long before rank 1 comes: no time of that can be."""
    for offset, skew, late in ((0, "0", ""), (7, "7", ""), (15, "15", "1"), (50, "", "")):
        a, b = ranks(2)
        b.shift = offset
        for p in a, b:
            for n in range(2):
                compute(p, n * 100, 30)
                allreduce(p, n, n * 100 + 40, 20)
        said = Said(Job([a, b], True), folder, "UPDATE rtl_clock_check SET error_max_ns = 5")
        same("summary", said.kernels(), {"Cijk": (4, 120, 30, 30, 30), "ncclDevKernel": (4, 80, 20, 20, 20)})
        same("timeline", said.timeline(), {(0, 0): (160, 60, 40, 0, 60), (1, 0): (160, 60, 40, 0, 60)})
        same("collectives", said.collectives("skew_start_ns", "last_rank"), {
            ("7", str(n)): (skew, late) for n in range(2)})
        same("tree", said.tree("gpu_ns", "launch_mean_ns")["rank 1/thread 7/ncclAllReduce"], (40, 5))
        same("diagnose", said.diagnose(), ([(4, 0, 100), (4, 0, 100)], []))


def untimed_dispatches(folder):
    """A gemm and an all-reduce of rank 1 have no times: counted everywhere, in no time anywhere."""
    a, b = ranks(2)
    for p in a, b:
        compute(p, 0, 30)
        compute(p, 40, 10)
        allreduce(p, 0, 60, 20)
        allreduce(p, 1, 90, 10)
    for k in b.kernels[1], b.kernels[2]:
        k.start, k.length = None, 0
    said = Said(Job([a, b], True), folder)
    same("summary", said.kernels(), {"Cijk": (4, 70, 10, 30, 30), "ncclDevKernel": (4, 40, 10, 10, 20)})
    same("untimed", (said.summary["untimed"], said.summary["complete"]), (2, False))
    same("timeline", said.timeline(), {(0, 0): (100, 40, 30, 0, 30), (1, 0): (100, 30, 10, 0, 60)})
    same("counted", [(r["kernels"], r["untimed"]) for r in ask("timeline", said.path)["rows"]], [(4, 0), (2, 2)])
    same("collectives", said.collectives("state", "latency_ns"), {("7", "1"): ("timed", "10"), ("7", "0"): ("untimed", "")})
    same("tree", said.tree("gpu_ns", "kernels", "untimed")["rank 1"], (40, 4, 2))
    same("diagnose", said.diagnose()[0], [(4, 0, 70), (4, 2, 40)])


CASES = (nesting, concurrency, zero_length, trailing_idle, overlapping_collectives, missing_collective,
         dropped_record, clock_offset, untimed_dispatches)


def run(cases):
    """Each in a folder of its own; says which fail."""
    failed = 0
    os.environ.pop("RTL_CATEGORIES", None)
    for case in cases:
        with tempfile.TemporaryDirectory() as name:
            try:
                case(pathlib.Path(name))
                print(f"ok - {case.__name__}")
            except AssertionError as error:
                failed += 1
                print(f"not ok - {case.__name__}: {error}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    run(CASES)
