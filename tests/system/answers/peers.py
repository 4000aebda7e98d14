#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""peers.py RTL: where AORTA, TraceLens and rocm-trace-lite answer wrongly, the right answer; ns after
START. tests/system/answers/README.md has the tools and their answers, and lists the cases that other tests have."""
import sqlite3

from asking import ask, close, rtl, same, table
from cases import ADD, Said, allreduce, compute, ranks, run
from properties import page
from session import START, Copy, Job


def markers_are_on_no_gpu(folder):
    """Markers make no "GPU -1", and do not lie on GPU 0."""
    p, = ranks(1)
    outer = p.range("epoch 1", None, 7, 0, 90)
    p.range("forward", outer, 7, 10, 60)
    compute(p, 20, 10, marker=outer)
    p.kernels[0].gpu = 3
    said = Said(Job([p], True), folder, "INSERT INTO rtl_gpu SELECT 0, 9, 9, 0, 'b', 'u', 0, 'gfx90a', 'x'")
    same("GPUs", [(g["gpuId"], g["ops"], g["busy_ns"]) for g in said.summary["gpus"]], [(3, 1, 10)])
    same("top kernels", [k["name"] for k in said.summary["kernels"]], ["Cijk_Ailk_Bljk_HHS"])
    same("time lines", {(r["gpuId"], r["busy_time_ns"]) for r in ask("timeline", said.path)["rows"]}, {(3, 10)})
    same("drawn", set(page(said.path)["events"]), {"rank 0, GPU 3"})
    same("ranges", said.tree("host_ns", "gpu_ns")["rank 0/thread 7/epoch 1/forward"], (50, 0))


def what_runs_at_once_is_busy_once(folder):
    """Two queues, [0, 100] both: busy 100 %, not 200."""
    p, = ranks(1)
    compute(p, 0, 100)
    compute(p, 0, 100, queue=1)
    said = Said(Job([p], False), folder)
    same("busy", [(g["busy_ns"], g["utilization_pct"]) for g in said.summary["gpus"]], [(100, 100)])
    same("sum", said.kernels()["Cijk"][:2], (2, 200))


def a_process_without_kernels_is_kept(folder):
    """It had a range, calls and a pid: all of them are there."""
    a, b = ranks(2)
    compute(a, 0, 10, marker=a.range("train", None, 7, 0, 10))
    evaluate = b.range("evaluate", None, 7, 5, 25)
    b.call("hipMalloc", None, evaluate, 7, 6, 9)
    b.call("hipFree", None, evaluate, 7, 10, 12)
    said = Said(Job([a, b], True), folder, "INSERT INTO rtl_counter_base VALUES (2, -1, 'queues_created', 0)")
    same("ranks", [(r["rank"], r["pid"], r["dispatched"]) for r in said.summary["ranks"]], [(0, 900, 1), (1, 901, 0)])
    same("calls", {c["name"]: (c["calls"], c["total_ns"]) for c in said.summary["host_calls"]},
         {"hipMalloc": (1, 3), "hipFree": (1, 2)})
    at = "rank 1/thread 7/evaluate"
    same("tree", {k: v for k, v in said.tree("kernels", "count", "host_ns").items() if k.startswith(at)},
         {at: (0, 1, 20), f"{at}/hipMalloc": (0, 1, 3), f"{at}/hipFree": (0, 1, 2)})
    same("merged", said.tree("processes", by="merged")["evaluate"], (1,))
    same("diagnose", ("MISSING", 1) in said.diagnose()[1], True)
    db = sqlite3.connect(said.path)
    same("stored", db.execute("SELECT count(*), count(pid) FROM rocpd_api").fetchone(), (2, 2))


def what_a_range_caused_is_kept_for_every_rank(folder):
    """Ids of ranges and calls stand on the kernels of all ranks, in the file that was written."""
    job = Job(ranks(3), True)
    for p in job.processes:
        for n in range(2 + p.rank):
            span = p.range("step", None, 7, n * 10, n * 10 + 9)
            compute(p, n * 10 + 5, 2, marker=span, call=p.call("hipLaunchKernel", None, span, 7, n * 10, n * 10 + 1))
    said = Said(job, folder)
    db = sqlite3.connect(said.path)
    same("ops", db.execute("SELECT count(*), count(roctxId), count(correlation_id) FROM rocpd_op").fetchone(), (9, 9, 9))
    same("calls", db.execute("SELECT count(*) FROM rocpd_api").fetchone(), (9,))
    same("by marker", [(g["group"], g["calls"]) for g in ask("summary", said.path, "--by", "marker")["groups"]],
         [("step", 9)])


def the_total_is_of_the_work(folder):
    """A process that lives from 0 to 10,000 works from 4,000 to 4,100: 20 of these 100 are idle."""
    p, = ranks(1)
    compute(p, 4000, 50)
    compute(p, 4070, 30)
    said = Said(Job([p], False), folder, f"UPDATE rtl_process SET start_ns = {START}, end_ns = {START + 10_000}")
    same("timeline", said.timeline(), {(0, 0): (100, 80, 0, 0, 20)})
    same("busy", [round(g["utilization_pct"]) for g in said.summary["gpus"]], [80])
    close("the reason's", said.summary["reason"]["all"]["idle_pct"], 20)


def short_kernels_count(folder):
    """1 ns each, far below the 5,000 under which TraceLens's pftrace reports drop them."""
    p, = ranks(1)
    for n in range(100):
        compute(p, n * 10, 1)
    said = Said(Job([p], False), folder)
    same("summary", said.kernels()["Cijk"], (100, 100, 1, 1, 1))
    same("timeline", said.timeline(), {(0, 0): (991, 100, 0, 0, 891)})


