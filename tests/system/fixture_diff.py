#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a training run whose figures are worked out by hand: fixture_diff.py SCHEMA FILE [KEY=VALUE...].

Times are us. Each step is a range of `period` (+ `wobble` in odd steps); in it a gemm of `gemm` (+ `slow` on
rank `slow_rank`; + `jitter` in odd steps; + `warm` in the first), and an all-reduce of `comm` that begins
`hidden` before the gemm ends. `late`: `late_rank` begins so much later, all others wait for it in the all-reduce,
and the step is as much longer. `longer`: the steps of `longer_rank` are.
`prefill`: so many of the steps, spread evenly, are of another kind: `prefill_us` longer, with three kernels of
`prefill_kernel` in place of the gemm.
`prefix`: of the names of all kernels. `extra`: one more kernel of that length after it. `missing`: this rank is absent.
`lost`: so many dispatches were dropped. `untimed`: so many of each rank have no times, because of the mode.
`markers=0`: no ranges. `fewer`: this rank has a step less. `again`: rank 0 does all of it twice at once, on another
GPU (`gpu`); or as a later attempt (`process`). `helper`: each rank has so many processes more that do not lead it,
on its GPU: a preflight before it (`preflight`: one long kernel and an all-reduce), an autotuning child after it
(`child`: kernels of a name of their own) or an attempt that failed in its second step (`attempt`).
"""
import sys

from fixture import START, counters, gpu, kernel, open_db, process, queue, session, shape, text

US = 1000
NAMES = [("gemm_f16(float*)", "_Z8gemm_f16Pf.kd"),
         ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(void*)", "ncclDevKernel_AllReduce.kd"),
         ("new_kernel(int)", "_Z10new_kerneli.kd")]
DEFAULTS = {"ranks": 2, "steps": 5, "period": 1000, "wobble": 0, "gemm": 400, "jitter": 0, "warm": 0,
            "slow": 0, "slow_rank": 0, "comm": 200, "hidden": 50, "extra": 0, "missing": -1, "lost": 0,
            "untimed": 0, "markers": 1, "live": 0, "simulated": 1, "name": "job-1", "mode": "lite",
            "front_end": "shadow", "gfx": "gfx90a", "rule": "", "recording": 0, "loss": "",
            "kernels": 1, "fewer": -1, "again": "", "first_gpu": 0, "helper": "", "prefix": "", "late": 0,
            "late_rank": 0, "longer": 0, "longer_rank": -1,
            "prefill": 0, "prefill_us": 3000, "prefill_kernel": 1000}


def is_prefill(o, at):
    return at > 0 and at * o["prefill"] // o["steps"] != (at - 1) * o["prefill"] // o["steps"]


def step(db, o, rank, process_id, at, add):
    begin = START + sum(o["period"] + o["late"] + o["wobble"] * (n % 2)
                        + o["prefill_us"] * is_prefill(o, n) for n in range(at)) * US
    if rank == o["longer_rank"]:
        begin += o["longer"] * at * US
    length = o["period"] + o["wobble"] * (at % 2) + o["prefill_us"] * is_prefill(o, at)
    gemm = (o["gemm"] + (o["slow"] if rank == o["slow_rank"] else 0) + o["jitter"] * (at % 2)
            + (o["warm"] if at == 0 else 0))
    length += o["late"] + (o["longer"] if rank == o["longer_rank"] else 0)
    wait = o["late"] if rank != o["late_rank"] else 0
    if o["markers"]:
        db.execute("INSERT OR IGNORE INTO rtl_marker_base VALUES (?, ?, NULL, 7, 'push', ?, ?, ?)",
                   (process_id, at + 1, text(db, f"step {at}"), begin, begin + length * US))
    start = begin + (o["late"] - wait) * US
    if is_prefill(o, at):
        for n in range(3):
            add(2, start + n * o["prefill_kernel"] * US, o["prefill_kernel"])
        gemm = 3 * o["prefill_kernel"]
    else:
        add(0, start, gemm)
    add(1, start + (gemm - o["hidden"]) * US, o["comm"] + wait)
    if o["extra"]:
        add(2, start + (gemm - o["hidden"] + o["comm"] + wait) * US, o["extra"])


def run_rank(db, o, rank, ids, process_id, gpu_id, queue_id):
    first = db.execute("SELECT coalesce(max(id), 0) + 1 FROM rtl_shape").fetchone()[0]
    rows = []

    def add(which, start, length):
        is_untimed = o["untimed"] and len(rows) >= o["steps"] * 2 - o["untimed"]
        rows.append((first + which, len(rows), None if is_untimed else start,
                     None if is_untimed else length * US, START if is_untimed else 0, 7,
                     8 if is_untimed else None))

    if not db.execute("SELECT 1 FROM rtl_gpu WHERE gpuId = ?", (gpu_id,)).fetchone():
        gpu(db, gpu_id, o["simulated"])
    for i, k in enumerate(ids):
        shape(db, first + i, process_id, gpu_id, queue_id, k)
    for at in range(o["steps"] - (rank == o["fewer"])):
        step(db, o, rank, process_id, at, add)
    if not o["kernels"]:
        rows = []
    db.executemany("INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, untimed)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    queue(db, process_id, queue_id, gpu_id, dispatched=len(rows) + o["lost"], stored=len(rows),
          untimed=o["untimed"], dropped=o["lost"])
    if o["untimed"]:
        counters(db, process_id, queue_id, {"untimed_mode": o["untimed"]})
    if o["lost"]:
        counters(db, process_id, queue_id, {"dropped_recorder_full": o["lost"]})


def record(db, o, process_id):
    """As every process says it since schema 5; recording: with a pause."""
    if db.execute("PRAGMA user_version").fetchone()[0] < 5:
        return
    pause = (START + 1, "control") if o["recording"] else (None, None)
    db.execute("INSERT INTO rtl_recording VALUES (?, ?, ?, 'start', ?)", (process_id, START, *pause))
    if o["recording"]:
        db.execute("INSERT INTO rtl_recording VALUES (?, ?, NULL, 'control', NULL)", (process_id, START + 2))


def run_helper(db, o, rank, ids, process_id):
    """A process that has the rank of another one."""
    start = START - 1000 if o["helper"] == "preflight" else START + 1000
    process(db, process_id, rank)
    db.execute("UPDATE rtl_process SET start_ns = ?, attempt = ? WHERE id = ?",
               (start, 0 if o["helper"] == "attempt" else None, process_id))
    if o["helper"] == "attempt":
        db.execute("UPDATE rtl_process SET attempt = 1 WHERE id = ?", (rank + 1,))
        run_rank(db, dict(o, steps=2), rank, ids, process_id, o["first_gpu"] + rank, 5)
    else:
        name = ids[:2] if o["helper"] == "preflight" else [kernel(db, "autotune(int)", "_Z8autotunei.kd")] * 2
        run_rank(db, dict(o, steps=1, markers=0, gemm=90000, extra=0), rank, name, process_id,
                 o["first_gpu"] + rank, 5)


def make(db, o):
    session(db, name=o["name"], simulated=o["simulated"], closed=not o["live"])
    ids = [kernel(db, o["prefix"] + n, s) for n, s in NAMES]
    for rank in range(o["ranks"]):
        process(db, rank + 1, rank)
        if rank != o["missing"]:
            run_rank(db, o, rank, ids, rank + 1, o["first_gpu"] + rank, 0)
        record(db, o, rank + 1)
    if o["again"] == "gpu":
        run_rank(db, o, 0, ids, 1, o["ranks"] + 10, 1)
    if o["again"] == "process":
        process(db, o["ranks"] + 10, 0)
        run_rank(db, o, 0, ids, o["ranks"] + 10, o["ranks"] + 10, 0)
    if o["helper"]:
        for rank in range(o["ranks"]):
            run_helper(db, o, rank, ids, o["ranks"] + 20 + rank)
    db.execute("UPDATE rtl_process SET mode = ?, front_end = ?", (o["mode"], o["front_end"]))
    db.execute("UPDATE rtl_gpu SET gfx = ?", (o["gfx"],))
    if o["rule"]:
        db.execute("INSERT INTO rtl_category VALUES (-1, ?, NULL, '*gemm*', 'user')", (o["rule"],))
    loss = text(db, "loss")
    for n, value in enumerate(str(o["loss"]).split(",") if o["loss"] else []):
        db.execute("INSERT INTO rtl_metric_base (process_id, marker_id, parent, tid, time_ns, name_id, value) VALUES (1, ?, NULL, 7, ?, ?, ?)",
                   (1000 + n, START + n, loss, float(value)))


def main():
    schema, path = sys.argv[1:3]
    options = dict(DEFAULTS)
    for pair in sys.argv[3:]:
        key, value = pair.split("=", 1)
        options[key] = type(DEFAULTS[key])(value)
    db = open_db(schema, path)
    make(db, options)
    db.execute("COMMIT")
    db.close()


if __name__ == "__main__":
    main()
