# SPDX-License-Identifier: MIT
"""Questions about 8 ranks of 1,000,000 kernels, from cold, to one scan of the dispatches by SQLite.

One kernel in 20 is RCCL's, with its call; ranges in two levels. Before each turn the kernel forgets the
file. The scan reads every start, duration and submission by SQLite's own program; wall clock, and the
most memory.
"""
import os
import sys
import time

from bench import BenchError, Figure, SOURCE

sys.path.insert(0, str(SOURCE / "tests/system"))
from fixture import START, gpu, kernel, open_db, process, queue, session, shape, text  # noqa: E402

RANKS, CHUNK, NAMES = 8, 1000, 100
MEMORY_MIB = 256
SCAN = "SELECT count(start), sum(duration), max(start + duration), sum(submit) FROM rtl_dispatch"
GOALS = {"summary": "<= 1.5", "timeline": "<= 4", "collectives": "<= 4", "tree": "<= 4", "report": "<= 12",
         "diff": ""}  # of two files
# Row i of a chunk that begins with :first, of rank :rank.
N = "WITH RECURSIVE n (i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :end) "
DISPATCH = N + """INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, marker, call)
SELECT :shape + CASE WHEN i % 20 = 19 THEN 100 ELSE i % 100 END, i,
	:start + i * 10000 + CASE WHEN i % 20 = 19 THEN :late ELSE 0 END,
	CASE WHEN i % 20 = 19 THEN 9000 - :late ELSE 5000 + i % 4000 END, 4000, 7,
	i / 1000 * 11 + 2 + i / 100 % 10,
	CASE WHEN :hip OR i % 20 = 19 THEN CASE WHEN :hip THEN i + 1 ELSE i / 20 + 1 END END FROM n"""
CALL = N + """INSERT INTO rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, result, stream, marker,
	arguments, graph_exec, graph_launch)
SELECT (:process << 40) + CASE WHEN :hip THEN i + 1 ELSE i / 20 + 1 END, :process, NULL, 7,
	CASE WHEN i % 20 = 19 THEN :nccl ELSE :launch END, :start + i * 10000 - 5000,
	:start + i * 10000 - 1000, 0, NULL, i / 1000 * 11 + 2 + i / 100 % 10, NULL, NULL, NULL
FROM n WHERE :hip OR i % 20 = 19"""
PART = N + """INSERT INTO rtl_collective_base (id, comm, comm_rank, comm_size, seq, count, bytes, datatype, reduction, peer,
	group_id, launch_id)
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


def forget(*paths):
    """The kernel has them in memory no more: written first, since it keeps what is not."""
    for path in paths:
        fd = os.open(path, os.O_RDWR)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def ask(bench, peaks, name, command, paths):
    """Seconds from cold; the most memory goes to @peaks."""
    forget(*paths)
    begin = time.monotonic()
    pid = os.posix_spawnp(str(command[0]), [str(word) for word in command], bench.environment(), file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    took = time.monotonic() - begin
    if status:
        raise BenchError(f"rtl {name}: status {os.waitstatus_to_exitcode(status)}")
    peaks[name] = max(peaks.get(name, 0), usage.ru_maxrss / 1024)
    return took


def measure(bench):
    count, rtl, peaks = 10_000 if bench.quick else 1_000_000, bench.program("rtl", "bin"), {}
    path, page = bench.folder / "ranks.db", bench.folder / "page.html"
    db = open_db(SOURCE / "collectord" / "db" / "schema", str(path))
    make(db, count, 0)
    db.close()
    bench.identity(path)
    commands = {"scan": (["sqlite3", "-readonly", path, SCAN], [path])}
    for verb in GOALS:
        more = {"report": ["-f", "--html", page], "diff": [path]}.get(verb, [])
        commands[verb] = ([rtl, verb, path, *more], [path])
    turns = bench.interleaved(
        {name: lambda name=name, c=command, p=paths: ask(bench, peaks, name, c, p)
         for name, (command, paths) in commands.items()}, 1 if bench.quick else 5)
    for verb, goal in GOALS.items():
        ratio = turns[verb].over(turns["scan"])
        # Of a small file the start of a program is most of it.
        yield Figure(f"rtl {verb}, {RANKS} x {count:,}", turns[verb].median * 1e3, "ms", ratio.low, ratio.high,
                     "one scan by SQLite", turns["scan"].median * 1e3, ratio.median,
                     "" if bench.quick else goal)
        yield Figure(f"rtl {verb}, memory", peaks[verb], "MiB", goal=f"< {MEMORY_MIB}")
