# SPDX-License-Identifier: MIT
"""From the last rank's exit to one complete database, its size, and its summary, against the peer's.

8 ranks of rtl-demo --dispatches on the real runtime over the software GPU, under rtl run; the tail is
from the end of rtl-demo to that of rtl run, when the file is closed. The peer's files hold the same
dispatches: one a rank, begun by the peer's own library, rows copied in. What it does with them is its
own _merge_traces and _generate_summary, in Python processes of their own.
"""
import json
import os
import sqlite3
import sys
import time

from bench import BenchError, Figure, Turns
from tools import Tools

RANKS, RATE = 8, 30000
RUNS_MIN = 5
# What the goal of the summary is of: of less it is mostly the start of a program.
SUMMARY_ROWS_MIN = 1_000_000
PEER_CALL = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from rocm_trace_lite import cmd_trace
begin = time.monotonic()
made = getattr(cmd_trace, sys.argv[2])(*json.loads(sys.argv[3]))
print(json.dumps(time.monotonic() - begin))
if sys.argv[2] == "_generate_summary" and "Kernel" not in (made or ""):
    sys.exit("no summary")
"""
COPY = """INSERT INTO peer.rocpd_op (gpuId, queueId, sequenceId, completionSignal, start, end, description_id,
	opType_id, roctxId)
