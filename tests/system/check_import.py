#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_import.py DB EXPECTED.tsv NAME: the figures of a database are those of the line NAME."""
import csv
import re
import sqlite3
import sys


def length(intervals):
    """Of their union."""
    total, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            reached = start
        if end > reached:
            total += end - reached
            reached = end
    return total


def figures(db):
    kernels = db.execute('SELECT k.name, o.start, o."end", o.api_id FROM rocpd_op o '
                         "JOIN rtl_kernel k ON k.id = o.description_id").fetchall()
    copies = db.execute("SELECT start_ns, end_ns, correlation_id FROM rtl_copy").fetchall()
    number = lambda sql: db.execute(sql).fetchone()[0]
    is_memset = lambda name: name.startswith("Memset")
    is_comm = lambda name: re.search("nccl|rccl|cross_device_reduce", name, re.I)
    comp = [(a, b) for name, a, b, _ in kernels if not is_comm(name)]
    comm = [(a, b) for name, a, b, _ in kernels if is_comm(name)]
    copy = [(a, b) for a, b, _ in copies]
    every = comp + comm + copy
    total, busy = max(b for _, b in every) - min(a for a, _ in every), length(every)
    return {
        "gpu_events": len(every), "kernels": sum(not is_memset(k[0]) for k in kernels),
        "memcpy": len(copies), "memset": sum(is_memset(k[0]) for k in kernels),
        "runtime_calls": number("SELECT count(*) FROM rtl_host_call"),
        "linked": sum(k[3] is not None for k in kernels) + sum(c[2] is not None for c in copies),
        "total_ns": total, "busy_ns": busy, "idle_ns": total - busy, "comp_ns": length(comp),
        "exposed_comm_ns": length(comp + comm) - length(comp),
        "exposed_memcpy_ns": busy - length(comp + comm), "comm_ns": length(comm),
        "memcpy_ns": length(copy), "sum_ns": sum(b - a for a, b in every),
        "cpu_ops": number("SELECT count(*) FROM rtl_op WHERE kind = 'op'"),
        "user_annotations": number("SELECT count(*) FROM rtl_marker WHERE kind = 'push'"),
        "devices": number("SELECT count(DISTINCT gpuId) FROM rocpd_op"),
    }


def main():
    found = figures(sqlite3.connect(sys.argv[1]))
    for row in csv.DictReader(open(sys.argv[2]), delimiter="\t"):
        if row["file"] != sys.argv[3]:
            continue
        wrong = {key: (row[key], found[key]) for key in found if row[key] != str(found[key])}
        if wrong:
            sys.exit(f"{sys.argv[3]}: expected and found: {wrong}")
        return
    sys.exit(f"{sys.argv[3]}: no such line")


if __name__ == "__main__":
    main()
