#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes session databases for tests of the cli, without a collector: fixture.py KIND SCHEMA FILE.

clean    2 ranks on 2 GPUs, everything timed, complete
lossy    rank 1 drops, an untimed dispatch, one outstanding, a process that dispatched nothing
helper   as clean, and a process without kernels that has inherited rank 0
hostile  names with escapes, quotes, formulas, bytes that are no UTF-8
live     as clean, but the session is open
hung     8 ranks that were killed: rank 3 was not in the all-reduce that the others waited in
shared   2 processes on one GPU, overlapping and out of order
uneven   rank 1 with few kernels, rank 2 with less, rank 3 slow, 4 and 5 absent, 6 idle
big N    8 GPUs of N dispatches each (for measuring by hand)
"""
import functools
import os
import pathlib
import sqlite3
import sys

APPLICATION_ID = 0x52544C64
START = 5_000_000_000
UNTIMED = ("shared", "ipc", "early", "signal_pool", "timestamp_invalid", "timestamp_failed", "unstamped", "mode")


@functools.cache
def empty(schema):
    """A database without rows but those of reasons, as bytes. The migrations take longer than most tests' rows: a program runs them once, and so do
    the tests of a bats file together."""
    kept = os.environ.get("BATS_FILE_TMPDIR")
    path = pathlib.Path(kept, "empty" + os.path.realpath(schema).replace("/", ",")) if kept else None
    if path and path.exists():
        return path.read_bytes()
    with sqlite3.connect(":memory:", isolation_level=None) as db:
        migrations = sorted(pathlib.Path(schema).glob("*.sql"))
        for migration in migrations:
            db.executescript("BEGIN;" + migration.read_text(encoding="utf-8") + "COMMIT;")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(migrations)}")
        db.execute("DELETE FROM rtl_untimed_reason")
        db.executemany("INSERT INTO rtl_untimed_reason VALUES (?, ?)",
                       [(i + 1, "untimed_" + reason) for i, reason in enumerate(UNTIMED)])
        made = db.serialize()
    if path:
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(made)
        part.rename(path)
    return made


def open_db(schema, path):
    """A database without rows."""
    with open(path, "xb") as file:
        file.write(empty(schema))
    db = sqlite3.connect(path, isolation_level=None)
    db.text_factory = bytes
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    return db


def text(db, value):
    if isinstance(value, bytes):
        return db.execute("INSERT INTO rocpd_string (string) VALUES (CAST(? AS TEXT))",
                          (value,)).lastrowid
    return db.execute("INSERT INTO rocpd_string (string) VALUES (?)", (value,)).lastrowid


def kernel(db, name, symbol):
    at = text(db, name)
    db.execute("INSERT INTO rtl_kernel_base VALUES (?, ?)", (at, symbol))
    return at


def session(db, name="job-1", command="python train.py", simulated=1, closed=True):
    db.execute("INSERT INTO rtl_session (id, name, job, uid, command, host, start_ns, start_realtime_ns, end_ns, "
               "exit_status) VALUES (1, ?, 'job', 1000, ?, 'node017', ?, ?, ?, 0)",
               (name, command, START, 1_700_000_000_000_000_000,
                START + 6_400_000_000 if closed else None))
    meta = {"schema": 1, "simulated": simulated, "complete": 1 if closed else 0,
            "command": command, "mode": "lite", "front_end": "shadow", "host": "node017"}
    db.executemany("INSERT OR REPLACE INTO rtl_meta VALUES (?, ?)", meta.items())


def process(db, at, rank, ended="exited", status=0, exe="/usr/bin/python3", drained=1):
    db.execute(
        "INSERT INTO rtl_process (id, session_id, pid, start_ns, rank, local_rank, world_size,"
        " launcher, exe, host, boot_id, uid, ended, exit_status, drained, token, start_time,"
        " command, mode, front_end, runtime, shim_version, job)"
        " VALUES (?, 1, ?, ?, ?, ?, 2, 'torchrun', ?, 'node017', 'b', 1000, ?, ?, ?, ?, 1,"
        " 'python train.py', 'lite', 'shadow', 'libhsa 1.5', '0.1.0', 'job')",
        (at, 40000 + at, START, rank, rank, exe, ended, status, drained, f"{at:032x}"))


def gpu(db, at, simulated=True):
    db.execute("INSERT INTO rtl_gpu VALUES (?, ?, ?, 0, ?, ?, 0, 'gfx90a', ?)",
               (at, at + 1, 1000 + at, f"0000:{at:02x}:00.0", f"{at:016x}",
                "SIMULATED MI250X" if simulated else "AMD Instinct MI250X"))


def shape(db, at, process_id, gpu_id, queue, kernel_id):
    db.execute("INSERT INTO rtl_shape VALUES (?, ?, ?, ?, ?, 64, 1, 1, 1024, 1, 1, 0, 0)",
               (at, process_id, gpu_id, queue, kernel_id))


def dispatch(db, shape_id, seq, start, duration, untimed=None):
    db.execute("INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, untimed)"
               " VALUES (?, ?, ?, ?, ?, 7, ?)",
               (shape_id, seq, start, duration, 1000 if start is not None else START, untimed))


def counters(db, process_id, queue, values):
    db.executemany("INSERT INTO rtl_counter_base VALUES (?, ?, ?, ?)",
                   [(process_id, queue, k, v) for k, v in values.items()])


def queue(db, process_id, queue_id, gpu_id, **values):
    counts = {"dispatched": 0, "skipped": 0, "stored": 0, "untimed": 0, "outstanding": 0,
              "dropped": 0, "torn": 0}
    counts.update(values)
    db.execute("INSERT INTO rtl_queue (process_id, queueId, gpuId, dispatched, skipped, stored,"
               " untimed, outstanding, dropped, torn) VALUES (?, ?, ?, :1, 2, 3, 4, 5, 6, 7)"
               .replace(":1, 2, 3, 4, 5, 6, 7", "?, ?, ?, ?, ?, ?, ?"),
               (process_id, queue_id, gpu_id, *counts.values()))


def ranks(db, names, count=1000, simulated=True):
    ids = [kernel(db, n, s) for n, s in names]
    for rank in range(2):
        process(db, rank + 1, rank)
        gpu(db, rank, simulated)
        for i, k in enumerate(ids):
            shape(db, rank * len(ids) + i + 1, rank + 1, rank, 0, k)
        for n in range(count):
            dispatch(db, rank * len(ids) + n % len(ids) + 1, n, START + n * 100_000,
                     20_000 + (n % len(ids)) * 60_000)
        queue(db, rank + 1, 0, rank, dispatched=count, stored=count)
        counters(db, rank + 1, 0, {
            "dispatched": count, "intercept_calls": count // 2, "signals_injected": count - 10,
            "own_signals_seen": 10, "own_signals_read": 10, "skipped_not_kernel": 5,
            "recorded": count})
        counters(db, rank + 1, -1, {"queues_created": 1})
        for n in range(2):
            db.execute("INSERT INTO rtl_clock VALUES (?, ?, ?, 100000000, ?, ?, 700)",
                       (rank + 1, rank, n * 100_000_000, START + n * 1_000_000_000,
                        1_700_000_000_000_000_000 + n * 1_000_000_000))
        db.execute("INSERT INTO rtl_clock_check VALUES (?, ?, 100000000, 2, 700, 0, 0, 0, 0, 0)",
                   (rank + 1, rank))


PLAIN = [("gemm_f16(float*)", "_Z8gemm_f16Pf.kd"), ("elementwise_add", "elementwise_add.kd"),
         ("rccl_allreduce", "rccl_allreduce.kd")]


def make_clean(db):
    session(db)
    ranks(db, PLAIN)


def make_helper(db):
    make_clean(db)
    process(db, 3, 0)
    counters(db, 3, -1, {"queues_created": 0})


def make_live(db):
    session(db, closed=False)
    ranks(db, PLAIN)
    db.execute("UPDATE rtl_process SET ended = NULL, exit_status = NULL, drained = 0")


def make_hung(db):
    session(db)
    gemm = kernel(db, "void at::native::gemm_x<float>(float*)", "_Z6gemm_x.kd")
    ring = kernel(db, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(void*)", "ncclDevKernel_AllReduce.kd")
    op = text(db, "ncclAllReduce")
    db.execute("INSERT INTO rtl_api VALUES (?, 'count')", (op,))
    for rank in range(8):
        at, end = rank + 1, START + 60_000_000_000
        process(db, at, rank, "killed", 143)
        gpu(db, rank)
        shape(db, at, at, rank, 0, gemm)
        dispatch(db, at, 0, START, 1_000_000)
        waits = rank != 3
        queue(db, at, 0, rank, dispatched=3 if waits else 1, stored=1, outstanding=2 * waits)
        db.execute("UPDATE rtl_queue SET last_shape = ?, last_seq = 0, last_end_ns = ?"
                   " WHERE process_id = ?", (at, end - 12_400_000_000, at))
        db.execute("UPDATE rtl_process SET end_ns = ? WHERE id = ?", (end, at))
        db.execute("INSERT INTO rtl_marker_base VALUES (?, 1, NULL, 7, 'push', ?, ?, NULL)",
                   (at, text(db, "step 1204"), START))
        for seq in range(1203, 1206 if waits else 1204):
            call = at << 40 | seq
            db.execute("INSERT INTO rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, result, stream, "
                       "marker, arguments, graph_exec, graph_launch) VALUES (?, ?, NULL, 7, ?, ?, ?, 0, NULL, 1, NULL,"
                       " NULL, NULL)", (call, at, op, end - 12_400_000_000, end - 12_300_000_000))
            db.execute("INSERT INTO rtl_collective_base (id, comm, comm_rank, comm_size, seq, count, bytes,"
                       " datatype, reduction, peer, group_id, launch_id) VALUES (?, ?, ?, 8, ?, 1048576, 4194304,"
                       " 'float32', 'sum', NULL, NULL, ?)", (call, 0x9e3f12ab, rank, seq, call))
            if seq > 1203:
                db.execute("INSERT INTO rtl_outstanding VALUES (?, ?, 0, ?, ?, ?, 7, 1, ?)",
                           (at, rank, seq - 1203, ring, end - 12_390_000_000 + rank * 1_000_000, seq))


def make_lossy(db):
    session(db)
    ranks(db, PLAIN)
    dispatch(db, 4, 1000, None, None, 5)
    db.execute("UPDATE rtl_queue SET dispatched = 1030, stored = 1001, untimed = 1, dropped = 27,"
               " outstanding = 1, skipped = 1 WHERE process_id = 2")
    db.execute("UPDATE rtl_process SET ended = 'killed', exit_status = 137 WHERE id = 2")
    db.execute("INSERT INTO rtl_outstanding VALUES (2, 1, 0, 1029, 2, 6000000000, 7, NULL, NULL)")
    db.executemany("INSERT INTO rtl_loss VALUES (2, ?, ?, NULL, NULL)",
                   [("dropped_recorder_full", 25), ("dropped_quota", 2),
                    ("untimed_timestamp_invalid", 1)])
    counters(db, 2, 0, {"skipped_coop": 1, "dropped_recorder_full": 25,
                        "untimed_timestamp_invalid": 1})
    db.execute("UPDATE rtl_counter_base SET value = value + 2"
               " WHERE process_id = 2 AND name = 'signals_injected'")
    process(db, 3, None)
    counters(db, 3, -1, {"queues_created": 0})


def make_hostile(db):
    session(db, name="x\x1b[2Jy", command="sh -c '\x07\x1b]0;owned\x07'", simulated=0)
    ranks(db, [("\x1b[31mred\x1b[0m\nline", "red.kd"), ("=cmd|'/C calc'!A0", "calc.kd"),
               (b"bad\xff\xfe\xc2\x9b31m", "bytes.kd"), ('quote",comma', "quote.kd"),
               ("\u202egnirts", "bidi.kd"), ("\u043a\u0435\u0440\u043d\u0435\u043b", "utf8.kd"),
               ("long" * 4000, "long.kd")], simulated=False)


def make_uneven(db):
    session(db)
    ids = [kernel(db, "k", "k.kd")]
    for at, rank, count, duration in ((1, 0, 1000, 5000), (2, 1, 400, 5000), (3, 2, 700, 5000),
                                      (4, 3, 1000, 9000), (5, 6, 0, 0)):
        process(db, at, rank)
        if not count:
            counters(db, at, -1, {"queues_created": 1})
            continue
        gpu(db, rank)
        shape(db, at, at, rank, 0, ids[0])
        queue(db, at, 0, rank, dispatched=count, stored=count)
        for n in range(count):
            dispatch(db, at, n, START + n * 10_000, duration)


def make_shared(db):
    import random

    rng = random.Random(7)
    session(db)
    gpu(db, 0)
    k = kernel(db, "k", "k.kd")
    rows = []
    for p in range(2):
        process(db, p + 1, p)
        shape(db, 1000 * (p + 1), p + 1, 0, 0, k)
        queue(db, p + 1, 0, 0, dispatched=3000, stored=3000)
        rows += [(1000 * (p + 1), n, START + n * 1000 + rng.randrange(3000), rng.randrange(2500))
                 for n in range(3000)]
    rng.shuffle(rows)
    for row in rows:
        dispatch(db, *row)


def make_big(db, count):
    session(db)
    names = [(f"kernel_{i}", f"kernel_{i}.kd") for i in range(100)]
    ids = [kernel(db, n, s) for n, s in names]
    for rank in range(8):
        process(db, rank + 1, rank)
        gpu(db, rank)
        for i, k in enumerate(ids):
            shape(db, rank * 100 + i + 1, rank + 1, rank, 0, k)
        queue(db, rank + 1, 0, rank, dispatched=count, stored=count)
    for first in range(0, count, 1024):
        for rank in range(8):
            db.executemany(
                "INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid)"
                " VALUES (?, ?, ?, ?, 1000, 7)",
                [(rank * 100 + n % 100 + 1, n, START + n * 10_000, 5_000 + n % 7_000)
                 for n in range(first, min(first + 1024, count))])


def main():
    kind, schema, path = sys.argv[1:4]
    db = open_db(schema, path)
    if kind == "big":
        make_big(db, int(sys.argv[4]))
    else:
        globals()["make_" + kind](db)
    db.execute("COMMIT")
    if kind == "live":
        db.execute("PRAGMA journal_mode = WAL")
    db.close()


if __name__ == "__main__":
    main()