SELECT o.gpuId, :queue + o.queueId * 65536, 0, :prefix || o.completionSignal, o.start, o."end", n.id, t.id, coalesce(o.roctxId, 0)
FROM main.rocpd_op o JOIN main.rocpd_string s ON s.id = o.description_id
JOIN peer.rocpd_string n ON n.string = s.string JOIN peer.rocpd_string t ON t.string = 'KernelExecution'
WHERE o.rank = :rank ORDER BY o.id"""


def run_ours(bench, db, count):
    """Seconds from the last exit to the closed file."""
    end = bench.folder / "end"
    work = (f"{bench.program('rtl-demo', 'bin')} --ranks {RANKS} --dispatches {count} --rate {RATE} "
            f">/dev/null && date +%s%N >{end}")
    bench.run(bench.program("rtl", "bin"), "run", "-q", "-f", "-o", db, "--", "sh", "-c", work,
              env=bench.environment(SOFTGPU_COUNT=8))
    tail = (time.time_ns() - int(end.read_text())) / 1e9
    info = bench.identity(db)
    if info["stored"] != RANKS * count or not info["complete"] or os.path.exists(f"{db}-wal"):
        raise BenchError(f"{info['stored']} of {RANKS * count} stored; a log is left, or it is incomplete")
    return tail


def make_peer_files(bench, db):
    """One a rank, as the peer leaves them. Their schema is what its library has just made."""
    tools = Tools(bench)
    tools.run("standard", bench.program("rtl-demo", "bin"), "--dispatches", 10)
    template = next(bench.folder.glob("peer_*.db"))
    template.rename(bench.folder / "template.db")
    source = sqlite3.connect(f"file:{bench.folder / 'template.db'}?mode=rw", uri=True)
    queue, signal = source.execute("SELECT queueId, completionSignal FROM rocpd_op").fetchone()
    shape = sqlite3.connect(f"file:{db}?mode=ro", uri=True).execute(
        "SELECT completionSignal FROM rocpd_op LIMIT 1").fetchone()[0]
    # Rows that are shorter than its own would be no comparison.
    if not signal.startswith("hwq=0x") or " wg=" not in signal or not shape.startswith("wg="):
        raise BenchError(f"the peer's rows look otherwise: queue {queue}, {signal!r}")
    values = {"queue": queue, "prefix": signal[:signal.index("wg=")]}
    source.execute("DELETE FROM rocpd_op")
    source.commit()
    paths = []
    for rank in range(RANKS):
        paths.append(str(bench.folder / f"peer_rank{rank}.db"))
        copy = sqlite3.connect(paths[-1])
        source.backup(copy)
        copy.close()
        ours = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
        ours.execute("ATTACH ? AS peer", (paths[-1],))
        ours.execute("INSERT OR IGNORE INTO peer.rocpd_string (string) SELECT string FROM main.rocpd_string")
        ours.execute(COPY, {"rank": rank, **values})
        ours.commit()
        ours.close()
    source.close()
    return paths


def ask_peer(bench, what, *arguments):
    return float(bench.run(sys.executable, "-c", PEER_CALL, bench.peer, what, json.dumps(arguments)))


def against_peer(bench, db, count, turns, goals):
    """@db is there. Tail and merge take @turns, or are measured once."""
    made, paths = bench.folder / "peer_merged.db", make_peer_files(bench, db)
    # A merge takes its largest file away.
    for path in paths:
        os.link(path, f"{path}.kept")

    def merge():
        made.unlink(missing_ok=True)
        for path in paths:
            if not os.path.exists(path):
                os.link(f"{path}.kept", path)
        return ask_peer(bench, "_merge_traces", paths, str(made))
    ways = {f"tail {count}": lambda: run_ours(bench, db, count), f"merge {count}": merge}
    if turns > 1:
        tail, merged = bench.interleaved(ways, turns).values()
    else:
        tail, merged = (Turns([way()]) for way in ways.values())
    peer = sqlite3.connect(made)
    found = peer.execute("SELECT count(*) FROM rocpd_op").fetchone()[0]
    peer.close()
    if found != RANKS * count:
        raise BenchError(f"the peer merged {found} of {RANKS * count}")
    size = f"8 x {count:,}"
    ratio = tail.over(merged)
    yield Figure(f"last exit to closed database, {size}", tail.median * 1e3, "ms", ratio.low, ratio.high,
                 "rocm-trace-lite's merge", merged.median * 1e3, ratio.median, *goals,
                 note=f"{turns} {'turn' if turns == 1 else 'turns'}")
    ours, theirs = (os.path.getsize(path) / found for path in (db, made))
    yield Figure(f"database, {size}", ours, "bytes/dispatch", baseline="rocm-trace-lite, merged",
                 baseline_value=theirs, ratio=ours / theirs, goal="" if bench.quick else "<= 0.5",
                 note="with a schema of 1 MiB")
    yield summary(bench, db, made, size, "<= 0.05" if count >= SUMMARY_ROWS_MIN else "")


def summary(bench, db, made, size, goal):
    def ours():
        begin = time.monotonic()
        bench.run(bench.program("rtl", "bin"), "summary", db)
        return time.monotonic() - begin
    turns = bench.interleaved({"ours": ours, "peer": lambda: ask_peer(bench, "_generate_summary", str(made))},
                              1 if bench.quick else RUNS_MIN)
    ratio = turns["ours"].over(turns["peer"])
    return Figure(f"rtl summary, {size}", turns["ours"].median * 1e3, "ms", ratio.low, ratio.high,
                  "rocm-trace-lite's summary", turns["peer"].median * 1e3, ratio.median, goal,
                  note="page cache warm; of ours with the start of a program, of the peer's without")


def measure(bench):
    for count, goal, stretch, turns in ((10_000, "", "", 1),) if bench.quick else (
            (100_000, "<= 0.05", "<= 0.02", max(bench.runs, RUNS_MIN)), (1_000_000, "<= 0.02", "<= 0.005", 1)):
        db = bench.folder / "job.db"
        tail = run_ours(bench, db, count)
        if bench.peer:
            yield from against_peer(bench, db, count, turns, (goal, stretch))
        else:
            missing = bench.needs_peer(f"last exit to closed database, 8 x {count:,}", "ms", goal)
            missing.value = tail * 1e3
            yield missing
            yield Figure(f"database, 8 x {count:,}", os.path.getsize(db) / RANKS / count, "bytes/dispatch")