def a_collective_takes_as_long_as_its_kernel(folder):
    """The call returns after 1 ns; its kernel begins 55 later and takes 40, the second one 20."""
    a, b = ranks(2)
    for p in a, b:
        allreduce(p, 0, 60, 40)
        allreduce(p, 1, 200 + 10 * p.rank, 30 - 10 * p.rank)
    said = Said(Job([a, b], True), folder)
    same("calls", [(c["calls"], c["total_ns"], c["dispatches"]) for c in said.summary["host_calls"]], [(4, 4, 4)])
    same("latency", said.collectives("latency_ns", "comm_latency_ns"), {("7", "0"): ("40", "40"), ("7", "1"): ("20", "20")})
    row = ask("timeline", said.path)["rows"][0]
    close("per stream", row["per_stream_ms"]["allreduce"], 70e-6)
    close("overlap is another figure", row["overlap_ms"]["compute_allreduce"], 0)


def ratios_are_there_and_unknown_is_not_zero(folder):
    """100 of computation, 10 of communication under it, of 120: 0.1 of one, all of the other; where there
    is no communication there is no ratio, and not 0.0."""
    a, b = ranks(2)
    compute(a, 0, 100)
    compute(a, 110, 10, what=6)  # a copy, by a kernel
    for p in a, b:
        allreduce(p, 0, 20, 10)
    said = Said(Job([a, b], True), folder)
    one, other = ask("timeline", said.path)["ranks"]
    same("ratios", (one["overlap_ratio"], one["comm_hidden_ratio"]), (0.1, 1))
    close("overlap", one["overlap_ms"]["compute_comm"], 10e-6)
    same("per stream", {k: round(v * 1e6) for k, v in one["per_stream_ms"].items()},
         {"compute": 100, "allreduce": 10, "reducescatter": 0, "communication": 0, "copy": 10})
    same("utilization", round(one["utilization"]["compute"], 9), round(100 / 120, 9))
    same("unknown", (other["overlap_ratio"], other["comm_hidden_ratio"]), (None, 0))
    a, = ranks(1)
    compute(a, 0, 10)
    lone, = ask("timeline", Said(Job([a], False), folder).path)["ranks"]
    same("no communication", (lone["overlap_ratio"], lone["comm_hidden_ratio"]), (0, None))


