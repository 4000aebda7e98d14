#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CSV files of a database: check_csv.py DATABASE FOLDER. Every row once, with what the views say."""
import csv
import pathlib
import sqlite3
import sys

from check_rows import gpus

# Of each file: its key, what it is compared in, and the same of the views.
FILES = {
    "kernels.csv": (("process_id", "rank", "gpuId", "queueId", "sequenceId", "name", "start_ns", "end_ns", "submit_ns",
                     "tid", "workgroupX", "gridZ"),
                    """SELECT process_id, rank, gpuId, queueId, sequenceId, s.string, o.start, o."end", submit_ns, tid,
                       workgroupX, gridZ FROM rocpd_op o JOIN rocpd_string s ON s.id = o.description_id
                       WHERE o.start IS NOT NULL"""),
    "copies.csv": (("process_id", "copy", "direction", "source_gpuId", "target_gpuId", "bytes", "start_ns", "end_ns"),
                   """SELECT process_id, copyId, direction, source_gpuId, target_gpuId, bytes, start_ns, end_ns
                      FROM rtl_copy WHERE start_ns IS NOT NULL"""),
    "calls.csv": (("process_id", "correlation_id", "tid", "name", "start_ns", "end_ns", "result", "parent_id",
                   "arguments"),
                  """SELECT process_id, correlation_id, tid, api, start_ns, end_ns, result, parent_id, arguments
                     FROM rtl_host_call"""),
    "ranges.csv": (("process_id", "roctxId", "tid", "kind", "text", "start_ns", "end_ns"),
                   """SELECT process_id, roctxId, tid, kind, text, start_ns,
                      CASE kind WHEN 'mark' THEN start_ns ELSE end_ns END FROM rtl_marker
                      WHERE end_ns IS NOT NULL OR kind = 'mark'"""),
    "metrics.csv": (("process_id", "name", "time_ns", "value"),
                    "SELECT process_id, name, time_ns, value FROM rtl_metric"),
    "processes.csv": (("process_id", "rank", "pid", "host"), "SELECT id, rank, pid, host FROM rtl_process"),
    "gpus.csv": (("gpuId", "kfd_node", "name"), None),
}


def cell(value):
    if isinstance(value, float):
        return f"{value:.17g}"
    return "" if value is None else value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def main():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    db.text_factory = bytes
    folder = pathlib.Path(sys.argv[2])
    assert {p.name for p in folder.iterdir()} == set(FILES)
    counts = []
    csv.field_size_limit(1 << 24)
    for name, (columns, sql) in FILES.items():
        with open(folder / name, encoding="utf-8", newline="") as file:
            have = sorted(tuple(row[c] for c in columns) for row in csv.DictReader(file))
        rows = [(number, *row[:2]) for number, row in gpus(db).items()] if name == "gpus.csv" else db.execute(sql)
        wanted = sorted(tuple(map(cell, row)) for row in rows)
        assert have == wanted, (name, len(have), len(wanted),
                                next((pair for pair in zip(have, wanted) if pair[0] != pair[1]), None))
        counts.append(f"{name[:-4]} {len(have)}")
    print(", ".join(counts))


main()
