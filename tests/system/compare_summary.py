#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_summary.py RTL FILE: every figure of rtl summary --by WHAT against the view of dispatches,
percentiles by sorting (nearest rank). Prints how many rows it compared."""
import collections
import json
import re
import sqlite3
import subprocess
import sys

rtl, path = sys.argv[1:3]
db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
db.text_factory = lambda b: b.decode("utf-8", "replace")
RANKS = dict(db.execute("SELECT id, rank FROM rtl_process"))
CATEGORIES = dict(db.execute("SELECT name, category FROM rtl_kernel"))
RANGES = {(p, i): re.sub(r"^((?:ProfilerStep#|step |iteration )\s*)[0-9]+", r"\1N", t)
          for p, i, t in db.execute("SELECT process_id, roctxId, text FROM rtl_marker WHERE kind <> 'mark'")}
ROWS = db.execute("""SELECT k.name, o.process_id, o.gpuId, o.queueId, o.roctxId, o.start, o."end" - o.start
    FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id""").fetchall()
TOTAL = sum(r[6] for r in ROWS if r[5] is not None)


def process(p):
    return f"rank {RANKS[p]}" if RANKS[p] is not None else f"process {p}"


def group(by, row):
    name, p, gpu, queue, marker = row[:5]
    if by == "rank":
        return process(p)
    if by == "gpu":
        return f"GPU {gpu}"
    if by == "queue":
        return f"{process(p)} queue {queue}"
    if by == "marker":
        return "(no range)" if marker is None else RANGES.get((p, marker), "(range without a record)")
    return CATEGORIES[name]


def figures(rows):
    times = sorted(r[6] for r in rows if r[5] is not None)
    n = len(times)
    at = lambda p: times[-(-n * p // 100) - 1] if n else None  # rounded up
    return {"calls": len(rows), "total_ns": sum(times) if n else None, "avg_ns": sum(times) // n if n else None,
            "min_ns": times[0] if n else None, "p50_ns": at(50), "p95_ns": at(95), "p99_ns": at(99),
            "max_ns": times[-1] if n else None}


def check(what, row, rows):
    want = figures(rows)
    got = {k: row[k] for k in want}
    assert got == want, (what, got, want)
    if want["total_ns"] is None:
        assert row["pct"] is None, (what, row["pct"])
    elif TOTAL:
        assert abs(row["pct"] - 100 * want["total_ns"] / TOTAL) < 1e-9, (what, row["pct"])


def sort(rows, key):
    out = collections.defaultdict(list)
    for row in rows:
        out[key(row)].append(row)
    return out


compared = 0
for by in "rank", "gpu", "queue", "marker", "category":
    d = json.loads(subprocess.check_output([rtl, "summary", "--json", "--by", by, path]))
    kernels = sort(ROWS, lambda r: r[0])
    assert len(kernels) == len(d["kernels"])
    for k in d["kernels"]:
        check(k["name"][:60], k, kernels[k["name"]])
    groups = sort(ROWS, lambda r: group(by, r))
    assert d["by"] == by and {g["group"] for g in d["groups"]} == set(groups), (by, set(groups))
    for g in d["groups"]:
        check(g["group"], g, groups[g["group"]])
        inside = sort(groups[g["group"]], lambda r: r[0])
        assert g["kernels"] == len(inside) == len(g["top_kernels"])
        totals = [k["total_ns"] or 0 for k in g["top_kernels"]]
        assert totals == sorted(totals, reverse=True)
        for k in g["top_kernels"]:
            check((g["group"], k["name"][:60]), k, inside[k["name"]])
            compared += 1
    for c in d["categories"]:
        check(c["category"], c, [r for r in ROWS if CATEGORIES[r[0]] == c["category"]])
print(f"{compared} rows")