def latency_of_calls_with_equal_ids(folder):
    """Three launches of each rank have the same numbers; rank 0's wait 10, 20, 30, rank 1's 1000 times that."""
    a, b = ranks(2)
    for p, scale in ((a, 1), (b, 1000)):
        for n in range(3):
            at = n * 100_000
            call = p.call("hipLaunchKernel", None, None, 7, at, at + 5)
            compute(p, at + 10 * (n + 1) * scale, 7, submit=at, call=call)
    said = Said(Job([a, b], True), folder)
    same("summary", [(c["calls"], c["dispatches"], c["latency_ns"]) for c in said.summary["host_calls"]], [(6, 6, 10_010)])
    same("tree", said.tree("launch_mean_ns", "launch_max_ns", by="merged")["hipLaunchKernel"], (10_010, 30_000))
    same("each", {k: v for k, v in said.tree("launch_mean_ns", "kernels").items() if k.endswith("hipLaunchKernel")},
         {"rank 0/thread 7/hipLaunchKernel": (20, 3), "rank 1/thread 7/hipLaunchKernel": (20_000, 3)})


def the_straggler_is_the_rank_that_comes_last(folder):
    """Rank 2 of three comes 40 after the others to each of twelve. It costs them 4 % of the time, and is not named."""
    job = Job(ranks(3), True)
    for n in range(12):
        for p in job.processes:
            at = n * 1000
            compute(p, at, 100 + 40 * (p.rank == 2))
            allreduce(p, n, at + 100 + 40 * (p.rank == 2), 100 - 40 * (p.rank == 2), size=3)
    said = Said(job, folder)
    rows = table("collectives", said.path, "ranks")
    same("waits", {r["rank"]: (r["times_arrived_last"], r["mean_wait_ns"], r["cause"]) for r in rows},
         {"0": ("0", "40", ""), "1": ("0", "40", ""), "2": ("12", "0", "compute")})
    same("said", ask("collectives", said.path)["reading"].split(":")[0], "no rank stands out")


def copies_of_two_gpus_are_of_both(folder):
    """A copy from the host to GPU 0 is not one within GPU 0: nothing is missing that is 0."""
    p, = ranks(1)
    compute(p, 0, 10)
    p.copies = [Copy(None, 0, 20, 30, 15), Copy(0, None, 40, 45, 35)]
    said = Said(Job([p], False), folder)
    same("timeline", said.timeline(), {(0, 0): (45, 10, 0, 15, 20)})
    same("drawn", [(length, name) for _, length, name in page(said.path)["events"]["rank 0, GPU 0"]],
         [(10, "Cijk_Ailk_Bljk_HHS"), (10, "copy h2d"), (5, "copy h2d")])


def the_invariant_holds_where_compute_overlaps_itself(folder):
    """Three gemms at once over one all-reduce: overlap is 10, not 30, and nothing exposed is negative."""
    a, b = ranks(2)
    for p in a, b:
        for q in range(3):
            compute(p, 0, 10, ADD, queue=q)
        allreduce(p, 0, 2, 8)
    said = Said(Job([a, b], True), folder)
    same("timeline", said.timeline()[0, 0], (10, 10, 0, 0, 0))
    rtl("timeline", "--strict", said.path)


CASES = (markers_are_on_no_gpu, what_runs_at_once_is_busy_once, a_process_without_kernels_is_kept,
         what_a_range_caused_is_kept_for_every_rank, the_total_is_of_the_work, short_kernels_count,
         a_collective_takes_as_long_as_its_kernel, ratios_are_there_and_unknown_is_not_zero,
         latency_of_calls_with_equal_ids, the_straggler_is_the_rank_that_comes_last, copies_of_two_gpus_are_of_both,
         the_invariant_holds_where_compute_overlaps_itself)

if __name__ == "__main__":
    run(CASES)
