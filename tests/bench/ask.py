#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the questions about ranks take, to one scan of the dispatches by SQLite.

ask.py BUILD [KERNELS] [--hip] [--keep FILE]: 8 ranks of KERNELS (1,000,000) each, of which one in 20 is
RCCL's, with its call; ranges in two levels; with --hip a host call for each kernel. Seconds are of the
processor, the least of three; the page cache holds the file.
"""
import argparse
import os
import pathlib
import sqlite3
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
from fixture import START, gpu, kernel, open_db, process, queue, session, shape, text  # noqa: E402

RANKS, CHUNK, NAMES = 8, 1000, 100
# Row i of a chunk that begins with :first, of rank :rank.
N = "WITH RECURSIVE n (i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :end) "
DISPATCH = N + """INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, marker, call)
SELECT :shape + CASE WHEN i % 20 = 19 THEN 100 ELSE i % 100 END, i,
	:start + i * 10000 + CASE WHEN i % 20 = 19 THEN :late ELSE 0 END,
	CASE WHEN i % 20 = 19 THEN 9000 - :late ELSE 5000 + i % 4000 END, 4000, 7,
	i / 1000 * 11 + 2 + i / 100 % 10,
	CASE WHEN :hip OR i % 20 = 19 THEN CASE WHEN :hip THEN i + 1 ELSE i / 20 + 1 END END FROM n"""
CALL = N + """INSERT INTO rtl_call_base
SELECT (:process << 40) + CASE WHEN :hip THEN i + 1 ELSE i / 20 + 1 END, :process, NULL, 7,
	CASE WHEN i % 20 = 19 THEN :nccl ELSE :launch END, :start + i * 10000 - 5000,
	:start + i * 10000 - 1000, 0, NULL, i / 1000 * 11 + 2 + i / 100 % 10, NULL, NULL, NULL
FROM n WHERE :hip OR i % 20 = 19"""
PART = N + """INSERT INTO rtl_collective_base
SELECT (:process << 40) + CASE WHEN :hip THEN i + 1 ELSE i / 20 + 1 END, 77, :rank, 8, i / 20,
	524288, 1048576, 'bfloat16', 'sum', NULL, NULL,
	(:process << 40) + CASE WHEN :hip THEN i + 1 ELSE i / 20 + 1 END
FROM n WHERE i % 20 = 19"""


def make(db, count, hip):
    session(db)
    names = [kernel(db, f"kernel_{i}", f"kernel_{i}.kd") for i in range(NAMES)]
    names.append(kernel(db, "ncclDevKernel_Generic_1", "nccl.kd"))
    apis = {n: text(db, n) for n in ("ncclAllReduce", "hipLaunchKernel")}
    db.executemany("INSERT INTO rtl_api VALUES (?, '')", [(i,) for i in apis.values()])
    step, layers = text(db, "step"), [text(db, f"layer {i}") for i in range(10)]
    for rank in range(RANKS):
        process(db, rank + 1, rank)
        gpu(db, rank)
        for i, k in enumerate(names):
            shape(db, rank * 101 + i + 1, rank + 1, rank, 0, k)
        queue(db, rank + 1, 0, rank, dispatched=count, stored=count)
        for s in range((count + 999) // 1000):
            at = START + s * 10_000_000
            db.execute("INSERT INTO rtl_marker_base VALUES (?, ?, NULL, 7, 'push', ?, ?, ?)",
                       (rank + 1, s * 11 + 1, step, at, at + 10_000_000))
            db.executemany("INSERT INTO rtl_marker_base VALUES (?, ?, ?, 7, 'push', ?, ?, ?)",
                           [(rank + 1, s * 11 + 2 + i, s * 11 + 1, layers[i], at + i * 1_000_000,
                             at + (i + 1) * 1_000_000) for i in range(10)])
    for first in range(0, count, CHUNK):
        for rank in range(RANKS):
            values = {"first": first, "end": min(first + CHUNK, count), "rank": rank,
                      "process": rank + 1, "shape": rank * 101 + 1, "start": START, "hip": int(hip),
                      "late": 3000 if rank == 5 else 10 * rank, "nccl": apis["ncclAllReduce"],
                      "launch": apis["hipLaunchKernel"]}
            for statement in (DISPATCH, CALL, PART):
                db.execute(statement, values)
    db.execute("COMMIT")


def scan(path):
    """What any answer about all dispatches has to do at least."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    begin = time.process_time()
    db.execute("SELECT count(start), sum(duration), max(start + duration), sum(submit) FROM rtl_dispatch").fetchone()
    return time.process_time() - begin


def ask(command):
    """Seconds, and the most memory in MiB."""
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("kernels", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--hip", action="store_true")
    parser.add_argument("--keep")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = args.keep or f"{folder}/ranks.db"
        if not os.path.exists(path):
            db = open_db(HERE.parents[1] / "collectord" / "schema", path)
            make(db, args.kernels, args.hip)
            db.close()
        base = min(scan(path) for _ in range(3))
        print(f"{RANKS} x {args.kernels:,} kernels, {os.path.getsize(path) / 2**20:,.0f} MiB")
        print(f"{'scan':20} {base:7.2f} s")
        page = f"{folder}/page.html"
        for verb, more in (("summary", []), ("summary", ["--by", "queue"]), ("summary", ["--by", "marker"]),
                           ("summary", ["--json"]), ("collectives", []), ("tree", []), ("report", ["-f", "--html", page])):
            runs = [ask([f"{args.build}/bin/rtl", verb, path, *more]) for _ in range(3)]
            seconds, memory = min(r[0] for r in runs), max(r[1] for r in runs)
            name = " ".join([verb] + [word for word in more if word != page])
            print(f"{name:20} {seconds:7.2f} s {seconds / base:6.2f} x {memory:7.0f} MiB", flush=True)
        print(f"{'page':20} {os.path.getsize(page) / 1e6:7.2f} MB")


if __name__ == "__main__":
    main()
